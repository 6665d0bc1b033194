"""How an answer becomes a reply: as a stream of events, or as one document. Decides the status before the head."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol

from partstream.codec.json_codec import dumps
from partstream.outputs import IdleWriter, Outcome
from partstream.protocols.answer_bytes import AnswerBytes
from partstream.serving.failures import failure_of
from partstream.serving.outgoing import Head

if TYPE_CHECKING:
    from partstream.outputs import Finish, InboundRequest, Reply
    from partstream.parts import ResponsePart
    from partstream.protocols.failures import ServedFailure
    from partstream.protocols.serve import ResponseWriterSpec, StreamForm, WireEvent
    from partstream.serving.outgoing import ReplySink

__all__ = ["DocumentReply", "ReplyWriter", "StreamReply", "json_headers", "send_failure", "stream_headers"]

_FAILED: Final = frozenset({Outcome.FAILED, Outcome.TRUNCATED})
_logger = logging.getLogger("partstream.serving")


class ReplyWriter(Protocol):
    """Takes the outputs of one answer and writes a reply."""

    @property
    def events(self) -> int:
        """The events that were written."""
        ...

    def take(self, part: ResponsePart, /) -> None:
        """Writes a part."""
        ...

    def finish(self, finish: Finish) -> None:
        """Writes the end, which is the last."""
        ...

    def break_off(self, error: Exception) -> None:
        """Ends the reply as far as possible: the end could not be written because of a fault of ours."""
        ...

    def open(self) -> None:
        """Sends the head of a stream although no part has come: a failure is an event from now on."""
        ...

    def keep_alive(self) -> None:
        """Writes what says nothing but that the connection lives."""
        ...

    def idle(self) -> None:
        """Writes the wire's own event that says that the model still works, if it has one."""
        ...


class StreamReply:
    """Writes an answer as events, each as soon as its part comes.

    Args:
        writes: The corner of the protocol.
        asked: The request.
        reply: What identifies the reply.
        outlet: Where the bytes go.
        request_id: The id of the request, which a failure tells where its wire has a place for it.
        form: How the events stand in the bytes; None for the stream of an HTTP reply.
    """

    __slots__ = ("_begun", "_bytes", "_form", "_outlet", "_request_id", "_send", "_writer", "_writes")

    def __init__(
        self,
        writes: ResponseWriterSpec,
        asked: InboundRequest,
        reply: Reply,
        outlet: ReplySink,
        request_id: str,
        form: StreamForm | None = None,
    ) -> None:
        self._writes = writes
        self._request_id = request_id
        self._form = form or writes.stream_form(asked)
        self._writer = writes.open(asked, reply)
        self._bytes = AnswerBytes(self._writer, self._form)
        self._outlet = outlet
        self._send = outlet.send
        self._begun = False

    @property
    def events(self) -> int:
        """The events that were written."""
        return self._bytes.events

    def take(self, part: ResponsePart, /) -> None:
        """Writes a part; the first one decides that the status is 200."""
        data = self._bytes.write(part)
        if not self._begun:
            self._begin()
        if data:
            self._send(data)

    def finish(self, finish: Finish) -> None:
        """Writes the end: as an event, or as an HTTP status if the answer failed before its first part."""
        if not self._begun and finish.outcome in _FAILED and finish.error is not None:
            self._fail(finish.error)
            return
        data = self._bytes.write(finish)
        if not self._begun:
            self._begin()
        self._outlet.end(data + self._bytes.end())

    def break_off(self, error: Exception) -> None:
        """Ends the stream without its last event, or tells of the failure if nothing was sent."""
        if self._begun:
            self._outlet.end()
        else:
            self._fail(error)

    def open(self) -> None:
        """Sends the head, with a comment that carries it through proxies."""
        if not self._begun:
            self._begin()
            self.keep_alive()

    def keep_alive(self) -> None:
        """Writes a comment, once the head is sent."""
        if self._begun and self._form.keep_alive:
            self._send(self._form.keep_alive)

    def idle(self) -> None:
        """Writes the wire's own event for a model that still works, once the head is sent."""
        if self._begun and isinstance(self._writer, IdleWriter):
            self._send(self._bytes.idle(self._writer))

    def _fail(self, error: Exception) -> None:
        send_failure(self._writes, replace(failure_of(error), request_id=self._request_id), self._outlet)

    def _begin(self) -> None:
        self._begun = True
        self._outlet.start(Head(200, stream_headers(self._form.content_type)))


class DocumentReply:
    """Writes an answer as one document, at its end.

    Args:
        writes: The corner of the protocol.
        asked: The request.
        reply: What identifies the reply.
        outlet: Where the bytes go.
        request_id: The id of the request, which a failure tells where its wire has a place for it.
    """

    __slots__ = ("_events", "_outlet", "_request_id", "_writer", "_writes")

    def __init__(
        self, writes: ResponseWriterSpec, asked: InboundRequest, reply: Reply, outlet: ReplySink, request_id: str
    ) -> None:
        self._writes = writes
        self._request_id = request_id
        self._writer = writes.open(asked, reply)
        self._events: list[WireEvent] = []
        self._outlet = outlet

    @property
    def events(self) -> int:
        """None: a document is no event."""
        return 0

    def take(self, part: ResponsePart, /) -> None:
        """Keeps the events of a part."""
        self._events += self._writer.write(part)

    def finish(self, finish: Finish) -> None:
        """Writes the document, or the failure."""
        if finish.outcome in _FAILED and finish.error is not None:
            self._fail(finish.error)
            return
        self._events += self._writer.write(finish)
        status, document = self._writes.document(self._events)
        body = dumps(document)
        self._outlet.start(Head(status, json_headers(body)))
        self._outlet.end(body)

    def break_off(self, error: Exception) -> None:
        """Tells of the failure in place of the document."""
        self._fail(error)

    def open(self) -> None:
        """Does nothing: the status of a document waits for its end."""

    def keep_alive(self) -> None:
        """Does nothing: JSON has no place for it."""

    def idle(self) -> None:
        """Does nothing: JSON has no place for it."""

    def _fail(self, error: Exception) -> None:
        send_failure(self._writes, replace(failure_of(error), request_id=self._request_id), self._outlet)


def stream_headers(content_type: str) -> tuple[tuple[str, str], ...]:
    """The headers of a stream; without the last one nginx buffers it (docs/wires/serving.md#headers-of-a-stream)."""
    return (("content-type", content_type), ("cache-control", "no-cache"), ("x-accel-buffering", "no"))


def json_headers(body: bytes) -> tuple[tuple[str, str], ...]:
    """The headers of a JSON document."""
    return (("content-type", "application/json"), ("content-length", str(len(body))))


def send_failure(
    writes: ResponseWriterSpec, failure: ServedFailure, outlet: ReplySink, *headers: tuple[str, str]
) -> None:
    """Writes a whole reply that tells of a failure, in the wire's own words."""
    said = writes.failed(failure)
    body = dumps(said.body)
    outlet.start(Head(said.status, (*json_headers(body), *said.headers, *headers)))
    outlet.end(body)
