"""Parts whose audience leaves out the assistant: in a request they are neither sent to the model nor counted."""

from typing import Any

import pytest

from partstream import Audience, ChatMessage, DataPart, RequestOptions, TextPart, ToolCallPart, ToolResultPart
from partstream.codec.json_codec import dumps
from partstream.conversation.turns import read_turns
from partstream.lm.outputs import InboundRequest
from partstream.protocols.protocol import PROTOCOLS
from partstream.runtime.translation import write_question
from partstream.tokens.counting import MessageCounter, estimate_tokens
from partstream.tokens.records import message_digest
from rows import one_test_for

ASIDE = "12 rows, 3 columns"
WIRES = tuple(name for name, one in PROTOCOLS.items() if one.write_request is not None)
LEFT_OUT: tuple[tuple[Audience, ...], ...] = ((Audience.USER,), (Audience.EXTENSION, Audience.USER), ())
SENT: tuple[tuple[Audience, ...] | None, ...] = (None, (Audience.ASSISTANT,), (Audience.USER, Audience.ASSISTANT))


def _messages(audience: Any) -> list[ChatMessage]:
    aside, data = TextPart(ASIDE, audience), DataPart(ASIDE.encode(), "text/plain", audience)
    return [
        ChatMessage.user([TextPart("How large?"), aside]),
        ChatMessage.assistant([ToolCallPart("c", "look", {}), aside]),
        ChatMessage.user([ToolResultPart("c", [TextPart("large"), aside, data])]),
    ]


def _body(name: str, audience: Any) -> str:
    asked = InboundRequest("m", tuple(_messages(audience)), RequestOptions())
    return dumps(dict(write_question(PROTOCOLS[name], asked).body)).decode()


@one_test_for("name", WIRES)
@one_test_for("audience", LEFT_OUT)
def test_no_wire_sends_them_to_a_model(name: str, audience: Any) -> None:
    body = _body(name, audience)
    assert ASIDE not in body
    assert "large" in body


@one_test_for("name", WIRES)
@one_test_for("audience", SENT)
def test_every_wire_sends_all_others(name: str, audience: Any) -> None:
    body = _body(name, audience)
    assert body.count(ASIDE) == 4


@pytest.mark.parametrize("audience", LEFT_OUT)
def test_they_count_nothing_and_change_no_digest(audience: Any) -> None:
    counter = MessageCounter("gpt-4o")
    for own, without in zip(_messages(audience), _without(audience), strict=True):
        assert counter.count_message(own) == counter.count_message(without)
        assert estimate_tokens(own) == estimate_tokens(without)
        assert message_digest(own) == message_digest(without)
    assert message_digest(_messages(None)[0]) != message_digest(_without(None)[0])


def test_a_result_of_which_the_model_sees_nothing_still_answers_its_call() -> None:
    result = ToolResultPart("c", [TextPart(ASIDE, [Audience.USER])])
    turns, _ = read_turns([ChatMessage.assistant([ToolCallPart("c", "look", {})]), ChatMessage.user([result])])
    [piece] = turns[-1].content
    assert (piece.call_id, piece.content) == ("c", ())  # type: ignore[union-attr]


def _without(audience: Any) -> list[ChatMessage]:
    asked, called, answered = _messages(audience)
    return [
        ChatMessage.user([asked.content[0]]),
        ChatMessage.assistant([called.content[0]]),
        ChatMessage.user([ToolResultPart("c", [answered.content[0].content[0]])]),  # type: ignore[union-attr]
    ]
