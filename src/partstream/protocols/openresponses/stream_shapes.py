"""The shapes of streams of Responses servers that parsers break at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.stream_shapes import ShapeOutcome, StreamShape

if TYPE_CHECKING:
    from partstream.protocols.wire_request import WireEvent

__all__ = ["STREAM_SHAPES"]

_USAGE: Final = {"input_tokens": 17, "output_tokens": 5, "total_tokens": 22}
_OSLO: Final = '{"city":"Oslo"}'
_LIMA: Final = '{"city":"Lima"}'


def _response(status: str, output: list[Any], **fields: Any) -> dict[str, Any]:
    head = {"id": "resp_1", "object": "response", "created_at": 1_700_000_000, "model": "m"}
    return {**head, "status": status, "output": output, **fields}


def _stream(*events: WireEvent, output: list[Any]) -> tuple[WireEvent, ...]:
    """The events between the first and the last of a response, numbered."""
    whole = (
        {"type": "response.created", "response": _response("in_progress", [])},
        *events,
        {"type": "response.completed", "response": _response("completed", output, usage=_USAGE)},
    )
    return tuple({**event, "sequence_number": number} for number, event in enumerate(whole))


def _message(text: str, status: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}] if text else []
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": status, "content": content}


def _message_events(*pieces: str) -> tuple[WireEvent, ...]:
    text, place = "".join(pieces), {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "text": text, "annotations": []}
    return (
        {"type": "response.output_item.added", "output_index": 0, "item": _message("", "in_progress")},
        {"type": "response.content_part.added", **place, "part": {**part, "text": ""}},
        *({"type": "response.output_text.delta", **place, "delta": one} for one in pieces),
        {"type": "response.output_text.done", **place, "text": text},
        {"type": "response.content_part.done", **place, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": _message(text, "completed")},
    )


def _call(number: int, name: str, arguments: str, status: str = "completed") -> dict[str, Any]:
    facts = {"id": f"fc_{number}", "call_id": f"call_{number}", "name": name, "arguments": arguments}
    return {"type": "function_call", **facts, "status": status}


def _call_added(number: int, name: str) -> WireEvent:
    item = _call(number, name, "", "in_progress")
    return {"type": "response.output_item.added", "output_index": number - 1, "item": item}


def _arguments(number: int, delta: str) -> WireEvent:
    place = {"item_id": f"fc_{number}", "output_index": number - 1}
    return {"type": "response.function_call_arguments.delta", **place, "delta": delta}


def _call_done(number: int, name: str, arguments: str) -> tuple[WireEvent, ...]:
    place = {"item_id": f"fc_{number}", "output_index": number - 1}
    item = _call(number, name, arguments)
    return (
        {"type": "response.function_call_arguments.done", **place, "arguments": arguments},
        {"type": "response.output_item.done", "output_index": number - 1, "item": item},
    )


_BOTH: Final = [_call(1, "get_weather", _OSLO), _call(2, "get_time", _LIMA)]
_HELLO: Final = ShapeOutcome("Hello world!", tokens=(17, 5))

STREAM_SHAPES: Final = (
    StreamShape(
        "text-inside-words",
        "The text is cut inside words",
        _stream(
            *_message_events("Hel", "lo", " ", "wor", "ld!"),
            output=[_message("Hello world!", "completed")],
        ),
        _HELLO,
    ),
    StreamShape(
        "unknown-event",
        "An event of an unknown type comes in the middle",
        _stream(
            {"type": "response.something.new", "value": 1},
            *_message_events("Hello world!"),
            output=[_message("Hello world!", "completed")],
        ),
        _HELLO,
    ),
    StreamShape(
        "calls-interleaved",
        "The arguments of two calls come by turns",
        _stream(
            _call_added(1, "get_weather"),
            _call_added(2, "get_time"),
            _arguments(1, _OSLO[:8]),
            _arguments(2, _LIMA[:8]),
            _arguments(1, _OSLO[8:]),
            _arguments(2, _LIMA[8:]),
            *_call_done(1, "get_weather", _OSLO),
            *_call_done(2, "get_time", _LIMA),
            output=_BOTH,
        ),
        ShapeOutcome(
            calls=(("get_weather", {"city": "Oslo"}), ("get_time", {"city": "Lima"})),
            call_ids=("call_1", "call_2"),
            tokens=(17, 5),
        ),
    ),
    StreamShape(
        "call-without-deltas",
        "The arguments of a call come whole at its end, without a piece before",
        _stream(_call_added(1, "get_weather"), *_call_done(1, "get_weather", _OSLO), output=_BOTH[:1]),
        ShapeOutcome(calls=(("get_weather", {"city": "Oslo"}),), call_ids=("call_1",), tokens=(17, 5)),
    ),
)
"""The shapes of this wire."""
