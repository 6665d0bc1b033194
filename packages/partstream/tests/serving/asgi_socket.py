"""A client of a WebSocket of an ASGI application, in the process of the tests."""

from __future__ import annotations
import asyncio
import json
from typing import Any

from serving.asgi import WAIT


class Socket:
    """An open WebSocket, or one that was refused.

    Attributes:
        sent: All that the application sent, in order.
        is_broken: Whether the server raises from `send`, because the client has left.
    """

    def __init__(self, application: Any, path: str, headers: dict[str, str] | None = None) -> None:
        self.sent: list[dict[str, Any]] = []
        self.is_broken = False
        self._incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._outgoing: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        scope = {
            "type": "websocket",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in (headers or {}).items()],
            "extensions": {"websocket.http.response": {}},
        }
        self._incoming.put_nowait({"type": "websocket.connect"})
        self.task = asyncio.get_running_loop().create_task(application(scope, self._incoming.get, self._send))

    async def _send(self, message: Any) -> None:
        if self.is_broken:
            raise OSError("gone")
        self.sent.append(dict(message))
        self._outgoing.put_nowait(message)

    def say(self, message: Any) -> None:
        """Sends an object, or a text as it is."""
        text = message if isinstance(message, str) else json.dumps(message)
        self._incoming.put_nowait({"type": "websocket.receive", "text": text})

    def create(self, **body: Any) -> None:
        """Asks for a response."""
        self.say({"type": "response.create", "model": "demo", **body})

    async def next(self) -> dict[str, Any]:
        """The next message of ASGI."""
        async with asyncio.timeout(WAIT):
            return await self._outgoing.get()

    async def opened(self) -> Socket:
        """Waits until it is open."""
        assert (await self.next())["type"] == "websocket.accept", self.sent
        return self

    async def event(self) -> dict[str, Any]:
        """The next event."""
        message = await self.next()
        assert message["type"] == "websocket.send", message
        event: dict[str, Any] = json.loads(message["text"])
        return event

    async def turn(self, **body: Any) -> list[dict[str, Any]]:
        """The events of one response; those until an error where it is refused. Asks for it, if there is a body."""
        if body:
            self.create(**body)
        events = [await self.event()]
        while events[-1]["type"] not in ENDS:
            events.append(await self.event())
        return events

    async def close(self) -> None:
        """Leaves, and waits until the application has noticed."""
        self._incoming.put_nowait({"type": "websocket.disconnect", "code": 1000})
        async with asyncio.timeout(WAIT):
            await self.task


ENDS = frozenset({"response.completed", "response.incomplete", "response.failed", "error"})
