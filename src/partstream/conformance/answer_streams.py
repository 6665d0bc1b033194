"""Writes an answer of a script as the bytes of a stream, with its faults: what a parser under test is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from partstream.devtools.testing.directives import parse_choices
from partstream.devtools.testing.faults import (
    END_OF_STREAM,
    UNNAMED,
    End,
    EndKind,
    Head,
    ReplyContext,
    Send,
    apply_faults,
)
from partstream.lm.messages import RequestOptions
from partstream.lm.outputs import InboundRequest, Reply

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from partstream.devtools.conformance.scripts import ScriptedAnswer
    from partstream.devtools.testing.faults import Step
    from partstream.lm.messages import ChatMessage
    from partstream.protocols.protocol import Protocol
    from partstream.protocols.serve import StreamForm, WireEvent

__all__ = ["AnswerStream", "answer_stream", "form_of", "framed"]

_CREATED_AT: Final = 1_700_000_000
_ARGUMENT_SIZE: Final = 8
"""The most characters of a call's arguments in one event, so that they come in pieces."""


@dataclass(frozen=True, slots=True)
class AnswerStream:
    """The bytes of one stream.

    Attributes:
        pieces: The bytes, in the pieces in which they arrive: one an event, unless a fault says otherwise.
        error: The error of the connection behind them, or None.
    """

    pieces: tuple[bytes, ...]
    error: Exception | None = None

    @property
    def data(self) -> bytes:
        """All bytes."""
        return b"".join(self.pieces)


def answer_stream(
    protocol: Protocol,
    answer: ScriptedAnswer,
    messages: Sequence[ChatMessage] = (),
    options: RequestOptions | None = None,
) -> AnswerStream:
    """The stream of an answer.

    Args:
        protocol: A protocol that answers can be written in.
        answer: The answer.
        messages: The conversation that it answers.
        options: The tools and options of the request.
    """
    asked = InboundRequest("scripted", tuple(messages), options or RequestOptions())
    assert protocol.write_response is not None  # noqa: S101 - checked where the target is made
    writes = protocol.write_response()
    writer = writes.open(asked, Reply("conformance", _CREATED_AT, argument_size=_ARGUMENT_SIZE))
    events = (event for output in (*answer.parts(messages), answer.finish()) for event in writer.write(output))
    steps: tuple[Step, ...] = (Head(200, ()), *framed(events, writes.stream_form(asked)), End())
    done = apply_faults(steps, parse_choices(answer.fault), ReplyContext(1, 0.0, lambda _status, _message: b""))
    is_reset = any(isinstance(step, End) and step.kind is EndKind.RESET for step in done)
    return AnswerStream(
        tuple(step.data for step in done if isinstance(step, Send)),
        ConnectionResetError("the connection was reset in the middle of the answer") if is_reset else None,
    )


def form_of(protocol: Protocol) -> StreamForm:
    """The form of a stream of a protocol that answers can be written in."""
    assert protocol.write_response is not None  # noqa: S101 - checked where the target is made
    return protocol.write_response().stream_form(InboundRequest("scripted", (), RequestOptions()))


def framed(events: Iterable[WireEvent], form: StreamForm) -> Iterator[Send]:
    """Events as the steps of a server that sends them, one an event."""
    before = form.start
    for event in events:
        yield Send(before + form.frame(event), event=UNNAMED)
        before = form.separator
    if form.end:
        yield Send(form.end, event=END_OF_STREAM)
