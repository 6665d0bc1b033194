"""The state of answers survives VS Code's agent host, on every wire and for every provider."""

import json
import logging
from typing import Any

import pytest

from partstream import ChatMessage, DataPart, TextPart, ThinkingPart, ToolCallPart
from partstream.conversation.provider_state import (
    ITEMS,
    ORIGIN,
    CallersMemory,
    Origin,
    StateMarker,
    ThinkingMemory,
    encode_state,
    marker_part,
    read_marker,
)
from partstream.lm.parts import STATEFUL_MARKER_MIME_TYPE, USAGE_MIME_TYPE
from partstream.vscode.hosted_answer import MOST_CHARACTERS, OpaqueStateProgress, with_decoded_state
from partstream_devtools.testing.upstream import ReplayUpstream

from .agent_host import AgentHostConversation
from .in_process import Peer, run, serving

TOOLS = [{"name": "read_file", "description": "Reads.", "inputSchema": {"type": "object"}}]
# A protocol, the model that answers and the one that is switched to.
WIRES: dict[str, tuple[str, str, str]] = {
    "OpenResponses": ("openresponses", "thinker", "gpt-5"),
    "Claude": ("anthropic-messages", "claude-opus-5", "claude-sonnet-5"),
    "Gemini 3": ("gemini", "gemini-3.8-flash", "gemini-3.1-pro"),
    "Gemini 2.5": ("gemini", "gemini-2.5-pro", "gemini-2.5-flash"),
    "Chat Completions": ("chat-completions", "thinker", "other"),
}
STATE = {"signature", "thoughtSignature", "encrypted_content", "reasoning_details", "reasoning_content", "reasoning"}


def state_in(value: Any) -> set[str]:
    """The state in the body of a request, as texts."""
    if isinstance(value, dict):
        own = {json.dumps(said) for name, said in value.items() if name in STATE and said}
        return own.union(*map(state_in, value.values()))
    return set().union(*map(state_in, value)) if isinstance(value, list) else set()


class Harness:
    """One session with models of one server; nothing is remembered between two requests but the conversation."""

    def __init__(self, peer: Peer, upstream: ReplayUpstream, protocol: str, *models: str) -> None:
        self.conversation = AgentHostConversation()
        self.carries_state = True
        self._peer = peer
        self._upstream = upstream
        limits = {"family": "test", "maxInputTokens": 100_000, "maxOutputTokens": 8000, "toolCalling": True}
        listed = [{"id": one, "name": one, "reasoningEfforts": ["high"], **limits} for one in models]
        base = {"baseUrl": upstream.base_url_of(protocol), "protocol": protocol, "models": listed}
        self._group = {"id": "g", "configuration": base}

    async def request(self, model: str) -> tuple[list[dict[str, Any]], set[str]]:
        """The calls of the next answer, and the state that the request brought to the server."""
        options = {"tools": TOOLS, "requestInitiator": "core", "includeEncryptedThinking": self.carries_state}
        options["modelConfiguration"] = {"reasoningEffort": "high"}
        asked = self._peer.respond(model, *self.conversation.messages, group=self._group, **options)
        reply = await self._peer.reply(asked)
        assert reply.error is None, reply.error
        calls = self.conversation.answer(self._peer.parts(asked))
        body = self._upstream.requests[-1].body
        conversation = body.get("input") or body.get("messages") or body.get("contents")
        return calls, state_in(conversation)

    async def turn(self, text: str, model: str) -> list[set[str]]:
        """A turn, to its end; the state in each of its requests."""
        self.conversation.ask(text)
        brought = []
        while True:
            calls, state = await self.request(model)
            brought.append(state)
            if not calls:
                return brought
            self.conversation.give(calls)


@pytest.mark.parametrize(("protocol", "one", "two"), WIRES.values(), ids=WIRES)
def test_state_comes_back_within_a_turn_in_later_turns_and_after_an_edit_but_not_to_another_model(
    protocol: str, one: str, two: str
) -> None:
    async def test() -> None:
        async with ReplayUpstream(scenario="tools=2") as upstream, serving() as peer:
            harness = Harness(peer, upstream, protocol, one, two)
            first = await harness.turn("Why does it fail?", one)
            assert [bool(state) for state in first] == [False, True, True]
            assert first[1] <= first[2]
            _, later, _ = await harness.turn("Mend it.", one)
            assert first[2] <= later, "the state of the first turn"
            harness.conversation.forget_thinking()
            switched = await harness.turn("Test it.", two)
            assert not (later & switched[0]), "another model gets no state of the first"
            assert switched[1]
            harness.conversation.forget_thinking()
            back = await harness.turn("Test it again.", one)
            assert first[2] <= back[0]
            harness.conversation.edit(2, "Mend it better.")
            edited = await harness.turn("And?", one)
            assert first[2] <= edited[0]
            refused = [one.request.body for one in upstream.exchanges if one.choice is None and one.request.body]
            assert [body for body in refused if body != {"max_tokens": 1}] == [], "nothing is refused"

    run(test())


def test_the_state_of_thinking_reaches_other_callers_as_before():
    async def test() -> None:
        async with ReplayUpstream(scenario="tools=2") as upstream, serving() as peer:
            harness = Harness(peer, upstream, "anthropic-messages", "claude-opus-5")
            harness.carries_state = False
            asked = peer.respond("claude-opus-5", "Hi", group=harness._group, tools=TOOLS)
            assert (await peer.reply(asked)).error is None
            kinds = [part["mimeType"] for part in peer.parts(asked) if part["type"] == "data"]
            assert STATEFUL_MARKER_MIME_TYPE in kinds
            assert any("reasoning_items" in (part.get("metadata") or {}) for part in peer.parts(asked))

    run(test())


class Host:
    """Takes what an answer hands on."""

    def __init__(self) -> None:
        self.parts: list[Any] = []

    def report(self, part: Any) -> None:
        self.parts.append(part)

    async def drain(self) -> None: ...


def new_memory() -> CallersMemory:
    return ThinkingMemory().of("a host")


def handed_on(*parts: Any, memory: CallersMemory | None = None) -> list[Any]:
    host = Host()
    opaque = OpaqueStateProgress(host, memory or new_memory())
    for part in parts:
        opaque.report(part)
    opaque.complete()
    return host.parts


MARKER = DataPart.text("m\\marker", STATEFUL_MARKER_MIME_TYPE)
USAGE = DataPart.json({"prompt_tokens": 1}, USAGE_MIME_TYPE)
CALL = ToolCallPart("1", "read_file", {})
THOUGHT = {"own": [1, {"two": "é"}], "encrypted_content": "the server's own"}
ANSWERS = {
    "a call without thinking": ((CALL, MARKER, USAGE), [CALL, USAGE], (MARKER, ThinkingPart(""))),
    "thinking without words": ((ThinkingPart("", "x", THOUGHT), TextPart("Hi")), [TextPart("Hi")], None),
    "thinking, text and a call": (
        (ThinkingPart("Hm", "x", THOUGHT), TextPart("Hi"), CALL, MARKER),
        [ThinkingPart("Hm", "x"), TextPart("Hi"), CALL],
        (MARKER, ThinkingPart("", None, THOUGHT)),
    ),
}


@pytest.mark.parametrize(("parts", "shown", "state"), ANSWERS.values(), ids=ANSWERS)
def test_one_part_before_the_calls_carries_what_the_provider_reported(parts: Any, shown: Any, state: Any) -> None:
    got = handed_on(*parts)
    [carrier] = [one for one in got if isinstance(one, ThinkingPart) and one.metadata]
    assert [one for one in got if one is not carrier] == shown
    assert carrier.value == ""
    assert list(carrier.metadata) == ["encrypted_content"]
    if CALL in got:
        assert got.index(carrier) < got.index(CALL)
    opened = with_decoded_state([ChatMessage.assistant([carrier])], new_memory())[0].content
    assert opened == (state or (ThinkingPart("", None, THOUGHT),))


def test_thinking_in_entries_keeps_them_beside_the_state_in_both_directions() -> None:
    said = handed_on(ThinkingPart(["one ", "two"], "x", THOUGHT), TextPart("Hi"))
    shown, carrier = (one for one in said if isinstance(one, ThinkingPart))
    assert shown == ThinkingPart(["one ", "two"], "x")
    joined = ThinkingPart(shown.entries, "x", carrier.metadata)  # as the agent host keeps it
    assert with_decoded_state([ChatMessage.assistant([joined])], new_memory())[0].content == (
        ThinkingPart(["one ", "two"], "x", THOUGHT),
    )


def test_an_answer_without_state_stays_as_it_is():
    assert handed_on(ThinkingPart("Hm"), TextPart("Hi"), CALL, USAGE) == [
        ThinkingPart("Hm"),
        TextPart("Hi"),
        CALL,
        USAGE,
    ]


FOREIGN = {
    "another server's": "gAAAAABm",
    "a damaged one": encode_state({"marker": "m"})[:-1] + "x",
    "a sealed one of another kind": encode_state(["marker"]),
}


@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN)
def test_a_text_that_is_not_ours_stays_where_it_is(text: str) -> None:
    message = ChatMessage.assistant([ThinkingPart("", "rs_1", {"encrypted_content": text})])
    assert with_decoded_state([message], new_memory()) == [message]


def test_a_user_cannot_bring_state():
    message = ChatMessage.user("Hi")
    forged = ThinkingPart("", None, {"encrypted_content": encode_state({"marker": "m"})})
    assert with_decoded_state([message, ChatMessage.assistant([forged])], new_memory())[0] is message


LONG = "x" * MOST_CHARACTERS


def test_the_marker_goes_alone_where_not_both_fit() -> None:
    parts = handed_on(ThinkingPart("", None, {"a": LONG}), MARKER)
    assert with_decoded_state([ChatMessage.assistant(parts)], new_memory())[0].content == (MARKER, ThinkingPart(""))
    assert len(parts[0].metadata["encrypted_content"]) <= MOST_CHARACTERS


def test_what_the_marker_repeats_of_the_metadata_is_carried_once() -> None:
    item = {"type": "reasoning", "encrypted_content": "e" * 3000}
    ours = marker_part("m", StateMarker(Origin("u", "m"), "resp_1", answer="a", reasoning=(item,)))
    thinking = ThinkingPart("Hm", None, {ITEMS: [item], ORIGIN: "u/m"})
    [_, carrier] = handed_on(thinking, ours)
    assert len(carrier.metadata["encrypted_content"]) < 2 * 3000
    marker, opened = with_decoded_state([ChatMessage.assistant([carrier])], new_memory())[0].content
    assert opened == ThinkingPart("", None, thinking.metadata)
    assert read_marker(marker) == StateMarker(Origin("u", "m"), "resp_1", answer="a")
    [alone] = handed_on(ours)
    assert with_decoded_state([ChatMessage.assistant([alone])], new_memory())[0].content[0] == ours


def test_state_that_does_not_come_back_is_remembered_for_the_same_text_and_calls() -> None:
    memory = new_memory()
    parts = handed_on(ThinkingPart("Hm", None, THOUGHT), TextPart("Hi "), CALL, MARKER, memory=memory)
    shown = [part for part in parts if not isinstance(part, ThinkingPart)]
    [message] = with_decoded_state([ChatMessage.assistant(shown)], memory)
    assert message.content == (MARKER, ThinkingPart("", None, THOUGHT), *shown)
    other = ChatMessage.assistant([TextPart("Hi "), ToolCallPart("2", "read_file", {})])
    assert with_decoded_state([other], memory) == [other]


def test_state_that_does_not_fit_at_all_is_said(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert handed_on(ThinkingPart("Hm", None, {"a": LONG}), TextPart("Hi")) == [ThinkingPart("Hm"), TextPart("Hi")]
    assert "the state of an answer is longer than" in caplog.text
