"""Shapes of streams: what real servers send that the protocol's own document does not lead one to expect.

A shape is a short answer in such a form, and what a right reader makes of it. The scenarios of parsers
(:mod:`partstream_devtools.conformance.scenarios`) have the parser under test read the shapes of its protocol.
:data:`STREAM_SHAPES` at the end has one table for each protocol of which servers with such forms are known. For a
protocol without a table, a parser is tested with all other scenarios.

Each table follows the helpers that write the events of its wire. A name of a shape is part of reports and baselines: it
stays the same for ever. One form that several wires have keeps one name.
"""

from __future__ import annotations
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import dataclass, field

if TYPE_CHECKING:
    from partstream.protocols.serve import WireEvent


@dataclass(frozen=True, slots=True)
class ShapeOutcome:
    """What a right reader makes of a stream.

    `calls` are names and arguments in the order of the model; `call_ids` is None where the server gives no ids,
    `tokens` (input, output) where it reports none.
    """

    text: str = ""
    thinking: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    call_ids: tuple[str, ...] | None = None
    tokens: tuple[int, int] | None = None
    is_failed: bool = False


@dataclass(frozen=True, slots=True)
class StreamShape:
    """One shape: a name, the same for ever; a title; its events as JSON; and what a right reader makes of them."""

    name: str
    title: str
    events: tuple[WireEvent, ...]
    outcome: ShapeOutcome = field(default_factory=ShapeOutcome)


_HELLO: Final = ShapeOutcome("Hello world!", tokens=(17, 5))


# ---- OpenResponses ----

_RESPONSES_USAGE: Final = {"input_tokens": 17, "output_tokens": 5, "total_tokens": 22}
_RESPONSES_OSLO: Final = '{"city":"Oslo"}'
_RESPONSES_LIMA: Final = '{"city":"Lima"}'


def _responses_response(status: str, output: list[Any], **fields: Any) -> dict[str, Any]:
    head = {"id": "resp_1", "object": "response", "created_at": 1_700_000_000, "model": "m"}
    return {**head, "status": status, "output": output, **fields}


def _responses_stream(*events: WireEvent, output: list[Any]) -> tuple[WireEvent, ...]:
    """The events between the first and the last of a response, numbered."""
    whole = (
        {"type": "response.created", "response": _responses_response("in_progress", [])},
        *events,
        {"type": "response.completed", "response": _responses_response("completed", output, usage=_RESPONSES_USAGE)},
    )
    return tuple({**event, "sequence_number": number} for number, event in enumerate(whole))


def _responses_message(text: str, status: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}] if text else []
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": status, "content": content}


def _responses_message_events(*pieces: str) -> tuple[WireEvent, ...]:
    text, place = "".join(pieces), {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "text": text, "annotations": []}
    return (
        {"type": "response.output_item.added", "output_index": 0, "item": _responses_message("", "in_progress")},
        {"type": "response.content_part.added", **place, "part": {**part, "text": ""}},
        *({"type": "response.output_text.delta", **place, "delta": one} for one in pieces),
        {"type": "response.output_text.done", **place, "text": text},
        {"type": "response.content_part.done", **place, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": _responses_message(text, "completed")},
    )


def _responses_call(number: int, name: str, arguments: str, status: str = "completed") -> dict[str, Any]:
    facts = {"id": f"fc_{number}", "call_id": f"call_{number}", "name": name, "arguments": arguments}
    return {"type": "function_call", **facts, "status": status}


def _responses_call_added(number: int, name: str) -> WireEvent:
    item = _responses_call(number, name, "", "in_progress")
    return {"type": "response.output_item.added", "output_index": number - 1, "item": item}


def _responses_arguments(number: int, delta: str) -> WireEvent:
    place = {"item_id": f"fc_{number}", "output_index": number - 1}
    return {"type": "response.function_call_arguments.delta", **place, "delta": delta}


def _responses_call_done(number: int, name: str, arguments: str) -> tuple[WireEvent, ...]:
    place = {"item_id": f"fc_{number}", "output_index": number - 1}
    item = _responses_call(number, name, arguments)
    return (
        {"type": "response.function_call_arguments.done", **place, "arguments": arguments},
        {"type": "response.output_item.done", "output_index": number - 1, "item": item},
    )


_RESPONSES_BOTH: Final = [
    _responses_call(1, "get_weather", _RESPONSES_OSLO),
    _responses_call(2, "get_time", _RESPONSES_LIMA),
]

_OPENRESPONSES: Final[tuple[StreamShape, ...]] = (
    StreamShape(
        "text-inside-words",
        "The text is cut inside words",
        _responses_stream(
            *_responses_message_events("Hel", "lo", " ", "wor", "ld!"),
            output=[_responses_message("Hello world!", "completed")],
        ),
        _HELLO,
    ),
    StreamShape(
        "unknown-event",
        "An event of an unknown type comes in the middle",
        _responses_stream(
            {"type": "response.something.new", "value": 1},
            *_responses_message_events("Hello world!"),
            output=[_responses_message("Hello world!", "completed")],
        ),
        _HELLO,
    ),
    StreamShape(
        "calls-interleaved",
        "The arguments of two calls come by turns",
        _responses_stream(
            _responses_call_added(1, "get_weather"),
            _responses_call_added(2, "get_time"),
            _responses_arguments(1, _RESPONSES_OSLO[:8]),
            _responses_arguments(2, _RESPONSES_LIMA[:8]),
            _responses_arguments(1, _RESPONSES_OSLO[8:]),
            _responses_arguments(2, _RESPONSES_LIMA[8:]),
            *_responses_call_done(1, "get_weather", _RESPONSES_OSLO),
            *_responses_call_done(2, "get_time", _RESPONSES_LIMA),
            output=_RESPONSES_BOTH,
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
        _responses_stream(
            _responses_call_added(1, "get_weather"),
            *_responses_call_done(1, "get_weather", _RESPONSES_OSLO),
            output=_RESPONSES_BOTH[:1],
        ),
        ShapeOutcome(calls=(("get_weather", {"city": "Oslo"}),), call_ids=("call_1",), tokens=(17, 5)),
    ),
)


# ---- Chat Completions ----

_CHAT_USAGE: Final = {"prompt_tokens": 17, "completion_tokens": 5, "total_tokens": 22}
_CHAT_CALLS: Final = (("get_weather", {"city": "Oslo"}), ("get_time", {"city": "Lima"}))
_CHAT_IDS: Final = ("call_1", "call_2")


def _chat_chunk(*choices: dict[str, Any], **fields: Any) -> WireEvent:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "m"}
    return {**head, "choices": list(choices), **fields}


def _chat_delta(finish: str | None = None, **delta: Any) -> WireEvent:
    return _chat_chunk({"index": 0, "delta": delta, "finish_reason": finish})


def _chat_call(
    index: int | None, arguments: str = "", *, call_id: str | None = None, name: str | None = None
) -> WireEvent:
    function: dict[str, Any] = {"arguments": arguments}
    if name is not None:
        function["name"] = name
    call: dict[str, Any] = {"function": function}
    if index is not None:
        call["index"] = index
    if call_id is not None:
        call |= {"id": call_id, "type": "function"}
    return _chat_delta(tool_calls=[call])


_CHAT_OSLO: Final = (
    _chat_call(0, call_id="call_1", name="get_weather"),
    _chat_call(0, '{"city":'),
    _chat_call(0, '"Oslo"}'),
)
_CHAT_CALLED: Final = _chat_delta("tool_calls")
_CHAT_ONE: Final = ShapeOutcome(calls=_CHAT_CALLS[:1], call_ids=_CHAT_IDS[:1])
_CHAT_TWO: Final = ShapeOutcome(calls=_CHAT_CALLS, call_ids=_CHAT_IDS)
_CHAT_HELLO: Final = ShapeOutcome("Hello world!")

_CHAT_COMPLETIONS: Final[tuple[StreamShape, ...]] = (
    StreamShape(
        "text-inside-words",
        "The text is cut inside words",
        (*(_chat_delta(content=one) for one in ("Hel", "lo", " ", "wor", "ld", "!")), _chat_delta("stop")),
        _CHAT_HELLO,
    ),
    StreamShape(
        "usage-without-choices",
        "The usage comes in a last chunk without choices, behind the finish reason",
        (_chat_delta(content="Hello world!"), _chat_delta("stop"), _chat_chunk(usage=_CHAT_USAGE)),
        ShapeOutcome("Hello world!", tokens=(17, 5)),
    ),
    StreamShape(
        "usage-null",
        "Every chunk has a usage, which is null until the last",
        (
            {**_chat_delta(content="Hello world!"), "usage": None},
            {**_chat_delta("stop"), "usage": None},
            _chat_chunk(usage=_CHAT_USAGE),
        ),
        ShapeOutcome("Hello world!", tokens=(17, 5)),
    ),
    StreamShape(
        "role-alone",
        "The first chunk has a role and null content; no other has a role",
        (_chat_delta(role="assistant", content=None), _chat_delta(content="Hello world!"), _chat_delta("stop")),
        _CHAT_HELLO,
    ),
    StreamShape(
        "first-chunk-without-choices",
        "The first chunk has no choices, but the results of a filter",
        (_chat_chunk(prompt_filter_results=[]), _chat_delta(content="Hello world!"), _chat_delta("stop")),
        _CHAT_HELLO,
    ),
    StreamShape(
        "call-in-one-chunk",
        "A call comes whole in the chunk of the finish reason",
        (
            _chat_delta(
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
        _CHAT_ONE,
    ),
    StreamShape("call-in-pieces", "The arguments of a call come in pieces", (*_CHAT_OSLO, _CHAT_CALLED), _CHAT_ONE),
    StreamShape(
        "calls-interleaved",
        "The arguments of two calls come by turns",
        (
            _chat_call(0, call_id="call_1", name="get_weather"),
            _chat_call(1, call_id="call_2", name="get_time"),
            _chat_call(0, '{"city":'),
            _chat_call(1, '{"city":'),
            _chat_call(0, '"Oslo"}'),
            _chat_call(1, '"Lima"}'),
            _CHAT_CALLED,
        ),
        _CHAT_TWO,
    ),
    StreamShape(
        "id-repeated",
        "Every piece of a call repeats its id, and an empty name",
        (
            _chat_call(0, call_id="call_1", name="get_weather"),
            _chat_call(0, '{"city":', call_id="call_1", name=""),
            _chat_call(0, '"Oslo"}', call_id="call_1", name=""),
            _CHAT_CALLED,
        ),
        _CHAT_ONE,
    ),
    StreamShape(
        "id-late",
        "The id of a call comes behind its name",
        (
            _chat_call(0, name="get_weather"),
            _chat_call(0, '{"city":', call_id="call_1"),
            _chat_call(0, '"Oslo"}'),
            _CHAT_CALLED,
        ),
        _CHAT_ONE,
    ),
    StreamShape(
        "finish-stop-with-call",
        "The finish reason of an answer with a call is `stop`",
        (*_CHAT_OSLO, _chat_delta("stop")),
        _CHAT_ONE,
    ),
    StreamShape(
        "arguments-empty",
        "A call comes without arguments: an empty text, or no piece at all",
        (_chat_call(0, "", call_id="call_1", name="list_files"), _CHAT_CALLED),
        ShapeOutcome(calls=(("list_files", {}),), call_ids=_CHAT_IDS[:1]),
    ),
    StreamShape(
        "reasoning-content",
        "Thinking comes in a field of its own before the text",
        (
            _chat_delta(reasoning_content="I think"),
            _chat_delta(reasoning_content=" first."),
            _chat_delta(content="Hi."),
            _chat_delta("stop"),
        ),
        ShapeOutcome("Hi.", "I think first."),
    ),
    StreamShape(
        "error-in-stream",
        "An error comes in the stream, behind the first text",
        (_chat_delta(content="Hello"), {"error": {"message": "The server is overloaded.", "code": 503}}),
        ShapeOutcome("Hello", is_failed=True),
    ),
)


# ---- Anthropic Messages ----


def _messages_start() -> WireEvent:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "m"}
    usage = {"input_tokens": 17, "output_tokens": 1}
    return {
        "type": "message_start",
        "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage},
    }


def _messages_block(index: int, block: dict[str, Any], *deltas: dict[str, Any]) -> tuple[WireEvent, ...]:
    return (
        {"type": "content_block_start", "index": index, "content_block": block},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    )


def _messages_text(index: int, *pieces: str) -> tuple[WireEvent, ...]:
    return _messages_block(
        index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": one} for one in pieces)
    )


def _messages_call(index: int, number: int, name: str, *pieces: str) -> tuple[WireEvent, ...]:
    block = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {}}
    return _messages_block(index, block, *({"type": "input_json_delta", "partial_json": one} for one in pieces))


def _messages_end(reason: str = "end_turn") -> tuple[WireEvent, ...]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 5}}, {"type": "message_stop"}


_ANTHROPIC_MESSAGES: Final[tuple[StreamShape, ...]] = (
    StreamShape(
        "text-inside-words",
        "The text is cut inside words",
        (_messages_start(), *_messages_text(0, "Hel", "lo", " ", "world!"), *_messages_end()),
        _HELLO,
    ),
    StreamShape(
        "pings",
        "Pings come between all other events",
        tuple(
            one
            for event in (_messages_start(), *_messages_text(0, "Hello", " world!"), *_messages_end())
            for one in ({"type": "ping"}, event)
        ),
        _HELLO,
    ),
    StreamShape(
        "unknown-event",
        "An event of an unknown type comes in the middle",
        (
            _messages_start(),
            {"type": "something_new", "value": 1},
            *_messages_text(0, "Hello world!"),
            *_messages_end(),
        ),
        _HELLO,
    ),
    StreamShape(
        "text-at-start",
        "A block begins with text of its own",
        (
            _messages_start(),
            *_messages_block(0, {"type": "text", "text": "Hello"}, {"type": "text_delta", "text": " world!"}),
            *_messages_end(),
        ),
        _HELLO,
    ),
    StreamShape(
        "call-in-pieces",
        "The arguments of a call come in pieces",
        (
            _messages_start(),
            *_messages_call(0, 1, "get_weather", "", '{"ci', 'ty":"Oslo"}'),
            *_messages_end("tool_use"),
        ),
        ShapeOutcome(calls=(("get_weather", {"city": "Oslo"}),), call_ids=("toolu_1",), tokens=(17, 5)),
    ),
    StreamShape(
        "arguments-empty",
        "A call comes without arguments: an empty text, or no piece at all",
        (_messages_start(), *_messages_call(0, 1, "list_files"), *_messages_end("tool_use")),
        ShapeOutcome(calls=(("list_files", {}),), call_ids=("toolu_1",), tokens=(17, 5)),
    ),
    StreamShape(
        "text-then-calls",
        "Two calls follow a text",
        (
            _messages_start(),
            *_messages_text(0, "Let me look."),
            *_messages_call(1, 1, "get_weather", '{"city":"Oslo"}'),
            *_messages_call(2, 2, "get_time", '{"city":"Lima"}'),
            *_messages_end("tool_use"),
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
            _messages_start(),
            *_messages_block(
                0,
                {"type": "thinking", "thinking": "", "signature": ""},
                {"type": "thinking_delta", "thinking": "I think"},
                {"type": "thinking_delta", "thinking": " first."},
                {"type": "signature_delta", "signature": "c2lnbmVk"},
            ),
            *_messages_text(1, "Hi."),
            *_messages_end(),
        ),
        ShapeOutcome("Hi.", "I think first.", tokens=(17, 5)),
    ),
    StreamShape(
        "error-in-stream",
        "An error comes in the stream, behind the first text",
        (
            _messages_start(),
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}},
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        ),
        ShapeOutcome("Hello", is_failed=True),
    ),
)


# ---- Gemini: `streamGenerateContent` ----

_GEMINI_USAGE: Final = {"promptTokenCount": 17, "candidatesTokenCount": 5, "totalTokenCount": 22}


def _gemini_chunk(
    *parts: dict[str, Any], finish: str | None = None, role: str | None = "model", **fields: Any
) -> WireEvent:
    content = {"parts": list(parts), **({} if role is None else {"role": role})}
    candidate: dict[str, Any] = {"content": content, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "modelVersion": "m", "responseId": "r1", **fields}


def _gemini_call(name: str, city: str) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {"city": city}}}


_GEMINI: Final[tuple[StreamShape, ...]] = (
    StreamShape(
        "text-inside-words",
        "The text is cut inside words",
        (
            _gemini_chunk({"text": "Hel"}, role=None),
            _gemini_chunk({"text": "lo wor"}, role=None),
            _gemini_chunk({"text": "ld!"}, role=None, finish="STOP", usageMetadata=_GEMINI_USAGE),
        ),
        _HELLO,
    ),
    StreamShape(
        "usage-in-every-chunk",
        "Every chunk has a usage, which grows",
        (
            _gemini_chunk({"text": "Hello"}, usageMetadata={"promptTokenCount": 17, "totalTokenCount": 17}),
            _gemini_chunk({"text": " world!"}, finish="STOP", usageMetadata=_GEMINI_USAGE),
        ),
        _HELLO,
    ),
    StreamShape(
        "finish-without-content",
        "The last chunk has a finish reason and no content",
        (
            _gemini_chunk({"text": "Hello world!"}),
            {"candidates": [{"finishReason": "STOP", "index": 0}], "usageMetadata": _GEMINI_USAGE},
        ),
        _HELLO,
    ),
    StreamShape(
        "two-texts-in-a-chunk",
        "One chunk has several parts of text",
        (_gemini_chunk({"text": "Hello"}, {"text": " world!"}, finish="STOP", usageMetadata=_GEMINI_USAGE),),
        _HELLO,
    ),
    StreamShape(
        "calls-without-ids",
        "Two calls come without ids, and the end says nothing of calls",
        (
            _gemini_chunk(
                _gemini_call("get_weather", "Oslo"),
                _gemini_call("get_weather", "Lima"),
                finish="STOP",
                usageMetadata=_GEMINI_USAGE,
            ),
        ),
        ShapeOutcome(calls=(("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Lima"})), tokens=(17, 5)),
    ),
    StreamShape(
        "thought",
        "A part of text is a thought",
        (
            _gemini_chunk({"text": "I think first.", "thought": True}),
            _gemini_chunk({"text": "Hi."}, finish="STOP", usageMetadata=_GEMINI_USAGE),
        ),
        ShapeOutcome("Hi.", "I think first.", tokens=(17, 5)),
    ),
)


# ---- Ollama: `/api/chat` ----


def _ollama_line(content: str = "", **message: Any) -> WireEvent:
    said = {"role": "assistant", "content": content, **message}
    return {"model": "m", "created_at": "2025-01-01T00:00:00Z", "message": said, "done": False}


def _ollama_end(**fields: Any) -> WireEvent:
    return {**_ollama_line(), "done": True, "done_reason": "stop", "prompt_eval_count": 17, "eval_count": 5, **fields}


def _ollama_call(city: str) -> dict[str, Any]:
    return {"function": {"name": "get_weather", "arguments": {"city": city}}}


_OLLAMA: Final[tuple[StreamShape, ...]] = (
    StreamShape(
        "text-inside-words",
        "The text is cut inside words",
        (_ollama_line("Hel"), _ollama_line("lo"), _ollama_line(" "), _ollama_line("world!"), _ollama_end()),
        ShapeOutcome("Hello world!", tokens=(17, 5)),
    ),
    StreamShape(
        "text-in-the-last-line",
        "The line that ends the answer has text",
        (_ollama_line("Hello"), {**_ollama_end(), "message": {"role": "assistant", "content": " world!"}}),
        ShapeOutcome("Hello world!", tokens=(17, 5)),
    ),
    StreamShape(
        "calls-without-ids",
        "Two calls come without ids, and the end says nothing of calls",
        (
            _ollama_line(tool_calls=[_ollama_call("Oslo")]),
            _ollama_line(tool_calls=[_ollama_call("Lima")]),
            _ollama_end(),
        ),
        ShapeOutcome(calls=(("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Lima"})), tokens=(17, 5)),
    ),
    StreamShape(
        "thinking-field",
        "Thinking comes in a field of its own beside empty content",
        (_ollama_line(thinking="I think"), _ollama_line(thinking=" first."), _ollama_line("Hi."), _ollama_end()),
        ShapeOutcome("Hi.", "I think first.", tokens=(17, 5)),
    ),
    StreamShape(
        "error-in-stream",
        "An error comes in the stream, behind the first text",
        (_ollama_line("Hello"), {"error": "the model runner has stopped"}),
        ShapeOutcome("Hello", is_failed=True),
    ),
)

STREAM_SHAPES: Final[Mapping[str, tuple[StreamShape, ...]]] = {
    "openresponses": _OPENRESPONSES,
    "chat-completions": _CHAT_COMPLETIONS,
    "anthropic-messages": _ANTHROPIC_MESSAGES,
    "gemini": _GEMINI,
    "ollama": _OLLAMA,
}
"""The tables, by the name of the protocol."""
