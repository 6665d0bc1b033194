"""The first requests of coding agents, as they were sent: none fails, and what has no place is counted."""

from __future__ import annotations
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from partstream.errors import InvalidRequestError, UnsupportedParameterError
from partstream.lm.messages import Role
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.serve import WireRequest
from partstream.runtime.translation import write_question
from rows import one_test_for

if TYPE_CHECKING:
    from partstream.lm.outputs import InboundRequest
    from partstream.protocols.serve import RequestReader

AGENTS = Path(__file__).resolve().parents[4] / "tests" / "fixtures" / "agents"
RESPONSES, CHAT, MESSAGES, GEMINI = "openresponses", "chat-completions", "anthropic-messages", "gemini"
SERVED = [name for name, one in PROTOCOLS.items() if one.read_request is not None and one.write_request is not None]

S, U = Role.SYSTEM, Role.USER
CODEX = {"client_metadata": 1}
EDITS = {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}

FIRST: dict[str, tuple[str, list[Role], int, str, dict[str, Any]]] = {
    "codex": (RESPONSES, [S, S, U, U], 12, "", CODEX),
    "codex-socket-warm-up": (RESPONSES, [S], 12, "", CODEX),
    "codex-socket-turn": (RESPONSES, [S, U, U], 12, "", {**CODEX, "previous_response_id": "resp_1"}),
    "claude-code": (
        MESSAGES,
        [S, S, U, S],
        11,  # one of the twelve waits to be loaded
        "high",
        {"context_management": EDITS, "system[].text (x-anthropic-billing-header)": 1},
    ),
    "opencode-chat-title": (CHAT, [S, U, U], 0, "", {}),
    "opencode-chat": (CHAT, [S, U], 10, "", {}),
    "opencode-responses-title": (RESPONSES, [S, U, U], 0, "", {}),
    "opencode-responses": (RESPONSES, [S, U], 10, "", {}),
    "opencode-messages-title": (MESSAGES, [S, U], 0, "", {}),
    "opencode-messages": (MESSAGES, [S, U], 10, "", {}),
    "copilot-cli": (CHAT, [S, U], 17, "", {}),
    "qwen-code": (CHAT, [S, U], 10, "", {}),
    "gemini-cli": (GEMINI, [S, U], 8, "", {}),
}
"""The wire, the roles of the messages, the number of tools, the effort, and what has no place."""


def _reads(wire: str) -> RequestReader:
    corner = PROTOCOLS[wire].read_request
    assert corner is not None
    return corner()


def _read(wire: str, body: dict[str, Any], path: str = "", headers: tuple[tuple[str, str], ...] = ()) -> InboundRequest:
    said = {name.lower(): value for name, value in headers}
    return _reads(wire).read(WireRequest(path, body, said))


def _asked(name: str) -> InboundRequest:
    request = json.loads((AGENTS / f"{name}.json").read_text(encoding="utf-8"))
    wire = FIRST[name][0]
    path = request["path"].partition("?")[0].removeprefix("/v1beta" if wire == GEMINI else "/v1")
    return _read(wire, request["body"], path, tuple(map(tuple, request["headers"])))


def test_every_kept_request_for_an_answer_is_read_here() -> None:
    kept = {one.stem for one in AGENTS.glob("*.json") if json.loads(one.read_text(encoding="utf-8"))["body"]}
    assert kept == FIRST.keys()


@one_test_for("name", FIRST)
def test_a_first_request_is_read_whole(name: str) -> None:
    _, roles, tools, effort, unmapped = FIRST[name]
    asked = _asked(name)
    assert (asked.model, asked.stream) == ("demo", True)
    assert [message.role for message in asked.messages] == roles
    assert len(asked.options.tools) == tools
    assert asked.options.model_configuration.get("reasoningEffort", "") == effort
    assert asked.unmapped == unmapped


@pytest.mark.parametrize("name", FIRST)
def test_a_first_request_goes_on_to_servers_of_every_wire(name: str) -> None:
    for wire in SERVED:
        body = json.dumps(write_question(PROTOCOLS[wire], _asked(name)).body)
        assert "Say hello." in body or name == "codex-socket-warm-up"
        assert "/home/user/project" not in body, "a client's facts about its machine are not sent on"


STRANGE: dict[str, tuple[str, dict[str, Any]]] = {
    "tools of unknown kinds": (
        RESPONSES,
        {"input": "Hi", "tools": [{"type": "hologram"}, {"type": "mcp", "server_label": "a"}]},
    ),
    "items of unknown kinds": (
        RESPONSES,
        {"input": [{"type": "web_search_call", "id": "ws_1"}, {"type": "new"}, {"role": "user", "content": "Hi"}]},
    ),
    "parts of unknown kinds": (
        RESPONSES,
        {"input": [{"role": "user", "content": [{"type": "input_scent"}, {"type": "input_text", "text": "Hi"}]}]},
    ),
    "dated tools of Anthropic": (
        MESSAGES,
        {
            "messages": [{"role": "user", "content": "Hi"}],
            "tools": [{"type": "web_search_20260209", "name": "web_search"}, {"type": "mcp_toolset"}],
            "betas": ["made-up-2026-11-01"],
        },
    ),
    "unknown blocks": (
        MESSAGES,
        {"messages": [{"role": "user", "content": [{"type": "scent"}, {"type": "text", "text": "Hi"}]}]},
    ),
    "tools of Chat Completions of an unknown type": (
        CHAT,
        {"messages": [{"role": "user", "content": "Hi"}], "tools": [{"type": "scent", "scent": {"name": "x"}}]},
    ),
    "audio that is asked for": (
        CHAT,
        {"messages": [{"role": "user", "content": "Hi"}], "audio": {"voice": "a"}, "modalities": ["text", "audio"]},
    ),
}


@one_test_for("name", STRANGE)
def test_what_nobody_knows_fails_no_request_and_is_counted(name: str) -> None:
    wire, body = STRANGE[name]
    asked = _read(wire, {"model": "m", "brand_new": {"x": 1}, **body})
    assert asked.messages[-1].content[0].value == "Hi"  # type: ignore[union-attr]
    assert asked.unmapped
    assert asked.options.tools == ()


IMPOSSIBLE: list[tuple[str, str, dict[str, Any], str]] = [
    (CHAT, "", {"n": 2}, "n"),
    (GEMINI, "/models/m:generateContent", {"generationConfig": {"candidateCount": 2}},
     "generationConfig.candidateCount"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "path", "fields", "where"), IMPOSSIBLE, ids=[row[-1] for row in IMPOSSIBLE])
def test_what_cannot_be_done_fails_by_the_name_of_the_parameter(
    wire: str, path: str, fields: dict[str, Any], where: str
) -> None:
    said = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]} if wire == GEMINI else {}
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], **said, **fields}
    with pytest.raises(UnsupportedParameterError) as caught:
        _read(wire, body, path)
    assert caught.value.where == where
    assert isinstance(caught.value, InvalidRequestError)
