"""Makes the streams that are measured: events as a server sends them, mostly of OpenResponses; knows no reader of them.

The same arguments give the same bytes on every machine. An event has the fields, the order and about the size (290
bytes with its `event:` line) that OpenAI's server gives it.
"""

from __future__ import annotations
import json
from random import Random
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["FRAMINGS", "STREAMS", "Event", "one_large_event"]

Event = dict[str, Any]

_EVENTS_OF_A_CALL: Final = 400
_WORDS: Final = (
    "a stream of parts is read once and shown as it comes, so what costs a little for each of them costs a lot for "
    "all: the reader finds where an event ends, reads its fields, and hands on the piece of text or the call — café, "
    "naïve, 12 % — without keeping what it has handed on. "
)


def text(count: int) -> Iterator[Event]:
    """One message of text; `count` events in all."""
    yield from _response(count, lambda inner: [_message(0, inner)])


def tools(count: int) -> Iterator[Event]:
    """Parallel function calls of 400 events each, one after the other as OpenAI sends them; `count` events in all."""
    yield from _response(count, lambda inner: _calls(0, inner))


def mixed(count: int) -> Iterator[Event]:
    """A summary of the reasoning, then text, then function calls, a third of the events each; `count` in all."""

    def items(inner: int) -> list[list[Event]]:
        third = inner // 3
        return [_reasoning(0, third), _message(1, third), *_calls(2, inner - 2 * third)]

    yield from _response(count, items)


def chunks(count: int) -> Iterator[Event]:
    """One text block of an AI SDK `fullStream`; `count` chunks in all."""
    yield {"type": "start"}
    yield {"type": "start-step", "request": {}, "warnings": []}
    yield {"type": "text-start", "id": "t1"}
    for place in range(count - 6):
        yield {"type": "text-delta", "id": "t1", "text": _word(place)}
    yield {"type": "text-end", "id": "t1"}
    usage = {"inputTokens": 10, "outputTokens": count, "totalTokens": 10 + count}
    yield {"type": "finish-step", "finishReason": "stop", "usage": usage, "response": {"id": "r", "modelId": "m"}}
    yield {"type": "finish", "finishReason": "stop", "totalUsage": usage}


def typeless(count: int) -> Iterator[Event]:
    """The chunks of one text of Chat Completions, which have no type; `count` in all."""
    head = {
        "id": _identifier("chatcmpl", 0)[:38],
        "object": "chat.completion.chunk",
        "created": 1767225600,
        "model": "model-1",
        "service_tier": "default",
        "system_fingerprint": "fp_0123456789",
    }

    def chunk(delta: Mapping[str, Any], reason: str | None = None) -> Event:
        return head | {"choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}]}

    yield chunk({"role": "assistant", "content": "", "refusal": None})
    for piece, padding in zip(_fragments(count - 3, 0), _paddings(count), strict=False):
        yield chunk({"content": piece}) | {"usage": None, "obfuscation": padding}
    yield chunk({}, "stop")
    usage = {"prompt_tokens": 100, "completion_tokens": count, "total_tokens": count + 100}
    yield head | {"choices": [], "usage": usage}


def chat(count: int) -> Iterator[Event]:
    """The same without the padding, which only OpenAI sends, and not where it is asked to leave it out."""
    for event in typeless(count):
        yield {name: value for name, value in event.items() if name != "obfuscation"}


def events_of_the_chat(count: int) -> Iterator[Event]:
    """The deltas that :func:`typeless` has in `count` chunks, as events of OpenResponses, which are five more."""
    return text(count + 5)


def messages(count: int) -> Iterator[Event]:
    """The same text as events of Anthropic Messages; `count` in all."""
    message = {"id": _identifier("msg", 0)[:28], "type": "message", "role": "assistant", "model": "model-1"}
    usage = {"input_tokens": 100, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1}
    yield {
        "type": "message_start",
        "message": message | {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage},
    }
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    yield {"type": "ping"}
    for piece in _fragments(count - 6, 0):
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
    yield {"type": "content_block_stop", "index": 0}
    said = {"stop_reason": "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": said, "usage": usage | {"output_tokens": count}}
    yield {"type": "message_stop"}


def events_of_the_messages(count: int) -> Iterator[Event]:
    """The deltas that :func:`messages` has in `count` events, as events of OpenResponses, which are two more."""
    return text(count + 2)


def gemini(count: int) -> Iterator[Event]:
    """The same text as chunks of Gemini; `count` in all."""
    head = {"modelVersion": "model-1", "responseId": _identifier("r", 0)[:24]}
    for place, piece in enumerate(_fragments(count, 0), 1):
        candidate: dict[str, Any] = {"content": {"parts": [{"text": piece}], "role": "model"}, "index": 0}
        if place == count:
            candidate["finishReason"] = "STOP"
        usage = {"promptTokenCount": 100, "candidatesTokenCount": place, "totalTokenCount": 100 + place}
        yield {"candidates": [candidate], "usageMetadata": usage, **head}


def _word(place: int) -> str:
    words = _WORDS.split(" ")
    return words[place % len(words)] + " "


STREAMS: Final[Mapping[str, Callable[[int], Iterator[Event]]]] = {
    "text": text,
    "tools": tools,
    "mixed": mixed,
    "fullStream": chunks,
    "typeless": typeless,
    "chat": chat,
    "padded chat": typeless,
    "events of the chat's text": events_of_the_chat,
    "messages": messages,
    "events of the messages' text": events_of_the_messages,
    "gemini": gemini,
}
"""The streams by name; each is given the number of its events."""


def _with_event_line(event: Event) -> bytes:
    return f"event: {event['type']}\ndata: {_json(event)}\n\n".encode()


def _data_only(event: Event) -> bytes:
    return f"data: {_json(event)}\n\n".encode()


def _json_line(event: Event) -> bytes:
    return _json(event).encode() + b"\n"


FRAMINGS: Final[Mapping[str, Callable[[Event], bytes]]] = {
    "event+data": _with_event_line,
    "data": _data_only,
    "JSON lines": _json_line,
}
"""How an event becomes bytes: with an `event:` line as the specification says, or without, as several servers do; or
one a line."""


def one_large_event(size: int) -> bytes:
    """An event stream of one event with about `size` bytes of text."""
    return _with_event_line({"type": "response.output_text.done", "item_id": "msg_1", "text": "x" * size})


def _json(event: Event) -> str:
    return json.dumps(event, ensure_ascii=False, separators=(",", ":"))


def _response(count: int, items: Callable[[int], list[list[Event]]]) -> Iterator[Event]:
    response = {
        "id": _identifier("resp", 0),
        "object": "response",
        "created_at": 1767225600,
        "status": "in_progress",
        "model": "model-1",
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": None,
    }
    contents = items(count - 3)
    closing = response | {
        "status": "completed",
        "output": [content[-1]["item"] for content in contents],
        "usage": {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": count,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": count + 100,
        },
    }
    events = [
        {"type": "response.created", "response": response},
        {"type": "response.in_progress", "response": response},
        *(event for content in contents for event in content),
        {"type": "response.completed", "response": closing},
    ]
    for number, event in enumerate(events):
        yield {"type": event["type"], "sequence_number": number} | event


def _message(output_index: int, count: int) -> list[Event]:
    item_id = _identifier("msg", output_index)
    item = {"id": item_id, "type": "message", "status": "in_progress", "role": "assistant", "content": []}
    place = {"item_id": item_id, "output_index": output_index, "content_index": 0}
    part = {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
    deltas = list(_fragments(count - 5, output_index))
    whole = "".join(deltas)
    return [
        {"type": "response.output_item.added", "output_index": output_index, "item": item},
        {"type": "response.content_part.added", **place, "part": part},
        *(
            {"type": "response.output_text.delta", **place, "delta": delta, "logprobs": [], "obfuscation": padding}
            for delta, padding in zip(deltas, _paddings(count), strict=False)
        ),
        {"type": "response.output_text.done", **place, "text": whole, "logprobs": []},
        {"type": "response.content_part.done", **place, "part": part | {"text": whole}},
        _item_done(output_index, item | {"status": "completed", "content": [part | {"text": whole}]}),
    ]


def _reasoning(output_index: int, count: int) -> list[Event]:
    item_id = _identifier("rs", output_index)
    item = {"id": item_id, "type": "reasoning", "summary": []}
    place = {"item_id": item_id, "output_index": output_index, "summary_index": 0}
    deltas = list(_fragments(count - 5, output_index))
    part = {"type": "summary_text", "text": "".join(deltas)}
    return [
        {"type": "response.output_item.added", "output_index": output_index, "item": item},
        {"type": "response.reasoning_summary_part.added", **place, "part": part | {"text": ""}},
        *(
            {"type": "response.reasoning_summary_text.delta", **place, "delta": delta, "obfuscation": padding}
            for delta, padding in zip(deltas, _paddings(count), strict=False)
        ),
        {"type": "response.reasoning_summary_text.done", **place, "text": part["text"]},
        {"type": "response.reasoning_summary_part.done", **place, "part": part},
        _item_done(output_index, item | {"summary": [part]}),
    ]


def _calls(first_index: int, count: int) -> list[list[Event]]:
    calls = max(1, count // _EVENTS_OF_A_CALL)
    sizes = [count // calls + (1 if place < count % calls else 0) for place in range(calls)]
    return [_call(first_index + place, size) for place, size in enumerate(sizes)]


def _call(output_index: int, count: int) -> list[Event]:
    item_id = _identifier("fc", output_index)
    item = {
        "id": item_id,
        "type": "function_call",
        "status": "in_progress",
        "arguments": "",
        "call_id": _identifier("call", output_index)[:29],
        "name": "write_file",
    }
    place = {"item_id": item_id, "output_index": output_index}
    deltas = ['{"text":"', *_fragments(count - 5, output_index), '"}']
    arguments = "".join(deltas)
    return [
        {"type": "response.output_item.added", "output_index": output_index, "item": item},
        *(
            {"type": "response.function_call_arguments.delta", **place, "delta": delta, "obfuscation": padding}
            for delta, padding in zip(deltas, _paddings(count), strict=False)
        ),
        {"type": "response.function_call_arguments.done", **place, "arguments": arguments},
        _item_done(output_index, item | {"status": "completed", "arguments": arguments}),
    ]


def _item_done(output_index: int, item: Event) -> Event:
    return {"type": "response.output_item.done", "output_index": output_index, "item": item}


def _fragments(count: int, seed: int) -> Iterator[str]:
    """Pieces of prose of 4 to 6 characters."""
    random, place = Random(seed), 0
    for _ in range(count):
        size = random.randint(4, 6)
        yield (_WORDS * 2)[place : place + size]
        place = (place + size) % len(_WORDS)


def _paddings(count: int) -> Iterator[str]:
    """Random characters that hide the length of a delta, as OpenAI sends them by default."""
    random = Random(count)
    for _ in range(count):
        yield "".join(
            random.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", k=random.randint(8, 12))
        )


def _identifier(kind: str, number: int) -> str:
    return f"{kind}_{Random(f'{kind}{number}').getrandbits(200):050x}"
