"""The state of thinking on its way through a client that gives back reasoning items as it got them."""

from typing import Any

import pytest

from conversation.samples import ORIGIN
from partstream import RequestOptions, TextPart, ThinkingPart, ToolCallPart
from partstream.conversation.preparation import RequestSettings, ResponseState, prepare
from partstream.conversation.provider_state import Origin
from partstream.conversation.turns import ToolNames
from partstream.lm.outputs import Finish, Outcome, Reply
from partstream.lm.parts import ResponsePart
from partstream.protocols.openresponses.serve import READ_REQUEST, OpenResponsesWriter
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.serve import WireRequest

CALL = ToolCallPart("c1", "f", {})
OWN = {"id": "rs_1", "encrypted_content": "sealed by the server"}
COMPACTION = {"type": "compaction", "id": "cmp_1", "encrypted_content": "sealed by the server"}
SIGNED = {"type": "reasoning", "text": "Hm.", "providerOptions": {"anthropic": {"signature": "s"}}}
MARKED = {"type": "tool-call", "toolCallId": "c1", "providerOptions": {"google": {"thoughtSignature": "t"}}}


def _answer(*parts: ResponsePart) -> tuple[ResponsePart, ...]:
    """The parts as the provider of a model server gives them: who answered stands with the state."""
    state = ResponseState(ORIGIN, ToolNames([]))
    return tuple(map(state.see, parts))


def _output(*parts: ResponsePart, **body: Any) -> list[dict[str, Any]]:
    asked = READ_REQUEST.read(WireRequest("/responses", {"model": "small", "input": "Hi", **body}))
    writer = OpenResponsesWriter(asked, Reply("identity", 1))
    events = [event for output in (*parts, Finish(Outcome.COMPLETED)) for event in writer.write(output)]
    output: list[dict[str, Any]] = events[-1]["response"]["output"]
    return output


def _given_back(output: list[dict[str, Any]]) -> tuple[Any, ...]:
    """The messages of the next request, of a client that adds what the model said to its conversation."""
    question = {"role": "user", "content": "And now?"}
    return READ_REQUEST.read(WireRequest("/responses", {"input": [*output, question]})).messages


def _sent(messages: tuple[Any, ...], origin: Origin, protocol: str) -> str:
    """What a server of that origin is asked then."""
    corner = PROTOCOLS[protocol].write_request
    assert corner is not None
    prepared = prepare(origin, messages, RequestOptions(), RequestSettings())
    return str(corner().write(prepared.request()).body)


def test_what_a_server_gave_goes_through_as_it_came_where_nobody_says_whose_it_is():
    (item, _) = _output(ThinkingPart("Hm.", "rs_1", {**OWN, "reasoning_items": [OWN]}), TextPart("a"))
    assert item["encrypted_content"] == OWN["encrypted_content"]


@pytest.mark.parametrize(
    ("protocol", "parts", "secret"),
    [
        ("openresponses", [ThinkingPart("Hm.", "rs_1", {**OWN, "reasoning_items": [OWN]})], "sealed by the server"),
        ("openresponses", [ThinkingPart("", None, {"reasoning_items": [COMPACTION]})], "sealed by the server"),
        ("ai-gateway", [ThinkingPart("Hm.", "0"), ThinkingPart("", "0", {"reasoning_items": [SIGNED]})], "signature"),
        ("ai-gateway", [ThinkingPart("", None, {"reasoning_items": [MARKED]})], "thoughtSignature"),
    ],
)
def test_state_comes_back_to_the_server_that_gave_it_and_to_no_other(protocol, parts, secret):
    answer = _answer(*parts, TextPart("a"), CALL)
    output = _output(*answer, include=["reasoning.encrypted_content"])
    messages = _given_back(output)
    given = [part for part in messages[0].content if isinstance(part, ThinkingPart) and part.metadata]
    assert [part.metadata for part in given] == [
        part.metadata for part in answer if isinstance(part, ThinkingPart) and part.metadata
    ]
    assert secret in _sent(messages, ORIGIN, protocol)
    assert secret not in _sent(messages, Origin("another", "small"), protocol)


def test_the_state_of_other_protocols_is_given_to_those_who_ask_for_state():
    parts = _answer(ThinkingPart("Hm.", "0", {"reasoning_items": [SIGNED]}), TextPart("a"))
    assert "encrypted_content" not in _output(*parts)[0]
    assert "encrypted_content" in _output(*parts, include=["reasoning.encrypted_content"])[0]


def test_metadata_without_a_list_comes_back_as_it_was():
    part = ThinkingPart("Hm.", "t1", {"signature": "s"})
    messages = _given_back(_output(part, TextPart("a"), include=["reasoning.encrypted_content"]))
    assert messages[0].content == (part, TextPart("a"))


def test_metadata_that_holds_no_state_is_not_carried():
    part = ThinkingPart("Hm.", "t1", {"id": "t1", "reasoning_items": [{"id": "t1"}]})
    assert "encrypted_content" not in _output(part, include=["reasoning.encrypted_content"])[0]


def test_what_a_provider_lists_wrongly_breaks_nothing():
    part = ThinkingPart("Hm.", "t1", {"reasoning_items": ["a", None, 3, {"id": 3}]})
    (item,) = _output(part, include=["reasoning.encrypted_content"])
    assert item["summary"][0]["text"] == "Hm."


def test_damaged_state_is_what_a_server_gave():
    parts = _answer(ThinkingPart("Hm.", "rs_1", {**OWN, "reasoning_items": [OWN]}), TextPart("a"))
    item, *others = _output(*parts)
    item["encrypted_content"] += "0"
    (message, _) = _given_back([item, *others])
    assert message.content[0].metadata["encrypted_content"] == item["encrypted_content"]
