"""The bytes of an answer are the same, whichever of its parts take the short way.

Recorded and made-up answers are in `test_round_trips.py`.
"""

from dataclasses import replace
from typing import Any

import pytest

from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.lm.outputs import FastPathWriter, Finish, InboundRequest, Outcome, Reply, StreamOutput
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart
from partstream.protocols.protocol import PROTOCOLS, Protocol
from partstream.server.replies import AnswerBytes
from rows import one_test_for

WRITTEN = {name: row for name, row in PROTOCOLS.items() if row.write_response is not None}
QUICK = ("anthropic-messages", "chat-completions", "gemini", "gemini-interactions", "ollama", "openresponses")
ASKED = InboundRequest("small", (ChatMessage.user("Hi"),), RequestOptions())
REPLY = Reply("identity", 1)
END = Finish(Outcome.COMPLETED)
HOLES = ("6ff1d3c19bfc45a0", "7361952840173605")
every_writer = pytest.mark.parametrize("protocol", WRITTEN.values(), ids=WRITTEN)


def _event_by_event(protocol: Protocol, outputs: list[StreamOutput], asked: InboundRequest = ASKED) -> bytes:
    assert protocol.write_response is not None
    corner = protocol.write_response()
    writer, form = corner(asked, REPLY), corner.stream_form(asked)
    frames = [form.frame(event) for output in outputs for event in writer.write(output)]
    return form.start + form.separator.join(frames) + form.end


def _opened(protocol: Protocol, asked: InboundRequest = ASKED) -> AnswerBytes:
    assert protocol.write_response is not None
    corner = protocol.write_response()
    return AnswerBytes(corner(asked, REPLY), corner.stream_form(asked))


def _at_once(protocol: Protocol, outputs: list[StreamOutput], asked: InboundRequest = ASKED) -> bytes:
    written = _opened(protocol, asked)
    return b"".join([*map(written.write, outputs), written.end()])


class Words(str):
    """A text of a class of its own."""


SIGNED = {"anthropic": {"signature": "signed"}}
ORDERS: dict[str, list[StreamOutput]] = {
    "words": [TextPart(word) for word in ("Quick", ' "brown"', "\n\x00\x7f fox\\", " jumps ü 你好 👋", "\u2028")],
    "half of a surrogate pair": [TextPart("a"), TextPart("b"), TextPart("\ud83d"), TextPart("c")],
    "empty texts": [TextPart(""), TextPart("a"), TextPart(""), TextPart("b"), ThinkingPart(""), TextPart("c")],
    "a text of a class of its own": [TextPart("a"), TextPart(Words("b")), TextPart("c")],
    "the words that stand for the text and the number": [TextPart(word) for word in ("a", *HOLES, "b", *HOLES)],
    "thoughts with other ids": [ThinkingPart("a", id=name) for name in ("r1", "r1", "r2", "r2", "r1")],
    "thoughts in pieces": [ThinkingPart("a"), ThinkingPart(["b", "c"]), ThinkingPart("d"), ThinkingPart("e")],
    "a signed thought": [
        ThinkingPart("a", id="r"), ThinkingPart("b", id="r"), ThinkingPart("c", id="r", metadata=SIGNED),
        ThinkingPart("d", id="r"), ThinkingPart("e", id="r"),
    ],
    "thoughts and words": [ThinkingPart("a"), ThinkingPart("b"), TextPart("c"), TextPart("d"), ThinkingPart("e")],
    "a call between words": [TextPart("a"), TextPart("b"), ToolCallPart("c", "look", {}), TextPart("d"), TextPart("e")],
    "a file between words": [TextPart("a"), TextPart("b"), DataPart(b"\x89PNG", "image/png"), TextPart("d")],
    "nothing": [],
}  # fmt: skip


@one_test_for("outputs", ORDERS.values(), ids=ORDERS)
@every_writer
def test_any_order_of_parts_has_the_same_bytes(protocol: Protocol, outputs: list[StreamOutput]) -> None:
    whole = [*outputs, END]
    assert _at_once(protocol, whole) == _event_by_event(protocol, whole)


@one_test_for(
    "asked",
    [
        replace(ASKED, body={"stream_options": {"include_usage": True}}),
        replace(ASKED, body={"thinking": {"type": "adaptive", "display": "omitted"}}),
        replace(ASKED, dialect="array"),
        *(replace(ASKED, model=f"{hole}") for hole in HOLES),
    ],
    ids=["usage in a chunk of its own", "thinking that is not shown", "one array", "model 1", "model 2"],
)
@every_writer
def test_any_request_gets_the_same_bytes(protocol: Protocol, asked: InboundRequest) -> None:
    outputs = [*ORDERS["thoughts and words"], *ORDERS["words"], END]
    assert _at_once(protocol, outputs, asked) == _event_by_event(protocol, outputs, asked)


class Counted:
    """A writer that counts the parts that it takes the long way."""

    def __init__(self, writer: Any) -> None:
        self.taken = 0
        self._writer = writer
        self.repeated = writer.repeated

    def write(self, output: StreamOutput) -> list[dict[str, Any]]:
        self.taken += 1
        return list(self._writer.write(output))


@one_test_for("name", QUICK)
@one_test_for("part", [TextPart("word"), ThinkingPart("word", id="r")], ids=["text", "thinking"])
def test_of_a_thousand_words_one_takes_the_long_way(name: str, part: StreamOutput) -> None:
    corner = PROTOCOLS[name].write_response
    assert corner is not None
    writer = Counted(corner()(ASKED, REPLY))
    assert isinstance(writer, FastPathWriter)
    written = AnswerBytes(writer, corner().stream_form(ASKED))
    for _ in range(1000):
        written.write(part)
    assert writer.taken == 1
    assert written.events >= 1000


@every_writer
def test_the_events_are_counted(protocol: Protocol) -> None:
    assert protocol.write_response is not None
    outputs = [*ORDERS["thoughts and words"], *ORDERS["a call between words"], END]
    writer = protocol.write_response()(ASKED, REPLY)
    written = _opened(protocol)
    for output in outputs:
        written.write(output)
    assert written.events == sum(len(writer.write(output)) for output in outputs)
