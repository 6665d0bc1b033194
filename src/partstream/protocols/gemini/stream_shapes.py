"""The shapes of streams of `streamGenerateContent` that parsers break at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.stream_shapes import ShapeOutcome, StreamShape

if TYPE_CHECKING:
    from partstream.protocols.wire_request import WireEvent

__all__ = ["STREAM_SHAPES"]

_USAGE: Final = {"promptTokenCount": 17, "candidatesTokenCount": 5, "totalTokenCount": 22}


def _chunk(*parts: dict[str, Any], finish: str | None = None, role: str | None = "model", **fields: Any) -> WireEvent:
    content = {"parts": list(parts), **({} if role is None else {"role": role})}
    candidate: dict[str, Any] = {"content": content, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "modelVersion": "m", "responseId": "r1", **fields}


def _call(name: str, city: str) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {"city": city}}}


_HELLO: Final = ShapeOutcome("Hello world!", tokens=(17, 5))

STREAM_SHAPES: Final = (
    StreamShape(
        "text-inside-words",
        "The text is cut inside words",
        (
            _chunk({"text": "Hel"}, role=None),
            _chunk({"text": "lo wor"}, role=None),
            _chunk({"text": "ld!"}, role=None, finish="STOP", usageMetadata=_USAGE),
        ),
        _HELLO,
    ),
    StreamShape(
        "usage-in-every-chunk",
        "Every chunk has a usage, which grows",
        (
            _chunk({"text": "Hello"}, usageMetadata={"promptTokenCount": 17, "totalTokenCount": 17}),
            _chunk({"text": " world!"}, finish="STOP", usageMetadata=_USAGE),
        ),
        _HELLO,
    ),
    StreamShape(
        "finish-without-content",
        "The last chunk has a finish reason and no content",
        (
            _chunk({"text": "Hello world!"}),
            {"candidates": [{"finishReason": "STOP", "index": 0}], "usageMetadata": _USAGE},
        ),
        _HELLO,
    ),
    StreamShape(
        "two-texts-in-a-chunk",
        "One chunk has several parts of text",
        (_chunk({"text": "Hello"}, {"text": " world!"}, finish="STOP", usageMetadata=_USAGE),),
        _HELLO,
    ),
    StreamShape(
        "calls-without-ids",
        "Two calls come without ids, and the end says nothing of calls",
        (_chunk(_call("get_weather", "Oslo"), _call("get_weather", "Lima"), finish="STOP", usageMetadata=_USAGE),),
        ShapeOutcome(calls=(("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Lima"})), tokens=(17, 5)),
    ),
    StreamShape(
        "thought",
        "A part of text is a thought",
        (
            _chunk({"text": "I think first.", "thought": True}),
            _chunk({"text": "Hi."}, finish="STOP", usageMetadata=_USAGE),
        ),
        ShapeOutcome("Hi.", "I think first.", tokens=(17, 5)),
    ),
)
"""The shapes of this wire."""
