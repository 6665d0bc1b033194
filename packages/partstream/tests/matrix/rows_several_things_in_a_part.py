"""A part, a block or a delta that holds several things: all of them come out, in their order."""

from typing import Any, Final

from matrix.rows import Expected, Row

KIND = "One part holds several things."

_PNG: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_URL: Final = f"data:image/png;base64,{_PNG}"
_CALL: Final = {"functionCall": {"name": "f", "args": {"a": 1}}}
_FILE: Final = {"inlineData": {"mimeType": "image/png", "data": _PNG}}
_CALLED: Final = (("f", {"a": 1}),)


def _gemini(shape: str, expected: Expected, *parts: Any, source: str = "") -> tuple[Row, Row]:
    chunk = {
        "responseId": "r",
        "modelVersion": "m",
        "candidates": [{"index": 0, "content": {"role": "model", "parts": list(parts)}, "finishReason": "STOP"}],
    }
    return Row(shape, "gemini", (chunk,), expected, source), Row(shape, "gemini", chunk, expected, source)


def _chat(shape: str, expected: Expected, said: Any, source: str = "") -> tuple[Row, Row]:
    about = {"id": "x", "model": "m"}
    return (
        Row(
            shape,
            "chat-completions",
            ({**about, "choices": [{"index": 0, "delta": said, "finish_reason": "stop"}]},),
            expected,
            source,
        ),
        Row(
            shape,
            "chat-completions",
            {**about, "choices": [{"index": 0, "message": {"role": "assistant", **said}, "finish_reason": "stop"}]},
            expected,
            source,
        ),
    )


ROWS = (
    *_gemini(
        "text and a call",
        Expected(text="Let me check.", calls=_CALLED, finish="tool-calls"),
        {"text": "Let me check.", **_CALL},
        source="hermes-agent#109862",
    ),
    *_gemini(
        "an empty text and a call",
        Expected(calls=_CALLED, finish="tool-calls"),
        {"text": "", **_CALL, "thoughtSignature": "c2ln"},
    ),
    *_gemini("text and a picture", Expected(text="See:", media=("image/png",)), {"text": "See:", **_FILE}),
    *_gemini("a picture and text", Expected(text="Seen.", media=("image/png",)), {**_FILE, "text": "Seen."}),
    *_gemini(
        "text, a picture and a call",
        Expected(text="See:", media=("image/png",), calls=_CALLED, finish="tool-calls"),
        {"text": "See:", **_FILE, **_CALL},
    ),
    *_gemini(
        "a thought and a call",
        Expected(thinking="Hm.", calls=_CALLED, finish="tool-calls"),
        {"text": "Hm.", "thought": True, **_CALL},
    ),
    *_chat(
        "text and a picture",
        Expected(text="See:", media=("image/png",)),
        {"content": [{"type": "text", "text": "See:", "image_url": {"url": _URL}}]},
    ),
    *_chat(
        "a picture and text",
        Expected(text="Seen.", media=("image/png",)),
        {"content": [{"type": "image_url", "image_url": {"url": _URL}, "text": "Seen."}]},
    ),
    *_chat(
        "text, a picture and a call",
        Expected(text="See:", media=("image/png",), calls=_CALLED, finish="tool-calls"),
        {
            "content": "See:",
            "images": [{"type": "image_url", "image_url": {"url": _URL}}],
            "tool_calls": [
                {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
            ],
        },
    ),
    Row(
        "thinking, text, a picture and a call",
        "ollama",
        (
            {
                "model": "m",
                "created_at": "t",
                "message": {
                    "role": "assistant",
                    "thinking": "Hm.",
                    "content": "See:",
                    "images": [_PNG],
                    "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}],
                },
                "done": True,
                "done_reason": "stop",
            },
        ),
        Expected(text="See:", thinking="Hm.", media=("image/png",), calls=_CALLED, finish="tool-calls"),
    ),
    Row(
        "text and thinking in a delta",
        "anthropic-messages",
        (
            {"type": "message_start", "message": {"id": "m", "role": "assistant", "model": "m", "content": []}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": "Hi ", "thinking": "Hm."},
            },
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "there."}},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
            {"type": "message_stop"},
        ),
        Expected(text="Hi there.", thinking="Hm."),
    ),
    Row(
        "text and arguments in a delta",
        "anthropic-messages",
        (
            {"type": "message_start", "message": {"id": "m", "role": "assistant", "model": "m", "content": []}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "c", "name": "f"}},
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": '{"a"', "text": "See:"},
            },
            {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": ":1}"}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
            {"type": "message_stop"},
        ),
        Expected(text="See:", calls=_CALLED, finish="tool-calls"),
    ),
)
