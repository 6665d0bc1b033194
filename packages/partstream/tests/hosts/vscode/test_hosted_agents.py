"""An agent in a person's file, through the sidecar's real process: its tools, its files, its errors, and its edits."""

from typing import Any

import pytest

from conversation.samples import PNG

from .sidecar import running

AGENT = f"""
from partstream_agents import (
    AgentFile, AgentPairing, ExternalCalls, InnerCall, InnerResult, KeptState, StepUsage,
)
from partstream.lm.parts import ToolCallPart
from partstream.lm.parts import Usage

PNG = {PNG!r}


class Adapter:
    framework, tested, errors = "own", "1", {{}}

    async def run(self, agent, request):
        yield InnerCall("1", "look", {{}})
        yield InnerResult("1", "look", agent.look())
        yield StepUsage(Usage(100, 10))
        if request.resumed is not None:
            [result] = request.results.values()
            yield TextPart(f"{{request.resumed['at']}}: {{result.content[0].value}}")
        elif request.tools:
            yield TextPart("I draw.")
            yield AgentFile(PNG, "image/png")
            yield KeptState({{"at": "here"}})
            yield ExternalCalls((ToolCallPart("call-1", "read_file", {{"path": "a"}}),))
        else:
            yield TextPart("SAYS")
        yield StepUsage(Usage(150, 20))


class Agent:
    name = "Draughtsman"

    def look(self):
        LOOKS

    def __partstream_model__(self):
        return AgentPairing(self, Adapter())


agent = Agent()
"""
TOOLS = [{"name": "read_file", "description": "Reads.", "inputSchema": {"type": "object"}}]
MODEL = "own/draughtsman"


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    """The data and the cache of the sidecar."""
    monkeypatch.setenv("PARTSTREAM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PARTSTREAM_DATA", str(tmp_path / "data"))
    return tmp_path


def _agent(says: str = "Hello", looks: str = "return [1, 2]") -> str:
    return AGENT.replace("SAYS", says).replace("LOOKS", looks)


def _message(role: int, *content: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": list(content), "name": ""}


def _said_back(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """An answer as Copilot sends it back: its state, its text in one part, its calls."""
    text = "".join(part["value"] for part in parts if part["type"] == "text").strip()
    kept = [part for part in parts if part.get("mimeType") == "stateful_marker"]
    calls = [part for part in parts if part["type"] == "tool_call"]
    return _message(2, *kept, {"type": "text", "value": text}, *calls)


def test_an_agent_uses_the_hosts_tools_shows_its_files_and_follows_its_edits(write, folders):
    write(_agent())
    with running(folders / "own.py") as sidecar:
        [model] = sidecar.information()["models"]
        assert (model["id"], model["name"]) == (MODEL, "Draughtsman")
        first = sidecar.respond(MODEL, "Draw", tools=TOOLS, requestInitiator="github.copilot-chat")
        assert sidecar.wait(first).error is None
        parts = sidecar.parts(first)
        assert "Called look()" in "".join(part["value"] for part in parts if part["type"] == "thinking")
        assert "](file://" in sidecar.text(first), "a link leads to the picture"
        assert [part["name"] for part in parts if part["type"] == "tool_call"] == ["read_file"]
        assert sidecar.usages(first)[-1]["prompt_tokens"] == 150

        result = {
            "type": "tool_result",
            "isError": False,
            "callId": "call-1",
            "content": [{"type": "text", "value": "what was read"}],
        }
        asked = [_message(1, {"type": "text", "value": "Draw"}), _said_back(parts), _message(1, result)]
        assert sidecar.ask(MODEL, *asked, tools=TOOLS) == "here: what was read"

        write(_agent("Edited", "return 1 / 0"))
        failed = sidecar.wait(sidecar.respond(MODEL, "Hi"))
        line = (folders / "own.py").read_text().splitlines().index("        return 1 / 0") + 1
        assert f"own.py:{line}" in failed.error["message"]
        write(_agent("Mended"))
        assert sidecar.ask(MODEL, "Hi") == "Mended"
    assert len(list((folders / "data" / "agent-runs").iterdir())) == 1
