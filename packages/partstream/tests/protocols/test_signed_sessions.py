"""Thirty rounds with thinking and parallel calls, in the messages of VS Code: what servers signed comes back as they
demand it, also over reloads, another model and an edited history."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.copilot_conversation import CopilotConversation
from copilot_requests import copilot_requests
from partstream import ChatMessage, DataPart, RequestOptions, Role, TextPart, Tool, ToolCallPart, ToolResultPart
from partstream.conversation.provider_state import marker_part, read_marker
from partstream.lm.parts import ThinkingPart
from partstream.upstream.provider import GatewayProvider
from partstream_devtools.testing.upstream import ReplayUpstream
from upstreams.upstreams import Answer, ask, configuration, gateway_to, run

TOOLS = tuple(
    Tool(name, f"Does {name}.", {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]})
    for name in ("read_file", "list_dir", "find_text", "run_tests")
)

# The protocol, the model and the one that is switched to. Opus 5 thinks as it likes; Haiku 4.5 within a budget.
CLAUDE = ("anthropic-messages", "claude-opus-5", "claude-sonnet-5")
SERVED = {
    "Claude": CLAUDE,
    "Gemini 3": ("gemini", "gemini-3.8-flash", "gemini-3.1-pro"),
    "Gemini 2.5": ("gemini", "gemini-2.5-pro", "gemini-2.5-flash"),
    "Claude with a budget": ("anthropic-messages", "claude-haiku-4-5", "claude-sonnet-4-5"),
}
served = pytest.mark.parametrize(("protocol", "one", "two"), SERVED.values(), ids=SERVED)


def signatures_in(value: Any) -> set[str]:
    """The signatures in the metadata of thinking, of whichever protocol."""
    if isinstance(value, dict):
        own = {said for name, said in value.items() if name in {"signature", "thoughtSignature"}}
        return own.union(*map(signatures_in, value.values()))
    return set().union(*map(signatures_in, value)) if isinstance(value, list | tuple) else set()


class Session:
    """A chat of VS Code with models of one server; every turn has reloads in its middle.

    Attributes:
        conversation: What VS Code keeps of it.
        rounds: The number of requests.
        returned: For each request and each signature that its turn had brought before it, whether that came back.
    """

    def __init__(self, upstream: ReplayUpstream, protocol: str) -> None:
        self.conversation = CopilotConversation("You are an agent. " * 300)
        self.rounds = 0
        self.returned: list[bool] = []
        self._upstream = upstream
        self._configuration = configuration(upstream.base_url_of(protocol), protocol=protocol)
        self._provider = GatewayProvider(self._configuration)

    async def reload(self) -> None:
        """What is not in the conversation is forgotten."""
        await self._provider.aclose()
        self._provider = GatewayProvider(self._configuration)

    async def __aenter__(self) -> "Session":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._provider.aclose()

    async def request(self, messages: Sequence[ChatMessage], model_id: str) -> Answer:
        options = RequestOptions(tools=TOOLS, model_configuration={"reasoningEffort": "high"})
        return await ask(self._provider, messages, model_id=model_id, options=options)

    async def turn(self, question: str | None, model_id: str, *, stops_after: int | None = None) -> None:
        """A turn, up to its answer or until it is stopped; None goes on with the current one."""
        if question is not None:
            self.conversation.ask(question)
        rounds, signatures = 0, set[str]()
        while True:
            answer = await self.request(self.conversation.messages(model_id), model_id)
            assert answer.error is None
            sent = json.dumps(self._upstream.requests[-1].body)
            self.returned += [one in sent for one in signatures]
            signatures |= signatures_in([part.metadata for part in answer.parts if isinstance(part, ThinkingPart)])
            rounds += 1
            self.rounds += 1
            calls = self.conversation.answer(answer.parts, model_id)
            if not calls or rounds == stops_after:
                return
            if rounds in {1, 5}:
                await self.reload()
            self.conversation.give(ToolResultPart(call.call_id, (TextPart(f"{call.input}"),)) for call in calls)

    @property
    def refused(self) -> list[Any]:
        """The bodies that the server refused."""
        return [one.request.body for one in self._upstream.exchanges if one.choice is None]


@served
def test_thirty_rounds_are_never_refused(protocol: str, one: str, two: str) -> None:
    async def test() -> None:
        async with ReplayUpstream(scenario="tools=9") as upstream, Session(upstream, protocol) as session:
            await session.turn("Why does it fail?", one)
            await session.turn("Mend it.", two)
            await session.turn("Test it.", one, stops_after=4)
            await session.turn("Go on, but faster.", one, stops_after=3)
            session.conversation.edit(1, "Test it with the other model's notes.")
            await session.turn(None, one)
            await session.turn("And the last thing?", two, stops_after=2)
            assert session.rounds >= 30
            assert session.refused == []
            assert all(session.returned)

    run(test())


def blocks(body: Any, kind: str) -> list[Any]:
    """The blocks of a kind in the messages of a request of Anthropic Messages."""
    return [block for message in body["messages"] for block in message["content"] if block["type"] == kind]


def forged(message: ChatMessage) -> ChatMessage:
    """An answer whose signatures are those of something else, in the marker and in the thinking."""
    return ChatMessage.assistant([_forged_part(part) for part in message.content])


def _forged_part(part: Any) -> Any:
    if isinstance(part, ThinkingPart):
        return replace(part, metadata=_forged(part.metadata))
    marker = read_marker(part) if isinstance(part, DataPart) else None
    return part if marker is None else marker_part("m", replace(marker, reasoning=tuple(_forged(marker.reasoning))))


def _forged(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: "Zm9yZ2Vk" if name == "signature" else _forged(one) for name, one in value.items()}
    return [_forged(one) for one in value] if isinstance(value, list | tuple) else value


async def two_turns(session: Session) -> list[ChatMessage]:
    """A finished turn of three rounds, and two rounds of the next one; the messages of the request after them."""
    await session.turn("Why does it fail?", CLAUDE[1])
    await session.turn("Mend it.", CLAUDE[1], stops_after=2)
    calls = session.conversation.messages(CLAUDE[1])[-1].content
    session.conversation.give(
        ToolResultPart(call.call_id, (TextPart("x"),)) for call in calls if isinstance(call, ToolCallPart)
    )
    return session.conversation.messages(CLAUDE[1])


def forge(messages: list[ChatMessage], *numbers: int) -> list[ChatMessage]:
    """The messages, with forged signatures in the answers of these numbers."""
    answers = [place for place, message in enumerate(messages) if message.role is Role.ASSISTANT]
    places = {answers[number] for number in numbers}
    return [forged(message) if place in places else message for place, message in enumerate(messages)]


# Which answers are forged, and how much thinking each request has until one is answered.
LADDER = {
    "nothing": ((), [5]),
    "an answer of the finished turn": ((0,), [5, 2]),
    "one of each turn": ((1, 3), [5, 2, 0]),
}


@pytest.mark.parametrize(("numbers", "thinking"), LADDER.values(), ids=LADDER)
def test_decision_7_refused_thinking_goes_from_finished_turns_first(
    numbers: tuple[int, ...], thinking: list[int]
) -> None:
    async def test() -> None:
        async with ReplayUpstream(scenario="tools=2") as upstream, Session(upstream, CLAUDE[0]) as session:
            messages = await two_turns(session)
            before = len(upstream.requests)
            answer = await session.request(forge(messages, *numbers), CLAUDE[1])
            assert answer.error is None
            assert [len(blocks(one.body, "thinking")) for one in upstream.requests[before:]] == thinking

    run(test())


@served
def test_what_copilot_sent_to_another_server_is_never_refused(protocol: str, one: str, two: str) -> None:
    """The recorded requests: calls in the current turn whose thinking is unknown here, images, edits, summaries."""

    async def test() -> None:
        async with (
            ReplayUpstream() as upstream,
            gateway_to(upstream.base_url_of(protocol), protocol=protocol) as provider,
        ):
            for name, recorded in copilot_requests().items():
                for model_id in (one, two):
                    answer = await ask(provider, recorded.messages, model_id=model_id, options=recorded.options)
                    assert (name, answer.error, upstream.exchanges[-1].choice) == (name, None, "text")
            assert [one.request.body for one in upstream.exchanges if one.choice is None] == []

    run(test())


def bare(message: ChatMessage) -> ChatMessage:
    """An answer without its state, as after a summary of the conversation, or from a host that keeps none."""
    return ChatMessage.assistant([part for part in message.content if isinstance(part, TextPart | ToolCallPart)])


# Which of the four answers of a turn that goes on have lost their state.
LOST = {"all": {0, 1, 2, 3}, "the first": {0, 1}, "the last": {2, 3}, "one in the middle": {1}}


@served
def test_a_turn_that_lost_state_in_its_middle_goes_on(protocol: str, one: str, two: str) -> None:
    async def test() -> None:
        async with ReplayUpstream(scenario="tools=9") as upstream, Session(upstream, protocol) as session:
            await session.turn("Why does it fail?", one, stops_after=4)
            calls = [part for part in session.conversation.messages(one)[-1].content if isinstance(part, ToolCallPart)]
            session.conversation.give(ToolResultPart(call.call_id, (TextPart("x"),)) for call in calls)
            messages = session.conversation.messages(one)
            answers = [place for place, message in enumerate(messages) if message.role is Role.ASSISTANT]
            for lost in LOST.values():
                places = {answers[number] for number in lost}
                left = [bare(message) if place in places else message for place, message in enumerate(messages)]
                for model_id in (one, two):
                    before = len(upstream.exchanges)
                    answer = await session.request(left, model_id)
                    assert answer.error is None
                    # Claude refuses missing thinking once; the next request goes without thinking.
                    assert len(upstream.exchanges) - before <= (2 if protocol == CLAUDE[0] else 1)

    run(test())
