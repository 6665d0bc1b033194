"""The SDK's own models over HTTP: of the Responses API, and of Chat Completions, which it translates to its events."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, set_tracing_disabled
from openai import AsyncOpenAI
from scenarios import Answer, Chat

from partstream.errors import LanguageModelError
from partstream.lm.outputs import Outcome
from partstream.runtime.provider_files import SourceLoader
from partstream_agents import as_model
from partstream_agents.run import RunStates
from partstream_devtools.testing.upstream import ReplayUpstream

set_tracing_disabled(True)

EXAMPLE = Path(__file__).resolve().parents[5] / "examples" / "agents" / "two_desks.py"
MODELS = {"openresponses": OpenAIResponsesModel, "chat-completions": OpenAIChatCompletionsModel}


def asked(wire: str, folder: Path, ask: Callable[[Chat], Any], **options: Any) -> Any:
    """What a function asks an agent whose model is served on a wire."""

    async def run() -> Any:
        async with ReplayUpstream() as upstream:
            base_url = upstream.base_url_of(wire)
            async with AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0) as client:
                agent: Agent[Any] = Agent("A", model=MODELS[wire]("demo", openai_client=client))
                return await ask(Chat(as_model(agent, name="Agent", states=RunStates(folder)), **options))

    return asyncio.run(run())


@pytest.mark.parametrize("keeps_markers", [True, False], ids=["gone on with exactly", "rebuilt"])
@pytest.mark.parametrize("wire", MODELS)
def test_an_agent_reads_a_file_with_the_hosts_tool_over_http(wire: str, keeps_markers: bool, tmp_path: Path) -> None:
    async def ask(chat: Chat) -> tuple[Answer, Answer]:
        await chat.say("Hello")
        first = await chat.say('scenario:tools call:read_file{"path": "a.py"}')
        return first, await chat.give({"read_file": "print(1)"})

    first, last = asked(wire, tmp_path, ask, keeps_markers=keeps_markers)
    [call] = first.calls
    assert (call.name, dict(call.input)) == ("read_file", {"path": "a.py"})
    assert "print(1)" in last.text
    assert (first.usage is not None, last.usage is not None) == (True, True)


@pytest.mark.parametrize("wire", MODELS)
def test_thinking_of_a_server_is_thinking(wire: str, tmp_path: Path) -> None:
    answer = asked(wire, tmp_path, lambda chat: chat.say("scenario:thinking"))
    assert answer.thinking
    assert answer.text


@pytest.mark.parametrize("wire", MODELS)
def test_what_a_server_says_of_a_failure_is_in_the_error(wire: str, tmp_path: Path) -> None:
    answer = asked(wire, tmp_path, lambda chat: chat.say("fault:status=429 Hello", fails=True))
    assert isinstance(answer.error, LanguageModelError)
    assert "429" in str(answer.error)


def test_an_answer_that_a_limit_has_cut_keeps_its_text(tmp_path: Path) -> None:
    answer = asked("openresponses", tmp_path, lambda chat: chat.say("scenario:incomplete"))
    assert answer.text
    assert answer.finish.outcome is Outcome.INCOMPLETE


def test_the_example_of_the_page_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask() -> Answer:
        async with (
            ReplayUpstream(scenario="text") as upstream,
            AsyncOpenAI(base_url=upstream.base_url, api_key="none") as client,
        ):
            monkeypatch.setattr("agents.models._openai_shared._default_openai_client", client)
            provider = SourceLoader(str(EXAMPLE)).load()
            assert provider.information.name == "Front desk"
            return await Chat(provider).say("What about invoice 7?")

    assert asyncio.run(ask()).text
