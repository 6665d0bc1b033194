"""Translates requests and answers from one wire into another, sans-IO.

Any two protocols with the readers and writers that it takes translate into each other, through the values in the
middle: :class:`partstream.lm.outputs.InboundRequest` and the outputs of a response. docs/maintainers/translation.md
says what becomes of each field on the way. A function raises :class:`MissingCornerError` if the protocol cannot be
asked or served.

:func:`to_model_messages` gives a conversation alone, in the words of the AI SDK.
"""

from __future__ import annotations
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from partstream.codec.checks import dataclass, replace
from partstream.conversation.preparation import RequestSettings, prepare
from partstream.conversation.provider_state import ITEMS, PLACE, AnswerPlace, Carried, Origin, usable_items
from partstream.conversation.turns import well_formed
from partstream.errors import CallerError
from partstream.lm.messages import ChatMessage, RequestOptions, Role
from partstream.lm.outputs import InboundRequest, Reply, StreamOptions, StreamOutput
from partstream.lm.parts import MessagePart, TextPart, ThinkingPart, ToolCallPart
from partstream.protocols.ai_sdk.provider_state import REASONING, RULES
from partstream.protocols.ai_sdk.write_request import MESSAGE_FORMS, prompt_messages
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


# ---- ModelMessages of the AI SDK ----
# Thinking comes in two forms. A response as it streamed has many parts, and the metadata of the last of a block lists
# all items so far. Hosts keep one part, with the text joined and the last metadata, whose items hold their places.

_OPTIONS: Final = "providerOptions"


class _ThinkingItems:
    """The items of one message of the assistant, in order, each with its place."""

    def __init__(self, parts: Iterable[MessagePart]) -> None:
        self.items: list[Mapping[str, Any]] = []
        self._place = AnswerPlace()
        self._shown: dict[str | None, str] = {}
        self._taken: dict[str | None, list[Mapping[str, Any]]] = {}
        self._last_id: str | None = None
        self._listed = 0
        for part in parts:
            self._read(part)
        self._close()

    def _read(self, part: MessagePart) -> None:
        if isinstance(part, ThinkingPart):
            block = self._last_id if part.id is None else part.id
            self._last_id = block
            self._shown[block] = self._shown.get(block, "") + part.value
            listed = part.metadata.get(ITEMS) if part.metadata else None
            if isinstance(listed, list | tuple):
                new = listed[self._listed :]
                self._listed = len(listed)
                for item in usable_items(new):
                    if isinstance(item.get(_OPTIONS), Mapping):
                        self._take(item)
            return
        if isinstance(part, TextPart) and part.value:
            self._close()
            self._place.add_text(part.value)
        elif isinstance(part, ToolCallPart):
            self._close()
            self._place.add_call()

    def _close(self) -> None:
        """Ends the open blocks: shown text without an item is reasoning without options."""
        for block, shown in self._shown.items():
            self.items += self._taken.get(block, ())
            if text := well_formed(shown):
                self.items.append({"type": REASONING, "text": text, PLACE: self._place.value})
        self._shown, self._taken = {}, {}

    def _take(self, item: Mapping[str, Any]) -> None:
        """Takes a listed item; its shown text is not repeated."""
        said = item.get("text")
        block = self._last_id
        if item.get("type") == REASONING and isinstance(said, str) and said:
            # The block that says exactly this, else one that hosts have joined with others.
            blocks = [block for block, shown in self._shown.items() if said in shown]
            block = min(blocks, key=lambda block: self._shown[block] != said, default=block)
            self._shown[block] = self._shown[block].replace(said, "", 1)
        self._taken.setdefault(block, []).append({PLACE: self._place.value, **item})


VERSIONS: Final = tuple(MESSAGE_FORMS)
"""The major versions of the package `ai` that there are forms for."""


@dataclass(frozen=True, slots=True)
class ModelMessages:
    """A conversation as the AI SDK takes it.

    Attributes:
        system: The instructions, empty for none: the option `system` of versions 5 and 6, `instructions` of version 7,
            which refuses them among the messages.
        messages: The messages: `user`, `assistant` and `tool`, every value one of JSON.
    """

    system: str
    messages: list[dict[str, Any]]


def to_model_messages(
    messages: Sequence[ChatMessage], version: int = 6, *, call_id_prefix: str = "gw-"
) -> ModelMessages:
    """Converts a conversation.

    Neighbouring texts of the assistant are one message, results follow their calls at once, and every call has one:
    where it is missing, one that says so. Thinking becomes reasoning parts, with the provider options that its
    metadata lists; thinking that nothing follows is left out, as are the marks of the host (`cache_control`,
    `stateful_marker`, usage). Bytes are base64; the first bytes of images and files tell their type.

    Args:
        messages: The conversation.
        version: The major version of the package `ai`, one of :data:`VERSIONS`.
        call_id_prefix: What was put before the call ids of this upstream
            (:attr:`partstream.lm.outputs.StreamOptions.call_id_prefix`); taken off again, other ids stay.

    Raises:
        CallerError: There is no such version.
        RequestNotExpressibleError: The arguments of a call hold what JSON has no form for.
    """
    if version not in MESSAGE_FORMS:
        raise CallerError(f"version: got {version!r}, expected one of {', '.join(map(str, VERSIONS))}")
    prepared = prepare(Origin("", ""), messages, RequestOptions(), RequestSettings(), call_id_prefix, RULES)
    reasoning = {
        number: items
        for number, message in enumerate(messages)
        if message.role is Role.ASSISTANT and (items := tuple(_ThinkingItems(message.content).items))
    }
    request = replace(prepared, reasoning=reasoning).request(Carried.ALL_REASONING)
    return ModelMessages(request.instructions, prompt_messages(request.turns, MESSAGE_FORMS[version]))
