"""Writes a response as chunks, part by part, in the order that all streams of the SDK and its providers share.

The form of the chunks is that of each subclass of :class:`ChunkWriter`. Text and reasoning are blocks with a beginning
and an end; a block is open until something else comes. Sources are inside of blocks. Metadata of
thinking parts lists all items of the response so far; the new ones become provider metadata of reasoning blocks and
calls, the opposite of :mod:`partstream.protocols.ai_sdk.provider_state`.
"""

from __future__ import annotations
import re
from abc import abstractmethod
from base64 import b64encode
from collections.abc import Container, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias

from partstream.codec.json_codec import dumps
from partstream.conversation.citations import CITATION_MIME_TYPE, read_citation
from partstream.conversation.media import data_url, is_address
from partstream.conversation.provider_state import ITEMS, PLACE
from partstream.errors import AdapterUsageError
from partstream.lm.outputs import AllBut, Facts, Finish, InboundRequest, Reply, StreamOutput
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, Usage, is_mark
from partstream.protocols.ai_sdk import write_line
from partstream.protocols.ai_sdk.blocks import SIGNING_PROVIDER, data_chunk
from partstream.protocols.ai_sdk.errors import Chunk, error_value, identifier, is_summary
from partstream.protocols.ai_sdk.provider_state import GATEWAY, PROVIDER, REASONING, SUMMARY, TOOL_CALL, wrap
from partstream.protocols.failures import sentence_of
from partstream.protocols.serve import ResponseWriter, pieces_of_arguments

# ---- Items of the response, as metadata of its blocks and calls ----

_OPTIONS: Final = "providerOptions"
_FIELDS: Final = {
    REASONING: {"type", "text", _OPTIONS},
    SUMMARY: {"type", "text", _OPTIONS},
    TOOL_CALL: {"type", "toolCallId", _OPTIONS},
}


class StateMetadata(NamedTuple):
    """Metadata to write beside the response.

    Attributes:
        kind: `reasoning`: beside the open block, else beside an empty one; `text`: the summary of a compacted
            conversation; `tool-call`: beside the next call.
        text: The text of its block, or of the summary.
        wrapped: The metadata where the block has another text.
    """

    kind: str
    said: Mapping[str, Any]
    text: str | None = None
    call_id: str | None = None
    wrapped: Mapping[str, Any] = {}


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
        and GATEWAY not in options
        and all(isinstance(said, Mapping) and said for said in options.values())
    )
    if kind not in _FIELDS or item.keys() != _FIELDS[kind] or not is_own or (beside and PROVIDER in options):
        return StateMetadata(TOOL_CALL if kind == TOOL_CALL else REASONING, wrapped)
    said = {**options, **wrap(None, beside)}
    if kind == TOOL_CALL:
        return StateMetadata(kind, said, call_id=item["toolCallId"])
    if kind == SUMMARY and not is_summary(options):
        return StateMetadata(REASONING, wrapped)
    return StateMetadata(kind, said, text=item["text"], wrapped=wrapped)


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


class ChunkWriter(ResponseWriter):
    """One answer; a subclass for each stream, with the chunks that it has in another form than most since version 5.

    Attributes:
        piece_field: The field of a delta for its piece.
        input_is_text: Whether the arguments of a whole call are JSON text.
    """

    says: Container[str] = AllBut(
        {"logprobs", "logprobs.bytes", "explanation", "citation.filename", "citation.mediaType"}
    )
    piece_field: ClassVar[str] = "delta"
    input_is_text: ClassVar[bool] = False

    def __init__(self, asked: InboundRequest, reply: Reply) -> None:
        super().__init__(asked, reply)
        self._items = WrittenItems()
        self._of_calls: list[StateMetadata] = []
        self._block: tuple[str, str] | None = None
        self._pieces: list[str] = []
        self._cited: list[Chunk] = []
        self._texts = 0

    @staticmethod
    def document(_events: Sequence[Chunk]) -> tuple[int, Chunk]:
        """A stream of the SDK has no document in its place."""
        raise AdapterUsageError("a stream of the AI SDK has no document in its place")

    @staticmethod
    def error(_status: int, message: str) -> Chunk:
        """The JSON object of an HTTP error; the SDK has no form of its own for it."""
        return {"error": {"message": message}}

    # The chunks of one step each

    def _begin(self, _output: StreamOutput) -> list[Chunk]:
        return [{"type": "start"}, {"type": "start-step"}]

    def open_chunks(self, kind: str, block_id: str) -> list[Chunk]:
        """A block opens; its kind is `text` or `reasoning`."""
        return [{"type": f"{kind}-start", "id": block_id}]

    def delta_chunks(self, kind: str, block_id: str, piece: str) -> list[Chunk]:
        """A piece of a block."""
        return [{"type": f"{kind}-delta", "id": block_id, self.piece_field: piece}]

    def close_chunks(self, kind: str, block_id: str, said: Metadata, _cited: Sequence[Chunk]) -> list[Chunk]:
        """A block ends, with its metadata and the spans of its sources."""
        return [{"type": f"{kind}-end", "id": block_id, **beside(said)}]

    def summary_chunks(self, block_id: str, text: str, said: Metadata) -> list[Chunk]:
        """The summary of a compacted conversation, with its metadata."""
        start = {"type": "text-start", "id": block_id, **beside(said)}
        return [start, *self.delta_chunks(TEXT, block_id, text), {"type": "text-end", "id": block_id}]

    def call_chunks(self, part: ToolCallPart, pieces: Sequence[str], said: Metadata) -> list[Chunk]:
        """A tool call: its arguments as JSON text in pieces, then the call with its metadata."""
        return [
            {"type": "tool-input-start", "id": part.call_id, "toolName": part.name},
            *({"type": "tool-input-delta", "id": part.call_id, "delta": piece} for piece in pieces),
            {"type": "tool-input-end", "id": part.call_id},
            {
                "type": "tool-call",
                "toolCallId": part.call_id,
                "toolName": part.name,
                "input": "".join(pieces) if self.input_is_text else part.input,
                **beside(said),
            },
        ]

    def source_chunks(self, source: Chunk) -> list[Chunk]:
        """A source."""
        return [source]

    @abstractmethod
    def file_chunks(self, part: DataPart) -> list[Chunk]:
        """A file."""

    @abstractmethod
    def end_chunks(self, finish: Finish) -> list[Chunk]:
        """The end of the answer."""

    # The answer

    def _text(self, part: TextPart) -> None:
        if part.value:
            if self._block is None or self._block[0] != TEXT:
                self._texts += 1
                self._enter(TEXT, str(self._texts))
            self._say(part.value)

    def _thinking(self, part: ThinkingPart) -> None:
        # A part with metadata alone and without an id belongs to the thought before it.
        block_id = part.id or (None if part.value else self._thought) or UNNAMED
        if part.value:
            self._enter(REASONING, block_id)
            self._say(part.value)
        if part.metadata is not None:
            for brought in self._items.take(part.metadata):
                self._bring(brought, block_id)

    @property
    def _thought(self) -> str | None:
        """The id of the block of reasoning that is open, or None."""
        return self._block[1] if self._block is not None and self._block[0] == REASONING else None

    def _bring(self, brought: StateMetadata, block_id: str) -> None:
        if brought.kind == TOOL_CALL:
            self._of_calls.append(brought)
            return
        if brought.kind == SUMMARY:
            self._leave()
            self._texts += 1
            self._kept += self.summary_chunks(str(self._texts), brought.text or "", brought.said)
            return
        is_open = self._thought == block_id
        fits = brought.text is None or brought.text == ("".join(self._pieces) if is_open else "")
        said = brought.said if fits else brought.wrapped
        if is_open or said:
            self._enter(REASONING, block_id)
            self._leave(said)

    def _call(self, part: ToolCallPart) -> None:
        self._leave()
        brought = take_for_call(self._of_calls, part.call_id)
        pieces = pieces_of_arguments(part, self._reply.argument_size)
        self._kept += self.call_chunks(part, pieces, {} if brought is None else brought.said)

    def _data(self, part: DataPart) -> None:
        """Writes a source or a file; marks of the host are left out."""
        if part.mime_type == CITATION_MIME_TYPE:
            source = source_chunk(part)
            if source is not None:
                self._kept += self.source_chunks(source)
                span = source.get("providerMetadata", {}).get(PROVIDER)
                if span is not None and self._block is not None and self._block[0] == TEXT:
                    bare = {name: value for name, value in source.items() if name != "providerMetadata"}
                    self._cited.append({"source": bare, **span})
        elif not is_mark(part.mime_type):
            self._leave()
            self._kept += self.file_chunks(part)

    def _finish(self, finish: Finish) -> None:
        self._leave()
        self._kept += self.end_chunks(finish)

    def _enter(self, kind: str, block_id: str) -> None:
        if self._block != (kind, block_id):
            self._leave()
            self._block = kind, block_id
            self._kept += self.open_chunks(kind, block_id)

    def _say(self, piece: str) -> None:
        if self._block is not None:
            if self._block[0] == REASONING:
                self._pieces.append(piece)
            self._kept += self.delta_chunks(*self._block, piece)

    def _leave(self, said: Metadata = {}) -> None:  # noqa: B006 - never changed
        if self._block is not None:
            self._kept += self.close_chunks(*self._block, said, self._cited)
        self._block, self._pieces, self._cited = None, [], []


# ---- Fields of several streams ----


def beside(said: Metadata) -> Chunk:
    """The field for provider metadata; none without metadata."""
    return {"providerMetadata": dict(said)} if said else {}


def warnings(asked: InboundRequest) -> list[Chunk]:
    """The parts of a request that have no place; the provider never sees them."""
    missed = (place for place in asked.unmapped if place != "headers")  # which version 5 sends in every body
    said = islice(missed, _MOST_WARNINGS)
    return [{"type": "other", "message": f"{place}: has no place and was left out"} for place in said]


_MOST_WARNINGS: Final = 100
"""The most places that are named; a body may have as many as it has values."""


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


# ---- The streams ----


_SAID: Final = Facts.MOST - {"logprobs"} | {"usage.half"} | Facts.PLACES | Facts.FILES | Facts.SOURCES


class DataStreamWriter(ChunkWriter):
    """The data stream of version 4: lines of a code and a JSON value.

    It names and closes no block, and of provider metadata it has a place only for the signatures of Anthropic's models.
    """

    content_type = "text/plain; charset=utf-8"
    frame = staticmethod(write_line)
    says = _SAID - {*Facts.COUNTS[2:]}

    def _begin(self, _output: StreamOutput) -> list[Chunk]:
        return [{"type": "step-start", "messageId": f"msg-{self._reply.identity}"}]

    def open_chunks(self, _kind: str, _block_id: str) -> list[Chunk]:  # noqa: D102
        return []

    def delta_chunks(self, kind: str, _block_id: str, piece: str) -> list[Chunk]:  # noqa: D102
        return [{"type": kind if kind == REASONING else "text-delta", "textDelta": piece}]

    def close_chunks(self, _kind: str, _block_id: str, said: Metadata, _cited: Sequence[Chunk]) -> list[Chunk]:  # noqa: D102
        own = dict(said.get(SIGNING_PROVIDER, {}))
        self.dropped |= {"thinking.state": None} if said.keys() - {SIGNING_PROVIDER} else {}
        signature, data = identifier(own, ("signature",)), identifier(own, ("redactedData",))
        if data is not None:
            return [{"type": "redacted-reasoning", "data": data}]
        return [] if signature is None else [{"type": "reasoning-signature", "signature": signature}]

    def summary_chunks(self, _block_id: str, _text: str, _said: Metadata) -> list[Chunk]:  # noqa: D102
        self.dropped["thinking.state"] = None
        return []

    def call_chunks(self, part: ToolCallPart, pieces: Sequence[str], _said: Metadata) -> list[Chunk]:  # noqa: D102
        call = {"toolCallId": part.call_id, "toolName": part.name}
        return [
            {"type": "tool-call-streaming-start", **call},
            *({"type": "tool-call-delta", "toolCallId": part.call_id, "argsTextDelta": piece} for piece in pieces),
            {"type": "tool-call", **call, "args": part.input},
        ]

    def source_chunks(self, source: Chunk) -> list[Chunk]:  # noqa: D102
        return [{"type": "source", "source": {name: source[name] for name in source if name != "type"}}]

    def file_chunks(self, part: DataPart) -> list[Chunk]:  # noqa: D102
        return [{"type": "file", "data": b64encode(part.data).decode(), "mimeType": part.mime_type}]

    def end_chunks(self, finish: Finish) -> list[Chunk]:  # noqa: D102
        usage = finish.usage or Usage()
        end = {
            "finishReason": "unknown" if finish.reason is None else finish.reason.unified.value,
            "usage": {"promptTokens": usage.input_tokens, "completionTokens": usage.output_tokens},
        }
        failed = [] if finish.error is None else [{"type": "error", "error": sentence_of(finish.error)}]
        return [*failed, {"type": "step-finish", **end, "isContinued": False}, {"type": "finish", **end}]


class FullStreamWriter(ChunkWriter):
    """`fullStream` of `streamText` as version 6 has it: lines of JSON."""

    content_type = "application/x-ndjson"
    piece_field = "text"

    @staticmethod
    def frame(event: Chunk) -> bytes:  # noqa: D102
        return dumps(event) + b"\n"

    def _begin(self, _output: StreamOutput) -> list[Chunk]:
        return [{"type": "start"}, {"type": "start-step", "request": {}, "warnings": warnings(self._asked)}]

    def file_chunks(self, part: DataPart) -> list[Chunk]:  # noqa: D102
        return [{"type": "file", "file": {"base64": b64encode(part.data).decode(), "mediaType": part.mime_type}}]

    def end_chunks(self, finish: Finish) -> list[Chunk]:  # noqa: D102
        reason = finish.reason
        reasons = known(finishReason=reason and reason.unified.value, rawFinishReason=reason and reason.raw)
        usage = written_usage(finish.usage or Usage())
        response = known(id=finish.response_id, modelId=finish.model)
        failed = [] if finish.error is None else [{"type": "error", "error": error_value(finish.error)}]
        step = {"type": "finish-step", **reasons, "usage": usage, "response": response}
        return [
            *failed,
            {**step, **beside(finish.provider_metadata)},
            {"type": "finish", **reasons, "totalUsage": usage},
        ]


class UIStreamWriter(ChunkWriter):
    """The UI message stream of versions 5 to 7: server-sent events.

    Version 6.0.50 refuses fields that it does not know, so only documented ones are written. Usage is in
    `messageMetadata`, the one place for facts of an application.
    """

    end_of_stream = b"data: [DONE]\n\n"
    says = _SAID

    def call_chunks(self, part: ToolCallPart, pieces: Sequence[str], said: Metadata) -> list[Chunk]:  # noqa: D102
        call = {"toolCallId": part.call_id, "toolName": part.name}
        return [
            {"type": "tool-input-start", **call},
            *({"type": "tool-input-delta", "toolCallId": part.call_id, "inputTextDelta": piece} for piece in pieces),
            {"type": "tool-input-available", **call, "input": part.input, **beside(said)},
        ]

    def source_chunks(self, source: Chunk) -> list[Chunk]:  # noqa: D102
        others = {name: value for name, value in source.items() if name not in {"type", "sourceType", "id"}}
        return [{"type": f"source-{source['sourceType']}", "sourceId": source["id"], **others}]

    def file_chunks(self, part: DataPart) -> list[Chunk]:
        """A file, or the `data-NAME` chunk that a part of that media type came from."""
        if (data := data_chunk(part)) is not None:
            return [data]
        is_named = is_address(part) and _ADDRESS.fullmatch(part.data)
        url = part.data.decode() if is_named else data_url(part.data, part.mime_type.partition(";")[0])
        return [{"type": "file", "url": url, "mediaType": part.mime_type}]

    def end_chunks(self, finish: Finish) -> list[Chunk]:  # noqa: D102
        failed = [] if finish.error is None else [{"type": "error", "errorText": sentence_of(finish.error)}]
        usage = None if finish.usage is None else {"totalUsage": written_usage(finish.usage)}
        said = known(finishReason=finish.reason and finish.reason.unified.value, messageMetadata=usage)
        return [*failed, {"type": "finish-step"}, {"type": "finish", **said}]


_ADDRESS: Final = re.compile(rb"https?://[\x21-\x7e]+")
