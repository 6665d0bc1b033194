"""Errors of servers in shapes and at places where no specification has them.

The message is the server's own words, whatever holds them; text that came before stays.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from matrix.bodies import DOCUMENTS
from matrix.rows import Event, Expected, Row

KIND = "An error hides in another place than the wire has for it."

_SAID: Final = "The key is wrong"

SHAPES: Final[Mapping[str, tuple[Any, str]]] = {
    "an object": ({"error": {"message": _SAID, "type": "authentication_error", "code": 401}}, "vllm#40418"),
    "a text": ({"error": _SAID}, "exo#1758"),
    "words beside an object": ({"error": {"type": "authentication_error"}, "message": _SAID}, "goai#110"),
    "a list of errors": ({"errors": [{"message": _SAID, "code": 10000}]}, ""),
    "a list of texts": ({"errors": [_SAID]}, ""),
    "a detail": ({"detail": _SAID}, ""),
    "a detail with fields": ({"detail": [{"loc": ["body", "model"], "msg": _SAID}]}, ""),
    "a detail that is an object": ({"detail": {"message": _SAID, "code": "invalid_api_key"}}, ""),
    "a code and words": ({"code": "InvalidApiKey", "message": _SAID, "request_id": "r1"}, "vscode#320926"),
    "a number and words": ({"code": 500, "msg": _SAID}, ""),
    "words of another name": ({"error_code": 336003, "error_msg": _SAID}, ""),
    "words alone": ({"message": _SAID}, ""),
    "words and a type": ({"message": _SAID, "type": "authentication_error"}, ""),
    "words and a status": ({"status": "error", "message": _SAID}, ""),
    "no success": ({"success": False, "message": _SAID}, ""),
    "the JSON of another error": (
        {"error": {"code": 401, "message": json.dumps({"error": {"message": _SAID, "status": "UNAUTHENTICATED"}})}},
        "",
    ),
    "a list of one": ([{"error": {"code": 401, "message": _SAID, "status": "UNAUTHENTICATED"}}], ""),
    "MiniMax's": ({"base_resp": {"status_code": 1004, "status_msg": _SAID}}, ""),
    "words without JSON": (f"401 {_SAID}".encode(), "own variation of preloop#121"),
    "a page": (f"<html><head><title>{_SAID}</title></head><body>x</body></html>".encode(), ""),
}
"""The shapes, each with its source."""

_TEXT: Final[Mapping[str, tuple[Event, ...]]] = {
    "chat-completions": (
        {
            "id": "x",
            "object": "chat.completion.chunk",
            "model": "m",
            "choices": [{"index": 0, "delta": {"content": "Hi"}}],
        },
    ),
    "openresponses": (
        {"type": "response.created", "response": {"id": "r", "model": "m", "status": "in_progress", "output": []}},
        {
            "type": "response.output_text.delta",
            "item_id": "i",
            "output_index": 0,
            "content_index": 0,
            "delta": "Hi",
        },
    ),
    "anthropic-messages": (
        {
            "type": "message_start",
            "message": {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": []},
        },
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
    ),
    "gemini": ({"candidates": [{"content": {"role": "model", "parts": [{"text": "Hi"}]}, "index": 0}]},),
    "gemini-interactions": (
        {"event_type": "interaction.created", "interaction": {"id": "i", "model": "m", "status": "in_progress"}},
        {"event_type": "step.start", "index": 0, "step": {"type": "model_output"}},
        {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": "Hi"}},
    ),
    "ollama": ({"model": "m", "created_at": "t", "message": {"role": "assistant", "content": "Hi"}, "done": False},),
    "ai-sdk-ui": (
        {"type": "start"},
        {"type": "text-start", "id": "0"},
        {"type": "text-delta", "id": "0", "delta": "Hi"},
    ),
    "ai-gateway": (
        {"type": "stream-start", "warnings": []},
        {"type": "text-start", "id": "0"},
        {"type": "text-delta", "id": "0", "delta": "Hi"},
    ),
    "ag-ui": (
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Hi"},
    ),
}
"""The beginning of an answer on each wire."""

_FAILED: Final = Expected(finish="error", outcome="failed", error=_SAID)
_FAILED_LATE: Final = replace(_FAILED, text="Hi")


def _bytes(wire: str, events: tuple[Event, ...], shape: Any) -> bytes:
    said = shape if isinstance(shape, bytes) else json.dumps(shape).encode()
    last = said + b"\n" if wire == "ollama" else b"data: " + said + b"\n\n"
    return Row("", wire, events, _FAILED).data() + last if wire != "chat-completions" else _sse(events) + last


def _sse(events: tuple[Event, ...]) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def _shapes() -> Iterator[Row]:
    for wire, begun in _TEXT.items():
        for shape, (value, source) in SHAPES.items():
            yield Row(f"{shape}, first", wire, _bytes(wire, (), value), _FAILED, source)
            yield Row(f"{shape}, after text", wire, _bytes(wire, begun, value), _FAILED_LATE, source)


_ERROR: Final = {"message": _SAID, "code": 401}

_PLACES: Final = (
    Row(
        "in a choice, beside a finish reason",
        "chat-completions",
        (
            *_TEXT["chat-completions"],
            {"id": "x", "choices": [{"index": 0, "delta": {}, "finish_reason": "error", "error": _ERROR}]},
        ),
        _FAILED_LATE,
    ),
    Row(
        "in a choice, after its text",
        "chat-completions",
        ({"id": "x", "choices": [{"index": 0, "delta": {"content": "Hi"}, "error": _ERROR}]},),
        _FAILED_LATE,
    ),
    Row(
        "in a delta",
        "chat-completions",
        (*_TEXT["chat-completions"], {"id": "x", "choices": [{"index": 0, "delta": {"error": _ERROR}}]}),
        _FAILED_LATE,
    ),
    Row(
        "in a choice",
        "chat-completions",
        {
            "id": "x",
            "object": "chat.completion",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": "Hi"},
                    "finish_reason": "error",
                    "error": _ERROR,
                }
            ],
        },
        _FAILED_LATE,
    ),
    Row(
        "beside the choices",
        "chat-completions",
        (
            *_TEXT["chat-completions"],
            {"id": "x", "error": _ERROR, "choices": [{"index": 0, "delta": {}, "finish_reason": "error"}]},
        ),
        _FAILED_LATE,
    ),
    Row(
        "in a candidate",
        "gemini",
        (*_TEXT["gemini"], {"candidates": [{"index": 0, "finishReason": "OTHER", "error": _ERROR}]}),
        _FAILED_LATE,
    ),
    Row(
        "beside the candidates",
        "gemini",
        (*_TEXT["gemini"], {"candidates": [{"index": 0, "finishReason": "STOP"}], "error": _ERROR}),
        _FAILED_LATE,
    ),
    Row(
        "in a message",
        "ollama",
        (
            *_TEXT["ollama"],
            {"model": "m", "message": {"role": "assistant", "content": "", "error": _SAID}, "done": True},
        ),
        _FAILED_LATE,
    ),
    Row(
        "beside a finish reason",
        "ollama",
        (*_TEXT["ollama"], {"model": "m", "done": True, "done_reason": "error", "error": _SAID}),
        _FAILED_LATE,
    ),
    Row(
        "beside a stop reason",
        "anthropic-messages",
        (
            *_TEXT["anthropic-messages"],
            {"type": "message_delta", "delta": {"stop_reason": "error"}, "error": _ERROR},
        ),
        _FAILED_LATE,
    ),
    Row(
        "under a type of its own",
        "anthropic-messages",
        (*_TEXT["anthropic-messages"], {"type": "authentication_error", "message": _SAID}),
        _FAILED_LATE,
    ),
    Row(
        "under a type of its own",
        "openresponses",
        (*_TEXT["openresponses"], {"type": "response.error", "error": _ERROR}),
        _FAILED_LATE,
    ),
    Row(
        "in a response that is completed",
        "openresponses",
        (
            *_TEXT["openresponses"],
            {"type": "response.completed", "response": {"id": "r", "status": "completed", "error": _ERROR}},
        ),
        _FAILED_LATE,
    ),
    Row(
        "in the response",
        "gemini-interactions",
        (
            *_TEXT["gemini-interactions"],
            {
                "event_type": "interaction.completed",
                "interaction": {"id": "i", "status": "failed", "error": {"message": _SAID}},
            },
        ),
        _FAILED_LATE,
    ),
    Row(
        "beside a finish reason",
        "ai-gateway",
        (*_TEXT["ai-gateway"], {"type": "finish", "finishReason": "error", "error": _ERROR}),
        _FAILED_LATE,
    ),
    Row(
        "beside its type",
        "ai-gateway",
        (*_TEXT["ai-gateway"], {"type": "error", "message": _SAID, "code": 401}),
        _FAILED_LATE,
    ),
    Row(
        "in an object beside its type",
        "ag-ui",
        (*_TEXT["ag-ui"], {"type": "RUN_ERROR", "error": _ERROR}),
        _FAILED_LATE,
    ),
)


def _ended_by(word: str, said: str | None = None) -> dict[str, Event]:
    """The last event of an answer with a finish word, on each wire that has words of servers."""
    details = {} if said is None else {"stop_details": {"explanation": said}}
    message = {} if said is None else {"finishMessage": said}
    return {
        "chat-completions": {"id": "x", "choices": [{"index": 0, "delta": {}, "finish_reason": word}]},
        "anthropic-messages": {"type": "message_delta", "delta": {"stop_reason": word, **details}},
        "gemini": {"candidates": [{"index": 0, "finishReason": word.upper(), **message}]},
        "ollama": {"model": "m", "done": True, "done_reason": word},
    }


_WORD_ALONE: Final[Mapping[str, Event]] = {
    **_ended_by("error"),
    "openresponses": {"type": "response.failed", "response": {"id": "r", "status": "failed"}},
    "gemini-interactions": {"event_type": "interaction.completed", "interaction": {"id": "i", "status": "failed"}},
    "ai-sdk-ui": {"type": "finish", "finishReason": "error"},
    "ai-gateway": {"type": "finish", "finishReason": "error"},
}
"""The last event of an answer whose finish word alone says that it failed."""


_WORDS: Final = {
    "internal_error": "it gave no reason",
    "network_error": "a network error on its side",
    "malformed_function_call": "the model made a tool call that the server cannot read",
}
"""Words of failure, and what they mean; gateways pass those of one wire on to another."""


def _words_alone() -> Iterator[Row]:
    for wire, last in _WORD_ALONE.items():
        said = "the interaction failed" if wire == "gemini-interactions" else "it gave no reason"
        yield Row("in the finish word alone", wire, (*_TEXT[wire], last), replace(_FAILED_LATE, error=said))
    for word, said in _WORDS.items():
        for wire, last in _ended_by(word).items():
            yield Row(f"in the finish word `{word}`", wire, (*_TEXT[wire], last), replace(_FAILED_LATE, error=said))
    for wire, cut in {"chat-completions": "length", "anthropic-messages": "max_tokens", "gemini": "MAX_TOKENS",
                      "ollama": "length"}.items():  # fmt: skip
        word = "ERROR" if cut.isupper() else "error"
        document = json.loads(json.dumps(DOCUMENTS[wire]("Hi", (), True)).replace(f'"{cut}"', f'"{word}"'))
        yield Row("in the finish word alone", wire, document, replace(_FAILED_LATE, error="it gave no reason"))
    events = (*_TEXT["anthropic-messages"], _WORD_ALONE["anthropic-messages"], {"type": "message_stop"})
    right = replace(_FAILED_LATE, error="it gave no reason")
    yield Row("in the finish word alone, before its end", "anthropic-messages", events, right)
    for word in ("error", "internal_error"):
        ends = _ended_by(word, _SAID)
        for wire in ("anthropic-messages", "gemini"):
            yield Row(f"beside the finish word `{word}`", wire, (*_TEXT[wire], ends[wire]), _FAILED_LATE)
    for wire, last in _ended_by("error_free").items():
        right = Expected(text="Hi", finish="other")
        yield Row("in no unknown finish word", wire, (*_TEXT[wire], last), right)
    # Emulators say why in the text (own variation of several of them), some without `done`.
    words = "Error: could not connect to the service"
    for shape, fields in {"and the text": {"done": True}, "and the text, without an end": {}}.items():
        last = {"model": "m", "message": {"role": "assistant", "content": words}, "done_reason": "error", **fields}
        expected = replace(_FAILED, text=f"Hi{words}", error=words)
        yield Row(f"in the finish word {shape}", "ollama", (*_TEXT["ollama"], last), expected)


ROWS = (*_shapes(), *_PLACES, *_words_alone())
