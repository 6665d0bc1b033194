"""How the tests put the recording proxy before a server, and what they see of an exchange on both sides of it."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2

from partstream.upstream.configuration import GatewayConfiguration
from partstream_devtools.bundles.exchange import HowEnded
from partstream_devtools.recorder.proxy import ForwardedRequest, RecordingProxy
from partstream_devtools.testing.upstream import ReplayUpstream
from testing.clients import WITHOUT_TLS

_SECONDS = re.compile(rb'("(?:created|created_at|completed_at)": ?)\d+')


@dataclass
class Seen:
    """A watcher that keeps everything."""

    request: ForwardedRequest
    calls: list[str] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    status: int | None = None
    chunks: list[bytes] = field(default_factory=list)
    how: HowEnded | None = None
    error: Exception | None = None

    is_behind = False

    async def caught_up(self) -> None:
        raise AssertionError("it is never behind")

    def sending(self, at: int) -> None:
        self._called("sending", at)

    def sent(self, at: int) -> None:
        pass

    def head(self, at: int, status: int, reason: str, headers: list[tuple[bytes, bytes]]) -> None:
        self._called("head", at)
        self.status = status

    def chunk(self, at: int, data: bytes) -> None:
        self._called("chunk", at)
        self.chunks.append(data)

    def end(self, at: int, how: HowEnded, error: Exception | None) -> None:
        self._called("end", at)
        self.how, self.error = how, error

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)

    def _called(self, name: str, at: int) -> None:
        self.calls.append(name)
        self.times.append(at)


class Watching:
    """All exchanges of a proxy, in order of their requests."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []

    def __call__(self, request: ForwardedRequest) -> Seen:
        self.seen.append(Seen(request))
        return self.seen[-1]

    async def ended(self, number: int = 1) -> Seen:
        """The exchange with a number, once it is over."""
        async with asyncio.timeout(10):
            while len(self.seen) < number or self.seen[number - 1].how is None:
                await asyncio.sleep(0)
        return self.seen[number - 1]


@asynccontextmanager
async def proxied(base_url: str, **settings: Any) -> AsyncIterator[tuple[RecordingProxy, Watching]]:
    """A proxy before the server at a base URL."""
    watching = Watching()
    async with RecordingProxy(GatewayConfiguration(base_url=base_url), watching, **settings) as proxy:
        yield proxy, watching


@dataclass(frozen=True)
class Received:
    """What a client gets: status, header fields of the whole way, body, and the error that its connection had."""

    status: int | None
    headers: dict[str, str]
    body: bytes
    broke: str | None


def client() -> httpx2.AsyncClient:
    return httpx2.AsyncClient(trust_env=False, verify=WITHOUT_TLS, timeout=30)


async def receive(url: str, method: str = "POST", most: int | None = None, **request: Any) -> Received:
    """Asks, and reads to the end, or until `most` bytes have come."""
    status, headers, body, broke = None, {}, bytearray(), None
    async with client() as asker:
        try:
            async with asker.stream(method, url, **request) as response:
                status, headers = response.status_code, _lasting(response.headers)
                if most != 0:
                    async for piece in response.aiter_raw():
                        body += piece
                        if most is not None and len(body) >= most:
                            break
        except httpx2.TransportError as error:
            broke = type(error).__name__
    return Received(status, headers, bytes(body), broke)


def without_times(received: Received) -> Received:
    """The same for two answers that were given in different seconds."""
    return replace(received, body=_SECONDS.sub(rb"\1 0", received.body))


def _lasting(headers: httpx2.Headers) -> dict[str, str]:
    """Without what differs between two answers anyway, and what holds for one connection."""
    left_out = {"connection", "date", "transfer-encoding", "request-id", "x-request-id"}
    return {name: value for name, value in headers.items() if name not in left_out}


def run(check: Callable[[ReplayUpstream, RecordingProxy, Watching], Awaitable[None]], /, **settings: Any) -> None:
    """Runs `check(upstream, proxy, watching)` with a replay upstream behind a proxy."""

    async def within() -> None:
        async with (
            asyncio.timeout(30),
            ReplayUpstream(**settings) as upstream,
            proxied(upstream.base_url) as (proxy, watching),
        ):
            await check(upstream, proxy, watching)

    asyncio.run(within())
