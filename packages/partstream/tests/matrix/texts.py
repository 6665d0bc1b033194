"""An answer that is nothing but text, on each wire: as pieces of a stream, and as a document."""

from collections.abc import Sequence
from typing import Any

from matrix.rows import Event

_MESSAGE = {"type": "message", "id": "m1", "role": "assistant", "status": "completed"}


def _chat(pieces: Sequence[str]) -> list[Event]:
    deltas: list[dict[str, Any]] = [{"content": piece} for piece in pieces]
    return [
        *({"id": "c1", "model": "m", "choices": [{"index": 0, "delta": delta}]} for delta in deltas),
        {"id": "c1", "model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    ]


def _ollama(pieces: Sequence[str]) -> list[Event]:
    return [
        *({"model": "m", "message": {"role": "assistant", "content": piece}, "done": False} for piece in pieces),
        {"model": "m", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"},
    ]


def _responses(pieces: Sequence[str]) -> list[Event]:
    place = {"item_id": "m1", "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "text": "".join(pieces), "annotations": []}
    item = {**_MESSAGE, "content": [part]}
    return [
        {"type": "response.created", "response": {"id": "r1", "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**_MESSAGE, "content": []}},
        {"type": "response.content_part.added", **place, "part": {**part, "text": ""}},
        *({"type": "response.output_text.delta", **place, "delta": piece} for piece in pieces),
        {"type": "response.output_text.done", **place, "text": part["text"]},
        {"type": "response.content_part.done", **place, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r1", "status": "completed", "output": [item]}},
    ]


def _messages(pieces: Sequence[str]) -> list[Event]:
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    message = {"id": "m1", "type": "message", "role": "assistant", "model": "m", "content": []}
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]


def _gemini(pieces: Sequence[str]) -> list[Event]:
    contents = [{"role": "model", "parts": [{"text": piece}]} for piece in pieces]
    return [
        *({"candidates": [{"content": content}]} for content in contents),
        {"candidates": [{"content": {"role": "model", "parts": []}, "finishReason": "STOP"}]},
    ]


def _provider(pieces: Sequence[str]) -> list[Event]:
    return [
        {"type": "stream-start", "warnings": []},
        {"type": "text-start", "id": "0"},
        *({"type": "text-delta", "id": "0", "delta": piece} for piece in pieces),
        {"type": "text-end", "id": "0"},
        {"type": "finish", "finishReason": "stop", "usage": {}},
    ]


def _full(pieces: Sequence[str]) -> list[Event]:
    return [
        {"type": "start"},
        {"type": "text-start", "id": "0"},
        *({"type": "text-delta", "id": "0", "text": piece} for piece in pieces),
        {"type": "text-end", "id": "0"},
        {"type": "finish", "finishReason": "stop", "totalUsage": {}},
    ]


def _ui(pieces: Sequence[str]) -> list[Event]:
    return [
        {"type": "start", "messageId": "m"},
        {"type": "text-start", "id": "0"},
        *({"type": "text-delta", "id": "0", "delta": piece} for piece in pieces),
        {"type": "text-end", "id": "0"},
        {"type": "finish", "finishReason": "stop"},
    ]


def _ag_ui(pieces: Sequence[str]) -> list[Event]:
    return [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
        *({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": piece} for piece in pieces),
        {"type": "TEXT_MESSAGE_END", "messageId": "m"},
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
    ]


STREAMS = {
    "chat-completions": _chat,
    "ollama": _ollama,
    "openresponses": _responses,
    "anthropic-messages": _messages,
    "gemini": _gemini,
    "ai-gateway": _provider,
    "ai-sdk": _full,
    "ai-sdk-ui": _ui,
    "ag-ui": _ag_ui,
}
"""The events of an answer by its pieces."""


def _chat_document(text: str) -> Event:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {"id": "c1", "object": "chat.completion", "model": "m", "choices": [choice]}


def _ollama_document(text: str) -> Event:
    return {"model": "m", "message": {"role": "assistant", "content": text}, "done": True, "done_reason": "stop"}


def _responses_document(text: str) -> Event:
    item = {**_MESSAGE, "content": [{"type": "output_text", "text": text, "annotations": []}]}
    return {"id": "r1", "object": "response", "status": "completed", "output": [item]}


def _messages_document(text: str) -> Event:
    said = {"id": "m1", "type": "message", "role": "assistant", "model": "m"}
    return {**said, "content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "usage": {}}


def _gemini_document(text: str) -> Event:
    return {"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}]}


def _provider_document(text: str) -> Event:
    return {"content": [{"type": "text", "text": text}], "finishReason": "stop", "usage": {}, "warnings": []}


DOCUMENTS = {
    "chat-completions": _chat_document,
    "ollama": _ollama_document,
    "openresponses": _responses_document,
    "anthropic-messages": _messages_document,
    "gemini": _gemini_document,
    "ai-gateway": _provider_document,
}
"""The document of an answer by its text, of the wires that have documents."""
