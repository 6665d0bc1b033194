"""The shapes of streams of Messages servers that parsers break at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.stream_shapes import ShapeOutcome, StreamShape

if TYPE_CHECKING:
    from partstream.protocols.wire_request import WireEvent

__all__ = ["STREAM_SHAPES"]


def _start() -> WireEvent:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "m"}
    usage = {"input_tokens": 17, "output_tokens": 1}
    return {
        "type": "message_start",
        "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage},
    }


def _block(index: int, block: dict[str, Any], *deltas: dict[str, Any]) -> tuple[WireEvent, ...]:
    return (
        {"type": "content_block_start", "index": index, "content_block": block},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    )


def _text(index: int, *pieces: str) -> tuple[WireEvent, ...]:
    return _block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": one} for one in pieces))


def _call(index: int, number: int, name: str, *pieces: str) -> tuple[WireEvent, ...]:
    block = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {}}
    return _block(index, block, *({"type": "input_json_delta", "partial_json": one} for one in pieces))


def _end(reason: str = "end_turn") -> tuple[WireEvent, ...]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 5}}, {"type": "message_stop"}


_PING: Final[WireEvent] = {"type": "ping"}
_HELLO: Final = ShapeOutcome("Hello world!", tokens=(17, 5))

STREAM_SHAPES: Final = (
    StreamShape(
        "text-inside-words",
        "The text is cut inside words",
        (_start(), *_text(0, "Hel", "lo", " ", "world!"), *_end()),
        _HELLO,
    ),
    StreamShape(
        "pings",
        "Pings come between all other events",
        tuple(one for event in (_start(), *_text(0, "Hello", " world!"), *_end()) for one in (_PING, event)),
        _HELLO,
    ),
    StreamShape(
        "unknown-event",
        "An event of an unknown type comes in the middle",
        (_start(), {"type": "something_new", "value": 1}, *_text(0, "Hello world!"), *_end()),
        _HELLO,
    ),
    StreamShape(
        "text-at-start",
        "A block begins with text of its own",
        (
            _start(),
            *_block(0, {"type": "text", "text": "Hello"}, {"type": "text_delta", "text": " world!"}),
            *_end(),
        ),
        _HELLO,
    ),
    StreamShape(
        "call-in-pieces",
        "The arguments of a call come in pieces",
        (_start(), *_call(0, 1, "get_weather", "", '{"ci', 'ty":"Oslo"}'), *_end("tool_use")),
        ShapeOutcome(calls=(("get_weather", {"city": "Oslo"}),), call_ids=("toolu_1",), tokens=(17, 5)),
    ),
    StreamShape(
        "arguments-empty",
        "A call comes without arguments: an empty text, or no piece at all",
        (_start(), *_call(0, 1, "list_files"), *_end("tool_use")),
        ShapeOutcome(calls=(("list_files", {}),), call_ids=("toolu_1",), tokens=(17, 5)),
    ),
    StreamShape(
        "text-then-calls",
        "Two calls follow a text",
        (
            _start(),
            *_text(0, "Let me look."),
            *_call(1, 1, "get_weather", '{"city":"Oslo"}'),
            *_call(2, 2, "get_time", '{"city":"Lima"}'),
            *_end("tool_use"),
        ),
        ShapeOutcome(
            "Let me look.",
            calls=(("get_weather", {"city": "Oslo"}), ("get_time", {"city": "Lima"})),
            call_ids=("toolu_1", "toolu_2"),
            tokens=(17, 5),
        ),
    ),
    StreamShape(
        "thinking-signed",
        "Thinking ends with a signature",
        (
            _start(),
            *_block(
                0,
                {"type": "thinking", "thinking": "", "signature": ""},
                {"type": "thinking_delta", "thinking": "I think"},
                {"type": "thinking_delta", "thinking": " first."},
                {"type": "signature_delta", "signature": "c2lnbmVk"},
            ),
            *_text(1, "Hi."),
            *_end(),
        ),
        ShapeOutcome("Hi.", "I think first.", tokens=(17, 5)),
    ),
    StreamShape(
        "error-in-stream",
        "An error comes in the stream, behind the first text",
        (
            _start(),
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}},
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        ),
        ShapeOutcome("Hello", is_failed=True),
    ),
)
"""The shapes of this wire."""
