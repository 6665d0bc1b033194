"""The shapes of streams of `/api/chat` that parsers break at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.stream_shapes import ShapeOutcome, StreamShape

if TYPE_CHECKING:
    from partstream.protocols.wire_request import WireEvent

__all__ = ["STREAM_SHAPES"]


def _line(content: str = "", **message: Any) -> WireEvent:
    said = {"role": "assistant", "content": content, **message}
    return {"model": "m", "created_at": "2025-01-01T00:00:00Z", "message": said, "done": False}


def _end(**fields: Any) -> WireEvent:
    return {**_line(), "done": True, "done_reason": "stop", "prompt_eval_count": 17, "eval_count": 5, **fields}


def _call(city: str) -> dict[str, Any]:
    return {"function": {"name": "get_weather", "arguments": {"city": city}}}


STREAM_SHAPES: Final = (
    StreamShape(
        "text-inside-words",
        "The text is cut inside words",
        (_line("Hel"), _line("lo"), _line(" "), _line("world!"), _end()),
        ShapeOutcome("Hello world!", tokens=(17, 5)),
    ),
    StreamShape(
        "text-in-the-last-line",
        "The line that ends the answer has text",
        (_line("Hello"), {**_end(), "message": {"role": "assistant", "content": " world!"}}),
        ShapeOutcome("Hello world!", tokens=(17, 5)),
    ),
    StreamShape(
        "calls-without-ids",
        "Two calls come without ids, and the end says nothing of calls",
        (_line(tool_calls=[_call("Oslo")]), _line(tool_calls=[_call("Lima")]), _end()),
        ShapeOutcome(calls=(("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Lima"})), tokens=(17, 5)),
    ),
    StreamShape(
        "thinking-field",
        "Thinking comes in a field of its own beside empty content",
        (_line(thinking="I think"), _line(thinking=" first."), _line("Hi."), _end()),
        ShapeOutcome("Hi.", "I think first.", tokens=(17, 5)),
    ),
    StreamShape(
        "error-in-stream",
        "An error comes in the stream, behind the first text",
        (_line("Hello"), {"error": "the model runner has stopped"}),
        ShapeOutcome("Hello", is_failed=True),
    ),
)
"""The shapes of this wire."""
