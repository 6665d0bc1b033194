"""A character that a server cut in two, one half in each of two events: it comes out whole."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from matrix.rows import Event, Expected, Row

KIND = "A character is cut between two events."

_PIECES: Final = ("a\ud83d", "\ude00b")
_WHOLE: Final = "a😀b"
_INPUT: Final = ('{"a":"\ud83d', '\ude00"}')
_CALLED: Final = (("f", {"a": "😀"}),)


def _chat(**delta: Any) -> Event:
    return {"id": "x", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def _chat_arguments(piece: str, **first: Any) -> Event:
    function = {"arguments": piece, **({"name": "f"} if first else {})}
    return _chat(tool_calls=[{"index": 0, **first, "function": function}])


def _gemini(**part: Any) -> Event:
    return {"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}}]}


def _ollama(**message: Any) -> Event:
    return {"model": "m", "created_at": "t", "message": {"role": "assistant", **message}, "done": False}


def _block(place: int, kind: str, **first: Any) -> Event:
    return {"type": "content_block_start", "index": place, "content_block": {"type": kind, **first}}


def _delta(place: int, kind: str, **said: Any) -> Event:
    return {"type": "content_block_delta", "index": place, "delta": {"type": kind, **said}}


def _response(kind: str, piece: str, item: str, place: int) -> Event:
    return {
        "type": f"response.{kind}.delta",
        "item_id": item,
        "output_index": place,
        "content_index": 0,
        "delta": piece,
    }


_BEGUN: Final[Mapping[str, tuple[Event, ...]]] = {
    "openresponses": ({"type": "response.created", "response": {"id": "r", "model": "m", "output": []}},),
    "anthropic-messages": (
        {"type": "message_start", "message": {"id": "m", "role": "assistant", "model": "m", "content": []}},
    ),
    "gemini-interactions": ({"event_type": "interaction.created", "interaction": {"id": "i", "model": "m"}},),
    "ai-gateway": ({"type": "stream-start", "warnings": []},),
    "ag-ui": ({"type": "RUN_STARTED", "threadId": "t", "runId": "r"},),
}
_ENDED: Final[Mapping[str, tuple[Event, ...]]] = {
    "chat-completions": ({"id": "x", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},),
    "openresponses": ({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}},),
    "anthropic-messages": ({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, {"type": "message_stop"}),
    "gemini": ({"candidates": [{"index": 0, "finishReason": "STOP"}]},),
    "gemini-interactions": (
        {"event_type": "interaction.completed", "interaction": {"id": "i", "status": "completed"}},
    ),
    "ollama": ({"model": "m", "done": True, "done_reason": "stop"},),
    "ai-gateway": ({"type": "finish", "finishReason": "stop", "usage": {}},),
    "ag-ui": ({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},),
}

_TEXTS: Final[Mapping[str, Callable[[str], Event]]] = {
    "chat-completions": lambda piece: _chat(content=piece),
    "openresponses": lambda piece: _response("output_text", piece, "m", 0),
    "anthropic-messages": lambda piece: _delta(0, "text_delta", text=piece),
    "gemini": lambda piece: _gemini(text=piece),
    "gemini-interactions": lambda piece: {
        "event_type": "step.delta",
        "index": 0,
        "delta": {"type": "text", "text": piece},
    },
    "ollama": lambda piece: _ollama(content=piece),
    "ai-gateway": lambda piece: {"type": "text-delta", "id": "0", "delta": piece},
    "ag-ui": lambda piece: {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": piece},
}
_THOUGHTS: Final[Mapping[str, Callable[[str], Event]]] = {
    "chat-completions": lambda piece: _chat(reasoning_content=piece),
    "openresponses": lambda piece: _response("reasoning_text", piece, "t", 0),
    "anthropic-messages": lambda piece: _delta(0, "thinking_delta", thinking=piece),
    "gemini": lambda piece: _gemini(text=piece, thought=True),
    "gemini-interactions": lambda piece: {
        "event_type": "step.delta",
        "index": 0,
        "delta": {"type": "thought_summary", "content": {"type": "text", "text": piece}},
    },
    "ollama": lambda piece: _ollama(thinking=piece),
    "ai-gateway": lambda piece: {"type": "reasoning-delta", "id": "0", "delta": piece},
    "ag-ui": lambda piece: {"type": "REASONING_MESSAGE_CHUNK", "messageId": "t", "delta": piece},
}
_ITEM: Final = {"type": "function_call", "id": "fc", "call_id": "c", "name": "f"}
_ARGUMENTS: Final[Mapping[str, tuple[Event, ...]]] = {
    "chat-completions": (_chat_arguments(_INPUT[0], id="c", type="function"), _chat_arguments(_INPUT[1])),
    "openresponses": (
        {"type": "response.output_item.added", "output_index": 0, "item": {**_ITEM, "arguments": ""}},
        *(_response("function_call_arguments", piece, "fc", 0) for piece in _INPUT),
        {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": {**_ITEM, "arguments": json.dumps({"a": "😀"}, ensure_ascii=False, separators=(",", ":"))},
        },
    ),
    "anthropic-messages": (
        _block(0, "tool_use", id="c", name="f", input={}),
        *(_delta(0, "input_json_delta", partial_json=piece) for piece in _INPUT),
        {"type": "content_block_stop", "index": 0},
    ),
    "ai-gateway": (
        {"type": "tool-input-start", "id": "c", "toolName": "f"},
        *({"type": "tool-input-delta", "id": "c", "delta": piece} for piece in _INPUT),
        {"type": "tool-input-end", "id": "c"},
        {"type": "tool-call", "toolCallId": "c", "toolName": "f", "input": '{"a":"😀"}'},
    ),
    "ag-ui": (
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"},
        *({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": piece} for piece in _INPUT),
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
    ),
}


def _row(shape: str, wire: str, events: tuple[Event, ...], expected: Expected) -> Row:
    """A row whose bytes escape what is no ASCII: the other form cannot hold half a character."""
    said = (*_BEGUN.get(wire, ()), *events, *_ENDED[wire])
    lines = (json.dumps(event).encode() for event in said)
    data = b"".join(line + b"\n" if wire == "ollama" else b"data: " + line + b"\n\n" for line in lines)
    return Row(shape, wire, data, expected)


def _rows() -> Iterator[Row]:
    for wire, text in _TEXTS.items():
        yield _row("in a text", wire, tuple(map(text, _PIECES)), Expected(text=_WHOLE))
        pieces = ("\ud83d", "\ude00", "\ud83d", "\ude00b")
        yield _row("each half alone", wire, tuple(map(text, pieces)), Expected(text="😀😀b"))
        late = Expected(text="a", unmapped=("half of a character",))
        yield _row("no second half", wire, (text("a\ud83d"),), late)
    for wire, thought in _THOUGHTS.items():
        events = (*map(thought, _PIECES), *(map(_TEXTS[wire], ("!",)) if wire != "anthropic-messages" else ()))
        yield _row("in thinking", wire, events, Expected(text="!" if len(events) > 2 else "", thinking=_WHOLE))
    for wire, arguments in _ARGUMENTS.items():
        finish = "stop" if wire == "ai-gateway" else "tool-calls"
        yield _row("in arguments", wire, arguments, Expected(calls=_CALLED, finish=finish))
    text = _TEXTS["openresponses"]
    done = {"type": "response.output_text.done", "item_id": "m", "output_index": 0, "content_index": 0, "text": _WHOLE}
    yield _row("in a text that is repeated whole", "openresponses", (*map(text, _PIECES), done), Expected(text=_WHOLE))
    between = (
        _chat(content="a\ud83d"),
        _chat_arguments('{"a":"\ud83d', id="c", type="function"),
        _chat(content="\ude00b"),
        _chat_arguments('\ude00"}'),
    )
    both = Expected(text=_WHOLE, calls=_CALLED, finish="tool-calls")
    yield _row("in text and arguments, in turns", "chat-completions", between, both)


ROWS = tuple(_rows())
