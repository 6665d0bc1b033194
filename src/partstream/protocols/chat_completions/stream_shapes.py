"""The shapes of streams of Chat Completions servers that parsers break at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.stream_shapes import ShapeOutcome, StreamShape

if TYPE_CHECKING:
    from partstream.protocols.wire_request import WireEvent

__all__ = ["STREAM_SHAPES"]

_USAGE: Final = {"prompt_tokens": 17, "completion_tokens": 5, "total_tokens": 22}
_CALLS: Final = (("get_weather", {"city": "Oslo"}), ("get_time", {"city": "Lima"}))
_IDS: Final = ("call_1", "call_2")


def _chunk(*choices: dict[str, Any], **fields: Any) -> WireEvent:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "m"}
    return {**head, "choices": list(choices), **fields}


def _delta(finish: str | None = None, **delta: Any) -> WireEvent:
    return _chunk({"index": 0, "delta": delta, "finish_reason": finish})


def _call(index: int | None, arguments: str = "", *, call_id: str | None = None, name: str | None = None) -> WireEvent:
    function: dict[str, Any] = {"arguments": arguments}
    if name is not None:
        function["name"] = name
    call: dict[str, Any] = {"function": function}
    if index is not None:
        call["index"] = index
    if call_id is not None:
        call |= {"id": call_id, "type": "function"}
    return _delta(tool_calls=[call])


_OSLO: Final = (_call(0, call_id="call_1", name="get_weather"), _call(0, '{"city":'), _call(0, '"Oslo"}'))
_CALLED: Final = _delta("tool_calls")
_ONE: Final = ShapeOutcome(calls=_CALLS[:1], call_ids=_IDS[:1])
_TWO: Final = ShapeOutcome(calls=_CALLS, call_ids=_IDS)
_HELLO: Final = ShapeOutcome("Hello world!")

STREAM_SHAPES: Final = (
    StreamShape(
        "text-inside-words",
        "The text is cut inside words",
        (*(_delta(content=one) for one in ("Hel", "lo", " ", "wor", "ld", "!")), _delta("stop")),
        _HELLO,
    ),
    StreamShape(
        "usage-without-choices",
        "The usage comes in a last chunk without choices, behind the finish reason",
        (_delta(content="Hello world!"), _delta("stop"), _chunk(usage=_USAGE)),
        ShapeOutcome("Hello world!", tokens=(17, 5)),
    ),
    StreamShape(
        "usage-null",
        "Every chunk has a usage, which is null until the last",
        (
            {**_delta(content="Hello world!"), "usage": None},
            {**_delta("stop"), "usage": None},
            _chunk(usage=_USAGE),
        ),
        ShapeOutcome("Hello world!", tokens=(17, 5)),
    ),
    StreamShape(
        "role-alone",
        "The first chunk has a role and null content; no other has a role",
        (_delta(role="assistant", content=None), _delta(content="Hello world!"), _delta("stop")),
        _HELLO,
    ),
    StreamShape(
        "first-chunk-without-choices",
        "The first chunk has no choices, but the results of a filter",
        (_chunk(prompt_filter_results=[]), _delta(content="Hello world!"), _delta("stop")),
        _HELLO,
    ),
    StreamShape(
        "call-in-one-chunk",
        "A call comes whole in the chunk of the finish reason",
        (
            _delta(
                "tool_calls",
                tool_calls=[
                    {
                        "index": 0,
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "get_weather", "arguments": '{"city":"Oslo"}'},
                    }
                ],
            ),
        ),
        _ONE,
    ),
    StreamShape("call-in-pieces", "The arguments of a call come in pieces", (*_OSLO, _CALLED), _ONE),
    StreamShape(
        "calls-interleaved",
        "The arguments of two calls come by turns",
        (
            _call(0, call_id="call_1", name="get_weather"),
            _call(1, call_id="call_2", name="get_time"),
            _call(0, '{"city":'),
            _call(1, '{"city":'),
            _call(0, '"Oslo"}'),
            _call(1, '"Lima"}'),
            _CALLED,
        ),
        _TWO,
    ),
    StreamShape(
        "id-repeated",
        "Every piece of a call repeats its id, and an empty name",
        (
            _call(0, call_id="call_1", name="get_weather"),
            _call(0, '{"city":', call_id="call_1", name=""),
            _call(0, '"Oslo"}', call_id="call_1", name=""),
            _CALLED,
        ),
        _ONE,
    ),
    StreamShape(
        "id-late",
        "The id of a call comes behind its name",
        (_call(0, name="get_weather"), _call(0, '{"city":', call_id="call_1"), _call(0, '"Oslo"}'), _CALLED),
        _ONE,
    ),
    StreamShape(
        "finish-stop-with-call",
        "The finish reason of an answer with a call is `stop`",
        (*_OSLO, _delta("stop")),
        _ONE,
    ),
    StreamShape(
        "arguments-empty",
        "A call comes without arguments: an empty text, or no piece at all",
        (_call(0, "", call_id="call_1", name="list_files"), _CALLED),
        ShapeOutcome(calls=(("list_files", {}),), call_ids=_IDS[:1]),
    ),
    StreamShape(
        "reasoning-content",
        "Thinking comes in a field of its own before the text",
        (
            _delta(reasoning_content="I think"),
            _delta(reasoning_content=" first."),
            _delta(content="Hi."),
            _delta("stop"),
        ),
        ShapeOutcome("Hi.", "I think first."),
    ),
    StreamShape(
        "error-in-stream",
        "An error comes in the stream, behind the first text",
        (_delta(content="Hello"), {"error": {"message": "The server is overloaded.", "code": 503}}),
        ShapeOutcome("Hello", is_failed=True),
    ),
)
"""The shapes of this wire."""
