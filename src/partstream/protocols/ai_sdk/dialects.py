"""The four streams of the AI SDK: their differences, and the chunks by which recordings of them are recognized."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.ai_sdk.read_response import CHUNKS, FREQUENT, THROWN, AISDKStream, Dialect
from partstream.protocols.protocol import MatchConfidence, ResponseReaderSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.protocols.ai_sdk.fields import Chunk

__all__ = ["DATA_STREAM", "FULL_STREAM", "PROVIDER_STREAM", "UI_STREAM"]


def _claims_full_stream(kind: str | None, chunk: Chunk) -> MatchConfidence:
    """Whether a chunk is of `fullStream`."""
    if THROWN in chunk:
        return MatchConfidence.SURE
    return _claim(kind, chunk, _FULL_STREAM, _NOT_FULL_STREAM)


def _claims_ui_stream(kind: str | None, chunk: Chunk) -> MatchConfidence:
    """Whether a chunk is of the UI message stream."""
    if kind is not None and kind.startswith("data-"):
        return MatchConfidence.SURE
    return _claim(kind, chunk, _UI_STREAM, _NOT_UI_STREAM)


def _claims_data_stream(kind: str | None, _chunk: Chunk) -> MatchConfidence:
    """Whether a chunk is of the data stream: its framing has told already."""
    return MatchConfidence.SURE if kind in CHUNKS or kind in _CODES_WITHOUT_CHUNKS else MatchConfidence.POSSIBLE


def _claims_provider_stream(kind: str | None, chunk: Chunk) -> MatchConfidence:
    """Whether a chunk is of a provider's stream."""
    return _claim(kind, chunk, _PROVIDER_STREAM, _NOT_PROVIDER_STREAM)


def _claim(kind: str | None, chunk: Chunk, sure: _Signs, never: _Signs) -> MatchConfidence:
    if kind is None:
        return MatchConfidence.NO
    if kind in sure and sure[kind](chunk):
        return MatchConfidence.SURE
    if kind not in CHUNKS or (kind in never and never[kind](chunk)):
        return MatchConfidence.NO
    return MatchConfidence.POSSIBLE


if TYPE_CHECKING:
    _Signs = dict[str, Callable[[Chunk], bool]]


def _always(_chunk: Chunk) -> bool:
    return True


def _has(*names: str) -> Callable[[Chunk], bool]:
    return lambda chunk: any(name in chunk for name in names)


def _holds(name: str, kind: type) -> Callable[[Chunk], bool]:
    return lambda chunk: isinstance(chunk.get(name), kind)


def _of_the_sdk(chunk: Chunk) -> bool:
    """Whether an error is an Error of JavaScript, as the tagged form and plain JSON write it."""
    error: Any = chunk.get("error")
    return isinstance(error, str) or (
        isinstance(error, dict) and ("$error" in error or str(error.get("name", "")).startswith("AI_"))
    )


def _of_a_provider(chunk: Chunk) -> bool:
    """Whether an end is a provider's: its tokens are under `usage`, and it stands for no step."""
    usage = chunk.get("usage")
    return isinstance(chunk.get("finishReason"), dict) or (isinstance(usage, dict) and "promptTokens" not in usage)


_FULL_STREAM: Final[_Signs] = {
    "start-step": _has("request", "warnings"),
    "step-start": _always,
    "finish-step": _has("usage", "response"),
    "step-finish": _always,
    "text-delta": _has("text", "textDelta"),
    "text": _has("text"),
    "reasoning-delta": _has("text"),
    "reasoning": _has("textDelta"),
    "reasoning-signature": _always,
    "redacted-reasoning": _always,
    "tool-call-streaming-start": _always,
    "tool-call-delta": _always,
    "tool-call": lambda chunk: "args" in chunk or ("input" in chunk and not isinstance(chunk["input"], str)),
    "tool-error": _always,
    "tool-result": _has("output", "args"),
    "file": _has("file"),
    "finish": lambda chunk: "totalUsage" in chunk or ("usage" in chunk and not _of_a_provider(chunk)),
    "error": lambda chunk: _of_the_sdk(chunk) and not isinstance(chunk.get("error"), str),
    "steering-message": _has("message"),
}
"""Chunks that only this stream has, by type, with what makes sure of it."""

_NOT_FULL_STREAM: Final[_Signs] = {
    "start": _has("messageId", "messageMetadata"),
    "text-delta": _has("delta"),
    "reasoning-delta": _has("delta"),
    "tool-input-start": _has("toolCallId"),
    "tool-input-available": _always,
    "tool-input-error": _always,
    "tool-output-available": _always,
    "tool-output-error": _always,
    "source-url": _always,
    "source-document": _always,
    "message-metadata": _always,
    "stream-start": _always,
    "response-metadata": _always,
    "error": lambda chunk: "errorText" in chunk,
}

_UI_STREAM: Final[_Signs] = {
    "start": _has("messageId", "messageMetadata"),
    "tool-input-start": _has("toolCallId"),
    "tool-input-delta": _has("inputTextDelta"),
    "tool-input-available": _always,
    "tool-input-error": _always,
    "tool-output-available": _always,
    "tool-output-error": _always,
    "tool-approval-request": lambda chunk: "toolCallId" in chunk and "type" in chunk and "approvalDescriptor" in chunk,
    "source-url": _always,
    "source-document": _always,
    "file": _has("url"),
    "reasoning-file": _has("url"),
    "message-metadata": _always,
    "reset-step": _always,
    "steering-message": _has("parts"),
    "finish": _has("messageMetadata"),
    "error": _has("errorText"),
}

_NOT_UI_STREAM: Final[_Signs] = {
    "start-step": _has("request", "warnings"),
    "finish-step": _has("usage", "finishReason"),
    "text-delta": _has("text", "textDelta"),
    "reasoning-delta": _has("text"),
    "tool-call": _always,
    "tool-result": _always,
    "tool-error": _always,
    "source": _always,
    "raw": _always,
    "stream-start": _always,
    "response-metadata": _always,
    "finish": _has("usage", "totalUsage"),
    "error": lambda chunk: "errorText" not in chunk,
}

_PROVIDER_STREAM: Final[_Signs] = {
    "stream-start": _always,
    "response-metadata": _always,
    "tool-call": _holds("input", str),
    "tool-result": lambda chunk: "result" in chunk and "args" not in chunk,
    "finish": _of_a_provider,
}

_NOT_PROVIDER_STREAM: Final[_Signs] = {
    "start": _always,
    "start-step": _always,
    "finish-step": _always,
    "step-start": _always,
    "step-finish": _always,
    "text-delta": _has("text", "textDelta"),
    "reasoning-delta": _has("text"),
    "tool-input-start": _has("toolCallId"),
    "tool-error": _always,
    "abort": _always,
    "error": lambda chunk: "errorText" in chunk,
}

_CODES_WITHOUT_CHUNKS: Final = frozenset({"data-data", "message-annotations"})


FULL_STREAM: Final = ResponseReaderSpec(partial(AISDKStream, dialect=Dialect()), _claims_full_stream, FREQUENT)
"""`fullStream` of `streamText`: chunks as objects, in recordings as lines of JSON."""

UI_STREAM: Final = ResponseReaderSpec(partial(AISDKStream, dialect=Dialect(goes_on=True)), _claims_ui_stream, FREQUENT)
"""The UI message stream of versions 5 to 7: server-sent events for browsers."""

DATA_STREAM: Final = ResponseReaderSpec(
    partial(AISDKStream, dialect=Dialect(errors_are_text=True, goes_on=True)), _claims_data_stream, FREQUENT
)
"""The data stream of version 4."""

PROVIDER_STREAM: Final = ResponseReaderSpec(
    partial(AISDKStream, dialect=Dialect(runs_tools=False)), _claims_provider_stream, FREQUENT
)
"""What a provider streams to the SDK (LanguageModelV2, V3 and V4), and the AI Gateway to its clients."""
