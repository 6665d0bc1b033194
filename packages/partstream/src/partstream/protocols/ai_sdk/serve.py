"""Writes a response as chunks, part by part, in the order that all streams of the SDK and its providers share.

The form of the chunks is in :class:`ChunkForms`, one value for each stream and version. Text and reasoning are blocks
with a beginning and an end; a block is open until something else comes. Sources are inside of blocks. Metadata of
thinking parts lists all items of the response so far; the new ones become provider metadata of reasoning blocks and
calls, the opposite of :mod:`partstream.protocols.ai_sdk.provider_state`.
"""

from __future__ import annotations
import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias

from partstream.codec.json_codec import dumps
from partstream.conversation.media import URI_LIST, data_url
from partstream.conversation.provider_state import ITEMS, PLACE
from partstream.errors import AdapterUsageError
from partstream.lm.outputs import Finish, InboundRequest, Reply, StreamOutput, Unmapped
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, Usage, is_mark, row_of_class
from partstream.protocols.ai_sdk.blocks import SIGNING_PROVIDER, data_chunk
from partstream.protocols.ai_sdk.data_stream import write_line
from partstream.protocols.ai_sdk.errors import Chunk, error_text, error_value, identifier, is_summary
from partstream.protocols.ai_sdk.provider_state import PROVIDER, REASONING, SUMMARY, TOOL_CALL, wrap
from partstream.protocols.citations import CITATION_MIME_TYPE, read_citation
from partstream.protocols.serve import ResponseWriterSpec

# ---- Items of the response, as metadata of its blocks and calls ----

_OPTIONS: Final = "providerOptions"
_FIELDS: Final = {
    REASONING: {"type", "text", _OPTIONS},
    SUMMARY: {"type", "text", _OPTIONS},
    TOOL_CALL: {"type", "toolCallId", _OPTIONS},
}
_UNSAYABLE: Final = "gateway"
"""The readers of responses take this key as metadata of the whole response, wherever it is."""


class StateMetadata(NamedTuple):
    """Metadata to write beside the response.

    Attributes:
        kind: `reasoning`: beside the open block, else beside an empty one; `text`: the summary of a compacted
            conversation; `tool-call`: beside the next call.
        said: The metadata, by provider.
        text: The text of its block, or of the summary.
        wrapped: The metadata where the block has another text.
    """

    kind: str
    said: Mapping[str, Any]
    text: str | None = None
    call_id: str | None = None
    wrapped: Mapping[str, Any] = {}
    item: Mapping[str, Any] | None = None


class WrittenItems:
    """The items of one answer, as far as they were listed."""

    def __init__(self) -> None:
        self._listed: list[Any] = []

    def take(self, metadata: Mapping[str, Any]) -> list[StateMetadata]:
        """The new items in the metadata of a thinking part."""
        listed = metadata.get(ITEMS)
        new: list[Any] = []
        if isinstance(listed, list | tuple):
            known = len(self._listed) if list(listed[: len(self._listed)]) == self._listed else 0
            new, self._listed = list(listed[known:]), list(listed)
        items = [
            {name: value for name, value in item.items() if name != PLACE} for item in new if isinstance(item, Mapping)
        ]
        repeated = items[-1] if items else {}
        beside = {
            name: value
            for name, value in metadata.items()
            if name != ITEMS and (name not in repeated or repeated[name] != value)
        }
        if not items:
            return [StateMetadata(REASONING, wrap(None, beside))]
        return [_brought(item, beside) for item in items]


def take_for_call(waiting: list[StateMetadata], call_id: str) -> StateMetadata | None:
    """Removes and returns the state for a call: by its id, else the oldest, because ids may have changed."""
    named = (brought for brought in waiting if brought.call_id == call_id)
    brought = next(named, waiting[0] if waiting else None)
    if brought is not None:
        waiting.remove(brought)
    return brought


def _brought(item: Mapping[str, Any], beside: Mapping[str, Any]) -> StateMetadata:
    kind, wrapped = item.get("type"), wrap(item, beside)
    options: Any = item.get(_OPTIONS)
    # Whether the options are provider metadata that a reader returns unchanged.
    is_own = (
        isinstance(options, Mapping)
        and bool(options)
        and _UNSAYABLE not in options
        and all(isinstance(said, Mapping) and said for said in options.values())
    )
    if kind not in _FIELDS or item.keys() != _FIELDS[kind] or not is_own or (beside and PROVIDER in options):
        return StateMetadata(TOOL_CALL if kind == TOOL_CALL else REASONING, wrapped, item=item)
    said = {**options, **wrap(None, beside)}
    if kind == TOOL_CALL:
        return StateMetadata(kind, said, call_id=item["toolCallId"], item=item)
    if kind == SUMMARY and not is_summary(options):
        return StateMetadata(REASONING, wrapped, item=item)
    return StateMetadata(kind, said, text=item["text"], wrapped=wrapped, item=item)


# ---- Sources, from every protocol ----


def source_chunk(part: DataPart) -> Chunk | None:
    """The chunk that names a source, or None for a part that names none.

    A document must have a title and a media type. No version has a place for the span on the source itself, so it
    is metadata of the provider `partstream`.
    """
    citation = read_citation(part)
    if citation is None:
        return None
    url, title, source_id = citation.url, citation.title, citation.source_id or citation.url
    known: Chunk = {"type": "source", "sourceType": "url", "id": source_id, "url": url, "title": title}
    if url is None:
        filename = citation.filename
        known |= {"sourceType": "document", "title": title or filename or source_id, "filename": filename}
        known["mediaType"] = citation.media_type or "application/octet-stream"
    said = {"startIndex": citation.start, "endIndex": citation.end, "citedText": citation.cited_text}
    span = {name: value for name, value in said.items() if value is not None}
    known["providerMetadata"] = {PROVIDER: span} if span else None
    return {name: value for name, value in known.items() if value is not None}


# ---- The response ----

Metadata: TypeAlias = Mapping[str, Any]
"""Provider metadata of a chunk, by the provider's name; empty for none."""

TEXT: Final = "text"

UNNAMED: Final = "reasoning"
"""The id of a block of reasoning that has none of its own."""


@dataclass(frozen=True, slots=True)
class ChunkForms:
    """The chunks of one stream in one version; every function gives the chunks of one step.

    Attributes:
        open: A block opens: its kind (`text`, `reasoning`) and its id.
        delta: A piece of a block: its kind, its id and the piece.
        close: A block ends: its kind, its id, its metadata, and the spans of its sources, as version 4 of the
            provider's interface has them.
        summary: The summary of a compacted conversation: its id, its text and its metadata.
        call: A tool call: the part, its arguments as JSON text in pieces, and its metadata.
    """

    start: Callable[[InboundRequest, Reply], list[Chunk]]
    open: Callable[[str, str], list[Chunk]]
    delta: Callable[[str, str, str], list[Chunk]]
    close: Callable[[str, str, Metadata, Sequence[Chunk]], list[Chunk]]
    summary: Callable[[str, str, Metadata], list[Chunk]]
    call: Callable[[ToolCallPart, Sequence[str], Metadata], list[Chunk]]
    source: Callable[[Chunk], list[Chunk]]
    file: Callable[[DataPart], list[Chunk]]
    end: Callable[[Finish], list[Chunk]]


class ChunkWriter:
    """One answer; see :class:`partstream.protocols.serve.ResponseWriter`."""

    def __init__(self, forms: ChunkForms, asked: InboundRequest, reply: Reply) -> None:
        self._forms = forms
        self._asked = asked
        self._reply = reply
        self._started = False
        self._finished = False
        self._items = WrittenItems()
        self._of_calls: list[StateMetadata] = []
        self._block: tuple[str, str] | None = None
        self._pieces: list[str] = []
        self._cited: list[Chunk] = []
        self._texts = 0

    def write(self, output: StreamOutput) -> list[Chunk]:
        """Takes the next output and returns its chunks.

        Raises:
            AdapterUsageError: The Finish was written before.
        """
        if self._finished:
            raise AdapterUsageError(f"got {type(output).__name__} after the Finish, expected nothing more")
        chunks = [] if self._started else self._forms.start(self._asked, self._reply)
        self._started = True
        row_of_class(_WRITERS, output)(self, output, chunks)
        return chunks

    def _text(self, part: TextPart, chunks: list[Chunk]) -> None:
        if part.value:
            if self._block is None or self._block[0] != TEXT:
                self._texts += 1
                self._enter(TEXT, str(self._texts), chunks)
            self._say(part.value, chunks)

    def _thinking(self, part: ThinkingPart, chunks: list[Chunk]) -> None:
        # A part with metadata alone and without an id belongs to the thought before it.
        block_id = part.id or (None if part.value else self._thought) or UNNAMED
        if part.value:
            self._enter(REASONING, block_id, chunks)
            self._say(part.value, chunks)
        if part.metadata is not None:
            for brought in self._items.take(part.metadata):
                self._bring(brought, block_id, chunks)

    @property
    def _thought(self) -> str | None:
        """The id of the block of reasoning that is open, or None."""
        return self._block[1] if self._block is not None and self._block[0] == REASONING else None

    def _bring(self, brought: StateMetadata, block_id: str, chunks: list[Chunk]) -> None:
        if brought.kind == TOOL_CALL:
            self._of_calls.append(brought)
            return
        if brought.kind == SUMMARY:
            self._leave(chunks)
            self._texts += 1
            chunks += self._forms.summary(str(self._texts), brought.text or "", brought.said)
            return
        is_open = self._thought == block_id
        fits = brought.text is None or brought.text == ("".join(self._pieces) if is_open else "")
        said = brought.said if fits else brought.wrapped
        if is_open or said:
            self._enter(REASONING, block_id, chunks)
            self._leave(chunks, said)

    def _call(self, part: ToolCallPart, chunks: list[Chunk]) -> None:
        self._leave(chunks)
        arguments = dumps(part.input).decode()
        size = self._reply.argument_size or len(arguments)
        pieces = [arguments[start : start + size] for start in range(0, len(arguments), size)]
        brought = take_for_call(self._of_calls, part.call_id)
        chunks += self._forms.call(part, pieces, {} if brought is None else brought.said)

    def _data(self, part: DataPart, chunks: list[Chunk]) -> None:
        """Writes a source or a file; marks of the host are left out."""
        if part.mime_type == CITATION_MIME_TYPE:
            source = source_chunk(part)
            if source is not None:
                chunks += self._forms.source(source)
                span = source.get("providerMetadata", {}).get(PROVIDER)
                if span is not None and self._block is not None and self._block[0] == TEXT:
                    bare = {name: value for name, value in source.items() if name != "providerMetadata"}
                    self._cited.append({"source": bare, **span})
        elif not is_mark(part.mime_type):
            self._leave(chunks)
            chunks += self._forms.file(part)

    def _finish(self, finish: Finish, chunks: list[Chunk]) -> None:
        self._leave(chunks)
        chunks += self._forms.end(finish)
        self._finished = True

    def _enter(self, kind: str, block_id: str, chunks: list[Chunk]) -> None:
        if self._block != (kind, block_id):
            self._leave(chunks)
            self._block = kind, block_id
            chunks += self._forms.open(kind, block_id)

    def _say(self, piece: str, chunks: list[Chunk]) -> None:
        if self._block is not None:
            if self._block[0] == REASONING:
                self._pieces.append(piece)
            chunks += self._forms.delta(*self._block, piece)

    def _leave(self, chunks: list[Chunk], said: Metadata = {}) -> None:  # noqa: B006 - never changed
        """Closes the block that is open."""
        if self._block is not None:
            chunks += self._forms.close(*self._block, said, self._cited)
        self._block, self._pieces, self._cited = None, [], []


_WRITERS: Final[dict[type[Any], Callable[[ChunkWriter, Any, list[Chunk]], None]]] = {
    TextPart: ChunkWriter._text,
    ThinkingPart: ChunkWriter._thinking,
    ToolCallPart: ChunkWriter._call,
    DataPart: ChunkWriter._data,
    Unmapped: lambda _writer, _output, _chunks: None,
    Finish: ChunkWriter._finish,
}
"""The writer of each output; an event without a part has no place here either."""


# ---- Chunks of several streams ----


def start_block(kind: str, block_id: str) -> list[Chunk]:
    """A block opens: since version 5."""
    return [{"type": f"{kind}-start", "id": block_id}]


def delta(name: str, kind: str, block_id: str, piece: str) -> list[Chunk]:
    """A piece of a block, in the field of that name."""
    return [{"type": f"{kind}-delta", "id": block_id, name: piece}]


def whole_text(name: str, block_id: str, text: str, said: Metadata) -> list[Chunk]:
    """A text at once, with its metadata at the beginning."""
    start = {"type": "text-start", "id": block_id, **beside(said)}
    return [start, *delta(name, "text", block_id, text), {"type": "text-end", "id": block_id}]


def end_block(kind: str, block_id: str, said: Metadata, _cited: Sequence[Chunk] = ()) -> list[Chunk]:
    """A block ends, with its metadata."""
    return [{"type": f"{kind}-end", "id": block_id, **beside(said)}]


def streamed_input(part: ToolCallPart, pieces: Sequence[str]) -> list[Chunk]:
    """The input of a call as it streams; the call itself follows."""
    return [
        {"type": "tool-input-start", "id": part.call_id, "toolName": part.name},
        *({"type": "tool-input-delta", "id": part.call_id, "delta": piece} for piece in pieces),
        {"type": "tool-input-end", "id": part.call_id},
    ]


def beside(said: Metadata) -> Chunk:
    """The field for provider metadata; none without metadata."""
    return {"providerMetadata": dict(said)} if said else {}


def warnings(asked: InboundRequest) -> list[Chunk]:
    """The parts of a request that have no place; the provider never sees them."""
    missed = (place for place in asked.unmapped if place != "headers")  # which version 5 sends in every body
    return [{"type": "other", "message": f"{place}: has no place and was left out"} for place in missed]


def written_usage(usage: Usage) -> Chunk:
    """Usage in the form of `streamText` since version 6, with the names of version 5; unknown numbers are left out."""
    cached, written, reasoned = usage.cached_tokens, usage.cache_write_tokens, usage.reasoning_tokens
    return known(
        inputTokens=usage.input_tokens,
        inputTokenDetails=known(
            noCacheTokens=rest_of(usage.input_tokens, cached, written),
            cacheReadTokens=cached,
            cacheWriteTokens=written,
        ),
        outputTokens=usage.output_tokens,
        outputTokenDetails=known(textTokens=rest_of(usage.output_tokens, reasoned), reasoningTokens=reasoned),
        totalTokens=usage.total_tokens,
        reasoningTokens=reasoned,
        cachedInputTokens=cached,
    )


def rest_of(total: int | None, *parts: int | None) -> int | None:
    """The rest of a total; unknown if the total or all its parts are unknown."""
    given = [part for part in parts if part is not None]
    return None if total is None or not given else max(total - sum(given), 0)


def known(**fields: object) -> Chunk:
    """The fields that have a value: JSON has no undefined."""
    return {name: value for name, value in fields.items() if value is not None}


def _spec(forms: ChunkForms, frame: Callable[[Chunk], bytes], **others: Any) -> ResponseWriterSpec:
    return ResponseWriterSpec(
        open=partial(ChunkWriter, forms),
        frame=frame,
        document=_no_document,
        error=lambda _status, message: {"error": {"message": message}},  # the SDK has no form of its own for it
        **others,
    )


def _no_document(_chunks: Sequence[Chunk]) -> NoReturn:
    raise AdapterUsageError("a stream of the AI SDK has no document in its place")


def _base64(part: DataPart) -> str:
    return b64encode(part.data).decode()


# ---- The data stream of version 4: lines of a code and a JSON value ----
# It names and closes no block, and of provider metadata it has a place only for the signatures of Anthropic's models.


def _close(_kind: str, _block_id: str, said: Metadata, _cited: Sequence[Chunk]) -> list[Chunk]:
    own = dict(said.get(SIGNING_PROVIDER, {}))
    signature, data = identifier(own, ("signature",)), identifier(own, ("redactedData",))
    if data is not None:
        return [{"type": "redacted-reasoning", "data": data}]
    return [] if signature is None else [{"type": "reasoning-signature", "signature": signature}]


def _call(part: ToolCallPart, pieces: Sequence[str], _said: Metadata) -> list[Chunk]:
    call = {"toolCallId": part.call_id, "toolName": part.name}
    return [
        {"type": "tool-call-streaming-start", **call},
        *({"type": "tool-call-delta", "toolCallId": part.call_id, "argsTextDelta": piece} for piece in pieces),
        {"type": "tool-call", **call, "args": part.input},
    ]


def _end(finish: Finish) -> list[Chunk]:
    usage = finish.usage or Usage()
    end = {
        "finishReason": "unknown" if finish.reason is None else finish.reason.unified.value,
        "usage": {"promptTokens": usage.input_tokens, "completionTokens": usage.output_tokens},
    }
    failed = [] if finish.error is None else [{"type": "error", "error": error_text(finish.error)}]
    return [*failed, {"type": "step-finish", **end, "isContinued": False}, {"type": "finish", **end}]


_DATA_STREAM_FORMS: Final = ChunkForms(
    start=lambda _asked, reply: [{"type": "step-start", "messageId": f"msg-{reply.identity}"}],
    open=lambda _kind, _block_id: [],
    delta=lambda kind, _id, piece: [{"type": kind if kind == REASONING else "text-delta", "textDelta": piece}],
    close=_close,
    summary=lambda _block_id, _text, _said: [],
    call=_call,
    source=lambda source: [{"type": "source", "source": {name: source[name] for name in source if name != "type"}}],
    file=lambda part: [{"type": "file", "data": _base64(part), "mimeType": part.mime_type}],
    end=_end,
)

WRITE_DATA_STREAM: Final = _spec(_DATA_STREAM_FORMS, write_line, content_type="text/plain; charset=utf-8")


# ---- `fullStream` of `streamText` as version 6 has it: lines of JSON ----


def _full_stream_call(part: ToolCallPart, pieces: Sequence[str], said: Metadata) -> list[Chunk]:
    call = {"type": "tool-call", "toolCallId": part.call_id, "toolName": part.name, "input": part.input}
    return [*streamed_input(part, pieces), {**call, **beside(said)}]


def _full_stream_end(finish: Finish) -> list[Chunk]:
    reason = finish.reason
    reasons = known(finishReason=reason and reason.unified.value, rawFinishReason=reason and reason.raw)
    usage = written_usage(finish.usage or Usage())
    response = known(id=finish.response_id, modelId=finish.model)
    failed = [] if finish.error is None else [{"type": "error", "error": error_value(finish.error)}]
    step = {"type": "finish-step", **reasons, "usage": usage, "response": response}
    return [*failed, {**step, **beside(finish.provider_metadata)}, {"type": "finish", **reasons, "totalUsage": usage}]


_FULL_STREAM_FORMS: Final = ChunkForms(
    start=lambda asked, _reply: [{"type": "start"}, {"type": "start-step", "request": {}, "warnings": warnings(asked)}],
    open=start_block,
    delta=partial(delta, "text"),
    close=end_block,
    summary=partial(whole_text, "text"),
    call=_full_stream_call,
    source=lambda source: [source],
    file=lambda part: [{"type": "file", "file": {"base64": _base64(part), "mediaType": part.mime_type}}],
    end=_full_stream_end,
)

WRITE_FULL_STREAM: Final = _spec(
    _FULL_STREAM_FORMS, lambda chunk: dumps(chunk) + b"\n", content_type="application/x-ndjson"
)


# ---- The UI message stream of versions 5 to 7: server-sent events ----
# Version 6.0.50 refuses fields that it does not know, so only documented ones are written. Usage is in
# `messageMetadata`, the one place for facts of an application.

_ADDRESS: Final = re.compile(rb"https?://[\x21-\x7e]+")


def _ui_stream_call(part: ToolCallPart, pieces: Sequence[str], said: Metadata) -> list[Chunk]:
    call = {"toolCallId": part.call_id, "toolName": part.name}
    return [
        {"type": "tool-input-start", **call},
        *({"type": "tool-input-delta", "toolCallId": part.call_id, "inputTextDelta": piece} for piece in pieces),
        {"type": "tool-input-available", **call, "input": part.input, **beside(said)},
    ]


def _ui_stream_source(source: Chunk) -> list[Chunk]:
    kind = {"url": "source-url", "document": "source-document"}[source["sourceType"]]
    others = {name: value for name, value in source.items() if name not in {"type", "sourceType", "id"}}
    return [{"type": kind, "sourceId": source["id"], **others}]


def _ui_stream_file(part: DataPart) -> list[Chunk]:
    """A file, or the `data-NAME` chunk that a part of that media type came from."""
    if (data := data_chunk(part)) is not None:
        return [data]
    if part.mime_type == URI_LIST and _ADDRESS.fullmatch(part.data):
        return [{"type": "file", "url": part.data.decode(), "mediaType": part.mime_type}]
    media_type = part.mime_type.partition(";")[0]
    return [{"type": "file", "url": data_url(part.data, media_type), "mediaType": part.mime_type}]


def _ui_stream_end(finish: Finish) -> list[Chunk]:
    failed = [] if finish.error is None else [{"type": "error", "errorText": error_text(finish.error)}]
    usage = None if finish.usage is None else {"totalUsage": written_usage(finish.usage)}
    said = known(finishReason=finish.reason and finish.reason.unified.value, messageMetadata=usage)
    return [*failed, {"type": "finish-step"}, {"type": "finish", **said}]


_UI_STREAM_FORMS: Final = ChunkForms(
    start=lambda _asked, _reply: [{"type": "start"}, {"type": "start-step"}],
    open=start_block,
    delta=partial(delta, "delta"),
    close=end_block,
    summary=partial(whole_text, "delta"),
    call=_ui_stream_call,
    source=_ui_stream_source,
    file=_ui_stream_file,
    end=_ui_stream_end,
)

WRITE_UI_STREAM: Final = _spec(
    _UI_STREAM_FORMS, lambda chunk: b"data: " + dumps(chunk) + b"\n\n", end_of_stream=b"data: [DONE]\n\n"
)
