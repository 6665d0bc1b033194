"""Translates requests and answers from one wire into another, sans-IO.

Any two protocols with the readers and writers that it takes translate into each other, through the values in the
middle: :class:`partstream.lm.outputs.InboundRequest` and the outputs of a response. docs/translation.md says what
becomes of each field on the way. A function raises :class:`MissingCornerError` if the protocol cannot be asked or
served.
"""

from __future__ import annotations
from collections.abc import Iterable
from dataclasses import replace

from partstream.conversation.preparation import RequestSettings, prepare
from partstream.conversation.provider_state import Origin
from partstream.errors import CallerError
from partstream.lm.outputs import InboundRequest, Reply, StreamOptions, StreamOutput
from partstream.protocols.protocol import Protocol
from partstream.protocols.reader import StreamReader
from partstream.protocols.serve import ResponseWriter, WireEvent, WireRequest


class MissingCornerError(CallerError):
    """A protocol lacks a reader or a writer that a translation needs, such as `write_response`."""

    def __init__(self, protocol: str, corner: str) -> None:
        super().__init__(f"the protocol {protocol!r} has no {corner}")
        self.protocol = protocol
        self.corner = corner


def write_question(
    protocol: Protocol,
    asked: InboundRequest,
    settings: RequestSettings = RequestSettings(),  # noqa: B008 - immutable
    *,
    upstream: str = "",
) -> WireRequest:
    """Writes a request in the form of the wire.

    Args:
        upstream: The fingerprint of the server that is asked: opaque state goes back only to the one that gave it.

    Raises:
        RequestNotExpressibleError: Something in the request has no form in this protocol.
    """
    if protocol.write_request is None:
        raise MissingCornerError(protocol.name, "write_request")
    writer = protocol.write_request()
    rules = writer.conversation_rules(settings, asked.model)
    options = asked.options
    if beside := asked.said_beside:
        options = replace(options, model_options={**options.model_options, **beside})
    prepared = prepare(Origin(upstream, asked.model), asked.messages, options, settings, rules=rules)
    return writer.write(prepared.request(writer.carries))


def read_question(protocol: Protocol, request: WireRequest) -> InboundRequest:
    """Reads a request from the wire.

    Raises:
        InvalidRequestError: The request is not what the protocol asks for.
    """
    if protocol.read_request is None:
        raise MissingCornerError(protocol.name, "read_request")
    return protocol.read_request().read(request)


def write_answer(
    protocol: Protocol, asked: InboundRequest, outputs: Iterable[StreamOutput], reply: Reply
) -> list[WireEvent]:
    """Writes all events of an answer."""
    writer = _answering(protocol)(asked, reply)
    return [event for output in outputs for event in writer.write(output)]


def frame_answer(protocol: Protocol, events: Iterable[WireEvent]) -> bytes:
    """Frames the events of an answer as bytes."""
    writer = _answering(protocol)
    return b"".join(map(writer.frame, events)) + writer.end_of_stream


def write_document(
    protocol: Protocol, asked: InboundRequest, outputs: Iterable[StreamOutput], reply: Reply
) -> tuple[int, WireEvent]:
    """Writes an answer as one document: HTTP status and JSON."""
    return _answering(protocol).document(write_answer(protocol, asked, outputs, reply))


def read_answer(
    protocol: Protocol,
    data: bytes,
    options: StreamOptions = StreamOptions(),  # noqa: B008 - immutable
) -> list[StreamOutput]:
    """Reads the bytes of an answer; the last output is a Finish."""
    reader = StreamReader(protocol, options)
    return [*reader.feed(data), *reader.end()]


def read_document(
    protocol: Protocol,
    data: bytes,
    options: StreamOptions = StreamOptions(),  # noqa: B008 - immutable
) -> list[StreamOutput]:
    """Reads an answer in one document; the last output is a Finish.

    Raises:
        AdapterUsageError: The protocol has no such document.
    """
    reader = StreamReader(protocol, options)
    return [*reader.feed_document(data), *reader.end()]


def _answering(protocol: Protocol) -> type[ResponseWriter]:
    if protocol.write_response is None:
        raise MissingCornerError(protocol.name, "write_response")
    return protocol.write_response()
