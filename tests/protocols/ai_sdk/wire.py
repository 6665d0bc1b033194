"""Chunks of the four streams as the versions write them, and every way to feed them."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from partstream.outputs import Finish, Outcome, StreamOptions, StreamOutput
from partstream.parts import DataPart, TextPart, ThinkingPart, ToolCallPart
from partstream.protocols.ai_sdk.data_lines import CODES
from partstream.protocols.reader import StreamReader
from partstream.protocols.registry import PROTOCOLS, known_framings
from partstream.protocols.thinking_text import open_response
from protocols.openresponses.wire import Result, check, comparable, sse

Chunk = dict[str, Any]
DEFAULTS = StreamOptions()
USAGE = {"inputTokens": 7, "outputTokens": 3, "totalTokens": 10}


# ---- feeding ----


def read_chunks(chunks: Iterable[Chunk], protocol: str = "ai-sdk", options: StreamOptions = DEFAULTS) -> Result:
    stream = open_response(PROTOCOLS[protocol].read_response(), options)
    outputs: list[StreamOutput] = []
    for chunk in chunks:
        outputs += stream.feed(chunk)
    return check(Result(outputs + stream.end()))


def read_framed(
    pieces: Iterable[bytes], protocol: str, options: StreamOptions = DEFAULTS, framing: str | None = None
) -> Result:
    reader = StreamReader(protocol, options, framing=None if framing is None else known_framings()[framing])
    outputs: list[StreamOutput] = []
    for piece in pieces:
        outputs += reader.feed(piece)
    return check(Result(outputs + reader.end()))


def read(chunks: list[Chunk], protocol: str = "ai-sdk", **options: Any) -> Result:
    """Reads the chunks in every way that there is, which must not make a difference."""
    settings = StreamOptions(**options)
    result = read_chunks(chunks, protocol, settings)
    expected = comparable(result)
    framed = frame(protocol, chunks)
    for way, pieces in {
        "a chunk a piece": framed,
        "whole": [b"".join(framed)],
        "byte by byte": (bytes((byte,)) for byte in b"".join(framed)),
    }.items():
        assert comparable(read_framed(pieces, protocol, settings)) == expected, way
    return result


def frame(protocol: str, chunks: Iterable[Chunk]) -> list[bytes]:
    """Each chunk as its bytes on the wire."""
    return _FRAMES[protocol](chunks)


def _lines(chunks: Iterable[Chunk]) -> list[bytes]:
    return [json.dumps(chunk).encode() + b"\n" for chunk in chunks]


def _bare_sse(chunks: Iterable[Chunk]) -> list[bytes]:
    return sse(chunks, named=False)


def _coded(chunks: Iterable[Chunk]) -> list[bytes]:
    return [_line(chunk) for chunk in chunks]


_HEADS = [
    (code, json.loads(opening.decode() + ("}" if spreads else "null}"))) for code, (opening, spreads) in CODES.items()
]
_CODE_OF = {head["type"]: (code, next(iter(head.keys() - {"type"}), None)) for code, head in _HEADS}


def _line(chunk: Chunk) -> bytes:
    kind = chunk.get("type")
    rest = {name: value for name, value in chunk.items() if name != "type"}
    code, name = _CODE_OF.get(kind, (b"", None)) if isinstance(kind, str) else (b"", None)
    if not code or (name is not None and rest.keys() != {name}):
        return json.dumps(chunk).encode() + b"\n"  # has no code; only damaged streams hold it
    return code + b":" + json.dumps(rest if name is None else rest[name]).encode() + b"\n"


_FRAMES: dict[str, Callable[[Iterable[Chunk]], list[bytes]]] = {
    "ai-sdk": _lines,
    "ai-sdk-ui": _bare_sse,
    "ai-sdk-data": _coded,
    "ai-gateway": _bare_sse,
}


# ---- writing an answer down ----


@dataclass(frozen=True, slots=True)
class Writer:
    """How one stream of one version writes an answer."""

    protocol: str
    start: list[Chunk]
    text: Callable[[str, str], Chunk]
    reasoning: Callable[[str, str], Chunk]
    named_blocks: bool
    call: Callable[[ToolCallPart, list[str]], list[Chunk]]
    source: Callable[[str, str], Chunk]
    error: Callable[[str], Chunk]
    finish: Callable[[str], list[Chunk]]

    def write(self, answer: Sequence[StreamOutput], size: int | None = 3) -> list[Chunk]:
        """The chunks of an answer, a call's arguments in pieces of `size` characters."""
        *parts, finish = answer
        assert isinstance(finish, Finish)
        chunks = [*self.start]
        for number, (kind, run) in enumerate(groupby(parts, type)):
            chunks += self._block(str(number), kind, list(run), size)
        if finish.error is not None:
            return [*chunks, self.error(finish.error.message), *self.finish("error")]
        if finish.outcome is Outcome.INCOMPLETE:
            return [*chunks, *self.finish("length")]
        has_calls = any(isinstance(part, ToolCallPart) for part in parts)
        return [*chunks, *self.finish("tool-calls" if has_calls else "stop")]

    def _block(self, block_id: str, kind: type, parts: list[Any], size: int | None) -> list[Chunk]:
        if kind is ToolCallPart:
            return [chunk for part in parts for chunk in self.call(part, _arguments(part, size))]
        if kind is DataPart:
            return [self.source(said["url"], said["title"]) for said in (json.loads(part.data) for part in parts)]
        if kind is ThinkingPart:
            return self._framed("reasoning", block_id, [self.reasoning(block_id, part.value) for part in parts])
        assert kind is TextPart
        return self._framed("text", block_id, [self.text(block_id, part.value) for part in parts])

    def _framed(self, kind: str, block_id: str, chunks: list[Chunk]) -> list[Chunk]:
        if not self.named_blocks:
            return chunks
        return [{"type": f"{kind}-start", "id": block_id}, *chunks, {"type": f"{kind}-end", "id": block_id}]


def _arguments(part: ToolCallPart, size: int | None) -> list[str]:
    text = json.dumps(part.input)
    return [text[start : start + (size or len(text))] for start in range(0, len(text), size or len(text))]


def _full_call(part: ToolCallPart, pieces: list[str]) -> list[Chunk]:
    return [
        {"type": "tool-input-start", "id": part.call_id, "toolName": part.name, "dynamic": False},
        *({"type": "tool-input-delta", "id": part.call_id, "delta": piece} for piece in pieces),
        {"type": "tool-input-end", "id": part.call_id},
        {"type": "tool-call", "toolCallId": part.call_id, "toolName": part.name, "input": part.input},
    ]


def _ui_call(part: ToolCallPart, pieces: list[str]) -> list[Chunk]:
    return [
        {"type": "tool-input-start", "toolCallId": part.call_id, "toolName": part.name},
        *({"type": "tool-input-delta", "toolCallId": part.call_id, "inputTextDelta": piece} for piece in pieces),
        {"type": "tool-input-available", "toolCallId": part.call_id, "toolName": part.name, "input": part.input},
    ]


def _old_call(part: ToolCallPart, pieces: list[str]) -> list[Chunk]:
    return [
        {"type": "tool-call-streaming-start", "toolCallId": part.call_id, "toolName": part.name},
        *({"type": "tool-call-delta", "toolCallId": part.call_id, "argsTextDelta": piece} for piece in pieces),
        {"type": "tool-call", "toolCallId": part.call_id, "toolName": part.name, "args": part.input},
    ]


def _provider_call(part: ToolCallPart, pieces: list[str]) -> list[Chunk]:
    return [
        *_full_call(part, pieces)[:-1],
        {"type": "tool-call", "toolCallId": part.call_id, "toolName": part.name, "input": "".join(pieces)},
    ]


def _old_usage() -> Chunk:
    return {"promptTokens": 7, "completionTokens": 3}


def _url_source(url: str, title: str) -> Chunk:
    return {"sourceType": "url", "id": url, "url": url, "title": title}


WRITERS: dict[str, Writer] = {
    "full stream": Writer(
        "ai-sdk",
        [{"type": "start"}, {"type": "start-step", "request": {}, "warnings": []}],
        lambda block_id, piece: {"type": "text-delta", "id": block_id, "text": piece},
        lambda block_id, piece: {"type": "reasoning-delta", "id": block_id, "text": piece},
        True,
        _full_call,
        lambda url, title: {"type": "source", **_url_source(url, title)},
        lambda message: {"type": "error", "error": {"name": "AI_APICallError", "message": message}},
        lambda reason: [
            {"type": "finish-step", "finishReason": reason, "usage": USAGE, "response": {"id": "r", "modelId": "m"}},
            {"type": "finish", "finishReason": reason, "totalUsage": USAGE},
        ],
    ),
    "full stream of 4": Writer(
        "ai-sdk",
        [{"type": "step-start", "messageId": "r", "request": {}, "warnings": []}],
        lambda _, piece: {"type": "text-delta", "textDelta": piece},
        lambda _, piece: {"type": "reasoning", "textDelta": piece},
        False,
        _old_call,
        lambda url, title: {"type": "source", "source": _url_source(url, title)},
        lambda message: {"type": "error", "error": {"name": "AI_APICallError", "message": message}},
        lambda reason: [
            {"type": "step-finish", "finishReason": reason, "usage": _old_usage(), "isContinued": False},
            {"type": "finish", "finishReason": reason, "usage": _old_usage()},
        ],
    ),
    "UI stream": Writer(
        "ai-sdk-ui",
        [{"type": "start", "messageId": "r"}, {"type": "start-step"}],
        lambda block_id, piece: {"type": "text-delta", "id": block_id, "delta": piece},
        lambda block_id, piece: {"type": "reasoning-delta", "id": block_id, "delta": piece},
        True,
        _ui_call,
        lambda url, title: {"type": "source-url", "sourceId": url, "url": url, "title": title},
        lambda message: {"type": "error", "errorText": message},
        lambda reason: [{"type": "finish-step"}, {"type": "finish", "finishReason": reason}],
    ),
    "data stream": Writer(
        "ai-sdk-data",
        [{"type": "step-start", "messageId": "r"}],
        lambda _, piece: {"type": "text-delta", "textDelta": piece},
        lambda _, piece: {"type": "reasoning", "textDelta": piece},
        False,
        _old_call,
        lambda url, title: {"type": "source", "source": _url_source(url, title)},
        lambda message: {"type": "error", "error": message},
        lambda reason: [
            {"type": "step-finish", "finishReason": reason, "usage": _old_usage(), "isContinued": False},
            {"type": "finish", "finishReason": reason, "usage": _old_usage()},
        ],
    ),
    "provider's stream": Writer(
        "ai-gateway",
        [{"type": "stream-start", "warnings": []}, {"type": "response-metadata", "id": "r", "modelId": "m"}],
        lambda block_id, piece: {"type": "text-delta", "id": block_id, "delta": piece},
        lambda block_id, piece: {"type": "reasoning-delta", "id": block_id, "delta": piece},
        True,
        _provider_call,
        lambda url, title: {"type": "source", **_url_source(url, title)},
        lambda message: {"type": "error", "error": {"message": message}},
        lambda reason: [
            {
                "type": "finish",
                "finishReason": {"unified": reason, "raw": reason},
                "usage": {"inputTokens": {"total": 7}, "outputTokens": {"total": 3}},
            }
        ],
    ),
}
