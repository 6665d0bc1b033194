"""The floor: a bare ASGI application that sends bytes which were made before, one event a turn of the event loop.

Whatever a server does beside this is its own.
"""

from __future__ import annotations
import asyncio
import json
import time
from typing import Any

HEADERS = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-cache")]


def _chunk(delta: dict[str, str], reason: str | None = None) -> bytes:
    chunk = {
        "id": "chatcmpl-0123456789abcdef01234567",
        "object": "chat.completion.chunk",
        "created": 1_790_000_000,
        "model": "words",
        "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
    }
    return b"data: " + json.dumps(chunk, separators=(",", ":")).encode() + b"\n\n"


EVENTS = [_chunk({"content": f"word{number:02} "}) for number in range(64)]
END = _chunk({}, "stop") + b"data: [DONE]\n\n"


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Serves one connection."""
    if scope["type"] != "http":
        return
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    count = int(json.loads(body)["messages"][-1]["content"]) if body else 1
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    first = _chunk({"content": f"t={time.monotonic_ns()};"})
    await send({"type": "http.response.body", "body": first, "more_body": True})
    for number in range(count - 1):
        await send({"type": "http.response.body", "body": EVENTS[number % 64], "more_body": True})
        await asyncio.sleep(0)
    await send({"type": "http.response.body", "body": END, "more_body": False})
