"""A client of an ASGI application in the process of the tests: a request, its reply as it comes, a way to leave."""

from __future__ import annotations
import asyncio
import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote

WAIT = 30.0
"""Seconds that anything may take."""


@dataclass
class Call:
    """One request to an application, and its reply so far."""

    task: asyncio.Task[None]
    left: asyncio.Event
    changed: asyncio.Event
    reading: asyncio.Event
    messages: list[dict[str, Any]] = field(default_factory=list)

    @property
    def status(self) -> int:
        return self.messages[0]["status"]

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode(): value.decode() for name, value in self.messages[0]["headers"]}

    @property
    def body(self) -> bytes:
        return b"".join(one.get("body", b"") for one in self.messages[1:])

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def is_whole(self) -> bool:
        return bool(self.messages) and not self.messages[-1].get("more_body", True) and len(self.messages) > 1

    def leave(self) -> None:
        """Closes the connection."""
        self.left.set()

    async def until(self, condition) -> None:
        """Waits until something holds of the reply."""
        async with asyncio.timeout(WAIT):
            while not condition():
                self.changed.clear()
                if condition():
                    return
                await self.changed.wait()

    async def end(self) -> Call:
        """Waits until the application has returned."""
        async with asyncio.timeout(WAIT):
            await self.task
        return self


class Taken(list[bytes]):
    """The pieces of a body; notes which of them the application has taken."""

    def __init__(self, pieces: list[bytes], taken: list[bytes]) -> None:
        super().__init__(pieces)
        self.taken = taken


def call(
    application: Any,
    path: str,
    body: Any = None,
    *,
    method: str | None = None,
    headers: dict[str, str] | None = None,
    query: str = "",
    root_path: str = "",
    http_version: str = "1.1",
    reads: bool = True,
    breaks: Exception | None = None,
    chunks: list[bytes] | None = None,
) -> Call:
    """Begins a request; `reads` says whether the client reads at all until its event `reading` is set, and `breaks`
    what the server raises from `send`: OSError when the client has left, as ASGI 2.4 says."""
    data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    pieces = [data] if chunks is None else chunks
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": http_version,
        "method": method or ("GET" if body is None and chunks is None else "POST"),
        "scheme": "http",
        "path": unquote(root_path + path),
        "raw_path": (quote(root_path) + path).encode(),
        "root_path": root_path,
        "query_string": query.encode(),
        "headers": [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()],
    }
    incoming = [
        {"type": "http.request", "body": piece, "more_body": place < len(pieces) - 1}
        for place, piece in enumerate(pieces)
    ]
    left, changed, reading = asyncio.Event(), asyncio.Event(), asyncio.Event()
    if reads:
        reading.set()
    messages: list[dict[str, Any]] = []
    taken: list[bytes] | None = getattr(chunks, "taken", None)

    async def receive() -> dict[str, Any]:
        if incoming:
            if taken is not None:
                taken.append(incoming[0]["body"])
            return incoming.pop(0)
        await left.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if breaks is not None and message["type"] == "http.response.body":
            raise breaks
        messages.append(dict(message))
        changed.set()
        if message["type"] == "http.response.body":
            await reading.wait()

    task = asyncio.get_running_loop().create_task(application(scope, receive, send))
    task.add_done_callback(lambda _: changed.set())
    return Call(task, left, changed, reading, messages)


async def ask(application: Any, path: str, body: Any = None, **more: Any) -> Call:
    """A request and its whole reply."""
    return await call(application, path, body, **more).end()
