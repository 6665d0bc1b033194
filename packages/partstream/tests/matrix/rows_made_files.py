"""Pictures, sound and other files that a server made: each becomes a part, once."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from matrix.rows import Expected, Row

KIND = "A server makes a picture or another file."

_PNG: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_URL: Final = f"data:image/png;base64,{_PNG}"
_SHOWN: Final = Expected(media=("image/png",))
_ITEM: Final = {
    "type": "image_generation_call",
    "id": "ig_1",
    "status": "completed",
    "result": _PNG,
    "output_format": "png",
}
_MESSAGE: Final = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [
        {"type": "output_text", "text": "See:", "annotations": []},
        {"type": "output_image", "image_url": _URL},
    ],
}


def _response(*items: Any) -> dict[str, Any]:
    return {"id": "r", "object": "response", "model": "m", "status": "completed", "output": list(items)}


def _made(*between: Any, final: Any = ()) -> tuple[dict[str, Any], ...]:
    begun = {**_ITEM, "status": "in_progress", "result": None}
    return (
        {"type": "response.created", "response": {**_response(), "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": begun},
        {"type": "response.image_generation_call.in_progress", "output_index": 0, "item_id": "ig_1"},
        {"type": "response.image_generation_call.generating", "output_index": 0, "item_id": "ig_1"},
        *between,
        {"type": "response.image_generation_call.completed", "output_index": 0, "item_id": "ig_1"},
        {"type": "response.output_item.done", "output_index": 0, "item": _ITEM},
        {"type": "response.completed", "response": _response(*final)},
    )


def _draft(number: int) -> dict[str, Any]:
    return {
        "type": "response.image_generation_call.partial_image",
        "output_index": 0,
        "item_id": "ig_1",
        "partial_image_index": number,
        "partial_image_b64": _PNG,
    }


def _chat(shape: str, expected: Expected, said: Any, *more: Any) -> tuple[Row, ...]:
    about = {"id": "x", "model": "m"}
    deltas = [said, *more]
    chunks = [{**about, "choices": [{"index": 0, "delta": one, "finish_reason": None}]} for one in deltas]
    end = {**about, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    stream = Row(shape, "chat-completions", (*chunks, end), expected)
    if more:
        return (stream,)
    message = {"role": "assistant", "content": None, **said}
    document = {**about, "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    return stream, Row(shape, "chat-completions", document, expected)


_IMAGE: Final = {"type": "image_url", "image_url": {"url": _URL}}
_WAV: Final = "UklGRiQAAABXQVZFZm10IBAAAAABAAEA"

_PARTS: Final = {
    "candidates": [
        {
            "index": 0,
            "content": {"role": "model", "parts": [{"inlineData": {"mimeType": "image/png", "data": _PNG}}]},
            "finishReason": "STOP",
        }
    ]
}
_STEP: Final = {"type": "model_output", "content": [{"type": "image", "data": _PNG, "mime_type": "image/png"}]}
_LINE: Final = {
    "model": "m",
    "created_at": "t",
    "message": {"role": "assistant", "content": "", "images": [_PNG]},
    "done": True,
    "done_reason": "stop",
}

_FILE_CHUNKS: Final = (
    {"type": "stream-start", "warnings": []},
    {"type": "file", "mediaType": "image/png", "data": _PNG},
    {"type": "finish", "finishReason": "stop", "usage": {}},
)
_LOOSE: Final = {
    "a blank": f"{_PNG[:10]} {_PNG[10:]}",
    "lines and a blank": f"{_PNG[:40]}\r\n{_PNG[40:80]}\n{_PNG[80:90]} {_PNG[90:]}",
    "blanks at both ends": f" {_PNG}\n",
    "the alphabet of URLs, without padding": _PNG.translate(str.maketrans("+/", "-_")).rstrip("="),
}
"""Base64 that a strict decoder refuses."""


def _again(body: Any, said: str) -> Any:
    """A body with other base64 for the picture."""
    return json.loads(json.dumps(body).replace(_PNG, json.dumps(said)[1:-1]))


def _loose() -> Iterator[Row]:
    url = ({"type": "start"}, {"type": "file", "mediaType": "image/png", "url": _URL}, {"type": "finish"})
    image = {"images": [{"type": "image", "b64_json": _PNG}]}
    bodies = {
        "openresponses": _response(_ITEM),
        "chat-completions": _chat("", _SHOWN, image)[1].body,
        "gemini": _PARTS,
        "gemini-interactions": {"id": "i", "model": "m", "status": "completed", "steps": [_STEP]},
        "ollama": _LINE,
        "ai-sdk": _FILE_CHUNKS,
        "ai-gateway": _FILE_CHUNKS,
        "ai-sdk-ui": url,
    }
    for shape, said in _LOOSE.items():
        for wire, body in bodies.items():
            right = replace(_SHOWN, finish=None) if wire == "ai-sdk-ui" else _SHOWN
            yield Row(f"base64 with {shape}", wire, _again(body, said), right)


ROWS = (
    *_loose(),
    Row("an item", "openresponses", _made(), _SHOWN, "litellm#16586"),
    Row("an item, and again in the last event", "openresponses", _made(final=(_ITEM,)), _SHOWN, "agent-framework#8422"),
    Row("an item after two drafts", "openresponses", _made(_draft(0), _draft(1)), _SHOWN),
    Row(
        "in the last event alone",
        "openresponses",
        ({"type": "response.completed", "response": _response(_ITEM)},),
        _SHOWN,
    ),
    Row("an item", "openresponses", _response(_ITEM), _SHOWN),
    Row("an item as a URL of data", "openresponses", _response({**_ITEM, "result": _URL}), _SHOWN),
    Row(
        "two items",
        "openresponses",
        _response(_ITEM, {**_ITEM, "id": "ig_2", "result": "/9j/4AAQSkZJRg==", "output_format": "jpeg"}),
        Expected(media=("image/png", "image/jpeg")),
    ),
    Row("a part of a message", "openresponses", _response(_MESSAGE), Expected(text="See:", media=("image/png",))),
    Row(
        "not readable",
        "openresponses",
        _response({**_ITEM, "result": "??"}),
        Expected(unmapped=("image (not readable)",)),
    ),
    *_chat("a list of images", _SHOWN, {"images": [_IMAGE]}),
    *_chat("a list of images, and again", _SHOWN, {"images": [_IMAGE]}, {"images": [_IMAGE]}),
    *_chat("base64 in a list of images", _SHOWN, {"images": [{"type": "image", "b64_json": _PNG}]}),
    *_chat("a part of the content", _SHOWN, {"content": [_IMAGE]}),
    *_chat("sound", Expected(text="Hi", media=("audio/wav",)), {"audio": {"data": _WAV, "transcript": "Hi"}}),
    *_chat(
        "sound in pieces",
        Expected(text="Hi", media=("audio/pcm",)),
        {"audio": {"id": "a", "transcript": "Hi"}},
        {"audio": {"id": "a", "data": "AAEC"}},
        {"audio": {"id": "a", "data": "AwQ="}},
    ),
    Row("a part", "gemini", (_PARTS,), _SHOWN),
    Row("a part", "gemini", _PARTS, _SHOWN),
    Row(
        "a step",
        "gemini-interactions",
        (
            {"event_type": "interaction.created", "interaction": {"id": "i", "model": "m"}},
            {"event_type": "step.start", "index": 0, "step": _STEP},
            {"event_type": "step.stop", "index": 0},
            {"event_type": "interaction.completed", "interaction": {"id": "i", "status": "completed"}},
        ),
        _SHOWN,
    ),
    Row("a step", "gemini-interactions", {"id": "i", "model": "m", "status": "completed", "steps": [_STEP]}, _SHOWN),
    Row("a list of images", "ollama", (_LINE,), _SHOWN),
    Row("a list of images", "ollama", _LINE, _SHOWN),
    Row("a chunk", "ai-gateway", _FILE_CHUNKS, _SHOWN),
    Row(
        "a chunk",
        "ai-sdk-ui",
        ({"type": "start"}, {"type": "file", "mediaType": "image/png", "url": _URL}, {"type": "finish"}),
        Expected(media=("image/png",), finish=None),
    ),
)
