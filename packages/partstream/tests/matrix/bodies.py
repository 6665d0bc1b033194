"""Bodies of answers with calls on every wire: a text, then calls with arguments in pieces, then the finish reason."""

from __future__ import annotations
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

Event = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A call: its arguments are texts, or objects, which only some wires have a place for."""

    pieces: tuple[Any, ...]
    name: str = "read"
    call_id: str | None = "call_1"

    @property
    def whole(self) -> Any:
        """The arguments in one value: their text, or the one object."""
        if len(self.pieces) == 1 and not isinstance(self.pieces[0], str):
            return self.pieces[0]
        return "".join(one if isinstance(one, str) else json.dumps(one) for one in self.pieces)


_Make = Callable[[str, Sequence[Call], bool], Any]


def _named(call: Call, field: str = "id") -> dict[str, Any]:
    return {} if call.call_id is None else {field: call.call_id}


def _chat_chunk(delta: Event, reason: str | None = None) -> Event:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}


def _chat(said: str, calls: Sequence[Call], is_cut: bool) -> list[Event]:
    events = [_chat_chunk({"role": "assistant", "content": said})]
    for place, call in enumerate(calls):
        function = {"name": call.name, "arguments": ""}
        events.append(_chat_chunk({"tool_calls": [{"index": place, "function": function, **_named(call)}]}))
        events += [
            _chat_chunk({"tool_calls": [{"index": place, "function": {"arguments": piece}}]}) for piece in call.pieces
        ]
    return [*events, _chat_chunk({}, "length" if is_cut else "tool_calls")]


def _chat_document(said: str, calls: Sequence[Call], is_cut: bool) -> Event:
    wires = [
        {"type": "function", "function": {"name": one.name, "arguments": one.whole}, **_named(one)} for one in calls
    ]
    message = {"role": "assistant", "content": said, "tool_calls": wires}
    choice = {"index": 0, "message": message, "finish_reason": "length" if is_cut else "tool_calls"}
    return {"id": "c", "object": "chat.completion", "model": "m", "choices": [choice]}


def _responses_items(said: str, calls: Sequence[Call], is_cut: bool) -> list[dict[str, Any]]:
    part = {"type": "output_text", "text": said, "annotations": []}
    message = {"type": "message", "id": "msg", "role": "assistant", "status": "completed", "content": [part]}
    last = len(calls) - 1
    return [message] + [
        {
            "type": "function_call", "id": f"fc_{place}", "name": call.name, "arguments": call.whole,
            "status": "incomplete" if is_cut and place == last else "completed", **_named(call, "call_id"),
        }
        for place, call in enumerate(calls)
    ]  # fmt: skip


def _responses_end(items: Sequence[Event], is_cut: bool) -> Event:
    status = "incomplete" if is_cut else "completed"
    details = {"incomplete_details": {"reason": "max_output_tokens"}} if is_cut else {}
    return {"id": "r", "object": "response", "model": "m", "status": status, "output": items, **details}


def _responses(said: str, calls: Sequence[Call], is_cut: bool) -> list[Event]:
    opened = {"id": "r", "object": "response", "model": "m", "status": "in_progress", "output": []}
    message, *items = _responses_items(said, calls, is_cut)
    events: list[Event] = [
        {"type": "response.created", "response": opened},
        {"type": "response.output_item.added", "output_index": 0, "item": {**message, "content": []}},
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "item_id": "msg", "delta": said},
        {"type": "response.output_item.done", "output_index": 0, "item": message},
    ]
    for place, (call, item) in enumerate(zip(calls, items, strict=True), 1):
        where = {"output_index": place, "item_id": item["id"]}
        events.append({"type": "response.output_item.added", **where, "item": {**item, "arguments": ""}})
        kind = "response.function_call_arguments.delta"
        events += [{"type": kind, **where, "delta": one} for one in call.pieces if isinstance(one, str)]
        if item["status"] == "completed":
            kind = "response.function_call_arguments.done"
            events.append({"type": kind, **where, "arguments": item["arguments"]})
        events.append({"type": "response.output_item.done", **where, "item": item})
    kind = "response.incomplete" if is_cut else "response.completed"
    return [*events, {"type": kind, "response": _responses_end([], is_cut)}]


def _responses_document(said: str, calls: Sequence[Call], is_cut: bool) -> Event:
    return _responses_end(_responses_items(said, calls, is_cut), is_cut)


def _anthropic(said: str, calls: Sequence[Call], is_cut: bool) -> list[Event]:
    message = {"id": "msg", "type": "message", "role": "assistant", "model": "m", "content": []}
    events: list[Event] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": said}},
        {"type": "content_block_stop", "index": 0},
    ]
    for place, call in enumerate(calls, 1):
        block = {"type": "tool_use", "name": call.name, "input": {}, **_named(call)}
        deltas = ({"type": "input_json_delta", "partial_json": piece} for piece in ("", *call.pieces))
        events += [
            {"type": "content_block_start", "index": place, "content_block": block},
            *({"type": "content_block_delta", "index": place, "delta": delta} for delta in deltas),
            {"type": "content_block_stop", "index": place},
        ]
    end = {"type": "message_delta", "delta": {"stop_reason": "max_tokens" if is_cut else "tool_use"}}
    return [*events, end, {"type": "message_stop"}]


def _anthropic_document(said: str, calls: Sequence[Call], is_cut: bool) -> Event:
    blocks = [{"type": "tool_use", "name": call.name, "input": call.whole, **_named(call)} for call in calls]
    content = [{"type": "text", "text": said}, *blocks]
    reason = "max_tokens" if is_cut else "tool_use"
    return {
        "id": "msg", "type": "message", "role": "assistant", "model": "m", "content": content, "stop_reason": reason
    }  # fmt: skip


def _gemini_chunk(*parts: Event, **fields: Any) -> Event:
    content = {"role": "model", "parts": list(parts)}
    return {"candidates": [{"content": content, "index": 0, **fields}], "responseId": "r", "modelVersion": "m"}


def _gemini_parts(calls: Sequence[Call]) -> list[Event]:
    return [{"functionCall": {"name": call.name, "args": call.whole, **_named(call)}} for call in calls]


def _gemini(said: str, calls: Sequence[Call], is_cut: bool) -> list[Event]:
    end = _gemini_chunk(finishReason="MAX_TOKENS" if is_cut else "STOP")
    return [_gemini_chunk({"text": said}), *map(_gemini_chunk, _gemini_parts(calls)), end]


def _gemini_document(said: str, calls: Sequence[Call], is_cut: bool) -> Event:
    reason = "MAX_TOKENS" if is_cut else "STOP"
    return _gemini_chunk({"text": said}, *_gemini_parts(calls), finishReason=reason)


def _interactions(said: str, calls: Sequence[Call], is_cut: bool) -> list[Event]:
    events: list[Event] = [
        {"event_type": "interaction.created", "interaction": {"id": "i", "status": "in_progress", "model": "m"}},
        {"event_type": "step.start", "index": 0, "step": {"type": "model_output"}},
        {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": said}},
        {"event_type": "step.stop", "index": 0},
    ]
    for place, call in enumerate(calls, 1):
        step = {"type": "function_call", "name": call.name, "arguments": {}, **_named(call)}
        deltas = ({"type": "arguments_delta", "arguments": piece} for piece in call.pieces)
        events += [
            {"event_type": "step.start", "index": place, "step": step},
            *({"event_type": "step.delta", "index": place, "delta": delta} for delta in deltas),
            {"event_type": "step.stop", "index": place},
        ]
    status = "incomplete" if is_cut else "requires_action"
    return [*events, {"event_type": "interaction.completed", "interaction": {"id": "i", "status": status}}]


def _interactions_document(said: str, calls: Sequence[Call], is_cut: bool) -> Event:
    steps = [{"type": "function_call", "name": one.name, "arguments": one.whole, **_named(one)} for one in calls]
    output = {"type": "model_output", "content": [{"type": "text", "text": said}]}
    return {"id": "i", "status": "incomplete" if is_cut else "requires_action", "steps": [output, *steps]}


def _ollama(said: str, calls: Sequence[Call], is_cut: bool) -> list[Event]:
    lines: list[Event] = [{"model": "m", "message": {"role": "assistant", "content": said}, "done": False}]
    for call in calls:
        wire = {"function": {"name": call.name, "arguments": call.whole}, **_named(call)}
        message = {"role": "assistant", "content": "", "tool_calls": [wire]}
        lines.append({"model": "m", "message": message, "done": False})
    reason = "length" if is_cut else "stop"
    end = {"model": "m", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": reason}
    return [*lines, end]


def _ollama_document(said: str, calls: Sequence[Call], is_cut: bool) -> Event:
    wires = [{"function": {"name": call.name, "arguments": call.whole}, **_named(call)} for call in calls]
    message = {"role": "assistant", "content": said, "tool_calls": wires}
    return {"model": "m", "message": message, "done": True, "done_reason": "length" if is_cut else "stop"}


def _sdk(said: str, calls: Sequence[Call], is_cut: bool) -> list[Event]:
    events: list[Event] = [
        {"type": "text-start", "id": "t"},
        {"type": "text-delta", "id": "t", "delta": said},
        {"type": "text-end", "id": "t"},
    ]
    for call in calls:
        events += [
            {"type": "tool-input-start", "id": call.call_id, "toolName": call.name},
            *({"type": "tool-input-delta", "id": call.call_id, "delta": piece} for piece in call.pieces),
            {"type": "tool-input-end", "id": call.call_id},
        ]
    return [*events, {"type": "finish", "finishReason": "length" if is_cut else "tool-calls", "usage": {}}]


def _gateway_document(said: str, calls: Sequence[Call], is_cut: bool) -> Event:
    wires = [
        {"type": "tool-call", "toolCallId": call.call_id, "toolName": call.name, "input": call.whole} for call in calls
    ]
    reason = "length" if is_cut else "tool-calls"
    return {"content": [{"type": "text", "text": said}, *wires], "finishReason": reason, "usage": {}, "warnings": []}


def _ag_ui(said: str, calls: Sequence[Call], _is_cut: bool) -> list[Event]:
    events: list[Event] = [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": said},
        {"type": "TEXT_MESSAGE_END", "messageId": "m"},
    ]
    for call in calls:
        events += [
            {"type": "TOOL_CALL_START", "toolCallId": call.call_id, "toolCallName": call.name},
            *({"type": "TOOL_CALL_ARGS", "toolCallId": call.call_id, "delta": piece} for piece in call.pieces),
            {"type": "TOOL_CALL_END", "toolCallId": call.call_id},
        ]
    return [*events, {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}]


STREAMS: Final[dict[str, _Make]] = {
    "chat-completions": _chat,
    "openresponses": _responses,
    "anthropic-messages": _anthropic,
    "gemini": _gemini,
    "gemini-interactions": _interactions,
    "ollama": _ollama,
    "ai-sdk": _sdk,
    "ai-gateway": _sdk,
    "ag-ui": _ag_ui,
}
DOCUMENTS: Final[dict[str, _Make]] = {
    "chat-completions": _chat_document,
    "openresponses": _responses_document,
    "anthropic-messages": _anthropic_document,
    "gemini": _gemini_document,
    "gemini-interactions": _interactions_document,
    "ollama": _ollama_document,
    "ai-gateway": _gateway_document,
}
PIECES: Final = frozenset(STREAMS) - {"gemini", "ollama"}
"""The wires that send arguments in pieces of a text."""
TYPED_PIECES: Final = PIECES - {"openresponses"}
"""The wires whose readers meet an object where a piece of text belongs."""
CUTS: Final = frozenset(STREAMS) - {"ag-ui"}
"""The wires that say that a limit ended the answer."""
