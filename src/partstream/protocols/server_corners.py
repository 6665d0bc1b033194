"""The two corners of a protocol that a server has: the one that reads requests, and the one that writes answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from partstream.outputs import Outcome
from partstream.protocols.served_failures import plain_reply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from partstream.outputs import InboundRequest, Reply, ResponseWriter
    from partstream.protocols.served_documents import ServedDocument
    from partstream.protocols.served_failures import FailedReply, ServedFailure
    from partstream.protocols.served_sockets import ServedSocket
    from partstream.protocols.served_state import ServedState
    from partstream.protocols.wire_request import WireEvent, WireRequest

__all__ = ["FurtherEndpoint", "RequestReaderSpec", "ResponseWriterSpec", "StreamForm"]


@dataclass(frozen=True, slots=True)
class RequestReaderSpec:
    """The corner that reads requests, as a server does.

    Attributes:
        read: Reads a request; raises :class:`partstream.errors.InvalidRequestError` for what it cannot understand. The
            path of the request is the one that was asked, with the model in it.
        paths: The patterns of the paths below the base path where it is asked, each with `{model}` where the path names
            the model; without any, :attr:`RequestWriterSpec.path`.
        socket: The WebSocket at the same paths; None for a wire without one.
    """

    read: Callable[[WireRequest], InboundRequest]
    paths: tuple[str, ...] = ()
    socket: ServedSocket | None = None


_EVENT_STREAM: Final = "text/event-stream; charset=utf-8"
_COMMENT: Final = b": keep-alive\n\n"
"""A comment of server-sent events, which every reader skips (docs/wires/serving.md#keep-alive)."""


@dataclass(frozen=True, slots=True)
class StreamForm:
    """How the events of an answer stand in the bytes of its stream.

    Attributes:
        frame: The bytes of one event.
        start: The bytes before the first event.
        separator: The bytes between two events.
        end: The bytes behind the last event.
        content_type: The media type.
        keep_alive: The bytes between two events that say nothing but that the connection lives; empty for a form that
            has none.
    """

    frame: Callable[[WireEvent], bytes]
    start: bytes = b""
    separator: bytes = b""
    end: bytes = b""
    content_type: str = _EVENT_STREAM
    keep_alive: bytes = b""


@dataclass(frozen=True, slots=True)
class ResponseWriterSpec:
    """The corner that writes answers, as a server does.

    Attributes:
        open: Makes the writer of one response to a request.
        frame: The bytes of one event.
        document: The events of a whole response as what a client gets that wants no stream: HTTP status and JSON.
        error: The JSON object of an HTTP error, given its status and message.
        end_of_stream: The bytes behind the last event.
        content_type: The media type of the stream.
        documents: What a server has beside its answers, such as the list of models.
        form_of: The form of the stream that a request wants, for a wire that has several; None for the one form that
            `frame`, `end_of_stream` and `content_type` say.
        base_paths: The paths of the base URLs of clients, the usual one first.
        fail: A failure in the wire's own statuses, headers and words; None for a wire of which `error` says all.
        request_id_header: The response header in which clients of this wire look for the id of their request.
        aliases: Prefixes with which clients of this wire may name every model, such as `maker/`.
        stopped: The outcome with which an answer ends that the server stops, as when it is shut down.
        drops_thinking_state: Whether the official clients of this wire have no field for the opaque state of thinking,
            or the wire has none: a server remembers it for them.
        state: What a server remembers of its answers; None for a wire whose requests say everything themselves.
        further: Further endpoints where a model answers.
    """

    open: Callable[[InboundRequest, Reply], ResponseWriter]
    frame: Callable[[WireEvent], bytes]
    document: Callable[[Sequence[WireEvent]], tuple[int, WireEvent]]
    error: Callable[[int, str], WireEvent]
    end_of_stream: bytes = b""
    content_type: str = _EVENT_STREAM
    documents: tuple[ServedDocument, ...] = ()
    form_of: Callable[[InboundRequest], StreamForm] | None = None
    base_paths: tuple[str, ...] = ("/v1",)
    fail: Callable[[ServedFailure], FailedReply] | None = None
    request_id_header: str = "x-request-id"
    aliases: tuple[str, ...] = ()
    stopped: Outcome = Outcome.FAILED
    drops_thinking_state: bool = False
    state: ServedState | None = None
    further: tuple[FurtherEndpoint, ...] = ()

    def failed(self, failure: ServedFailure) -> FailedReply:
        """The reply that tells a client of a failure."""
        return plain_reply(self.error, failure) if self.fail is None else self.fail(failure)

    def stream_form(self, asked: InboundRequest) -> StreamForm:
        """The form of the stream that answers a request."""
        if self.form_of is not None:
            return self.form_of(asked)
        keep_alive = _COMMENT if self.content_type == _EVENT_STREAM else b""
        return StreamForm(self.frame, end=self.end_of_stream, content_type=self.content_type, keep_alive=keep_alive)


@dataclass(frozen=True, slots=True)
class FurtherEndpoint:
    """An endpoint of a protocol's server where a model answers another kind of request, such as one for a summary.

    Attributes:
        path: The pattern of its path below the base path.
        reads: The corner that reads its requests.
        writes: The corner that writes its answers; its documents, routes and further endpoints are not looked at.
    """

    path: str
    reads: RequestReaderSpec
    writes: ResponseWriterSpec
