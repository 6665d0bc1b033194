"""A real model server on loopback that lists models: documents by path, with ETags, and what it does wrong."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from listening import deliver, listening
from models.lists import as_bytes
from partstream.server.loopback import LoopbackRequest, ServerConnection
from partstream.upstream.configuration import GatewayConfiguration
from partstream.upstream.discovery import Fetch
from partstream.upstream.http import UpstreamHTTP
from partstream_devtools.testing.faults import End, EndKind, Step, document

CLOSED = (End(EndKind.RESET),)


@dataclass
class ModelServer:
    """What it serves, and what came.

    Attributes:
        documents: By path and query: a JSON value, or a function of the request's body that gives one.
        statuses: What a path answers instead, by path; 0 resets the connection.
        gate: Answers wait until it is set.
        requests: What came, in order.
        most_at_once: The most requests that waited for an answer at the same time.
    """

    documents: dict[str, Any]
    statuses: dict[str, int] = field(default_factory=dict)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    requests: list[LoopbackRequest] = field(default_factory=list)
    most_at_once: int = 0
    url: str = ""
    _at_once: int = 0

    def paths(self) -> list[str]:
        return [request.path for request in self.requests]

    async def reply(self, request: LoopbackRequest) -> tuple[Step, ...]:
        self.requests.append(request)
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            await self.gate.wait()
        finally:
            self._at_once -= 1
        status = self.statuses.get(self._target(request), 200 if self._target(request) in self.documents else 404)
        if status == 0:
            return CLOSED
        if status != 200:
            return document(status, b'{"error":{"message":"no"}}')
        return self._document(request)

    def _document(self, request: LoopbackRequest) -> tuple[Step, ...]:
        value = self.documents[self._target(request)]
        if isinstance(value, Callable):
            value = value(request.body)
        body = value if isinstance(value, bytes) else as_bytes(value)
        etag = f'"{hashlib.sha256(body).hexdigest()[:8]}"'
        if request.headers.get("if-none-match") == etag:
            return document(304, b"", headers=[("etag", etag)])[::2]
        return document(200, body, headers=[("etag", etag)])

    def _target(self, request: LoopbackRequest) -> str:
        """What is asked for: the path with its query where that has something of its own, else the path."""
        whole = f"{request.path}?{request.query}"
        return whole if whole in self.documents or whole in self.statuses else request.path


@asynccontextmanager
async def serving(server: ModelServer, *, is_open: bool = True) -> AsyncIterator[Fetch]:
    """Serves, and gives what fetches from it."""
    if is_open:
        server.gate.set()

    async def serve(connection: ServerConnection) -> None:
        while (request := await connection.next_request()) is not None:
            await deliver(connection, request, await server.reply(request))

    async with listening(serve) as url:
        server.url = f"{url}/v1"
        http = UpstreamHTTP(GatewayConfiguration(server.url))
        try:
            yield http.fetch
        finally:
            await http.aclose()


@dataclass
class Clock:
    """Seconds since 1970, as the test says."""

    now: float = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


async def until(condition: Callable[[], object], seconds: float = 30.0) -> None:
    """Returns when the condition holds."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.001)
