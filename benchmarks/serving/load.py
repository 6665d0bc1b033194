"""The load: asks a server over raw sockets and counts what comes; a process of its own, told what to do on standard
input, one JSON object a line."""

from __future__ import annotations
import asyncio
import json
import re
import sys
import time
from dataclasses import dataclass, field
from typing import Any

_STAMP = re.compile(rb"t=(\d+);")
_END = b"0\r\n\r\n"


@dataclass(slots=True)
class Tally:
    """What came of one order.

    Attributes:
        events: How many events.
        bytes: How many bytes, heads and framing too.
        failures: Answers that were no stream, or not whole.
        from_request: Nanoseconds from a request to the first word of its answer.
        from_part: Nanoseconds from the first word at whoever said it.
    """

    events: int = 0
    bytes: int = 0
    failures: int = 0
    from_request: list[int] = field(default_factory=list)
    from_part: list[int] = field(default_factory=list)


class Connection(asyncio.Protocol):
    """Asks for one answer after the other."""

    def __init__(self, request: bytes, answers: int, tally: Tally, done: asyncio.Future[None]) -> None:
        self._request = request
        self._left = answers
        self._tally = tally
        self._done = done
        self._transport: Any = None
        self._last = b""
        self._asked_at = 0
        self._has_head = self._has_stamp = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Asks the first time."""
        self._transport = transport
        self._ask()

    def _ask(self) -> None:
        self._last = b""
        self._has_head = self._has_stamp = False
        self._asked_at = time.monotonic_ns()
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Counts."""
        tally = self._tally
        tally.bytes += len(data)
        if not self._has_stamp:
            now = time.monotonic_ns()
            if not self._has_head:
                self._has_head = True
                if not data.startswith(b"HTTP/1.1 200"):
                    tally.failures += 1
                    print(data[:600], file=sys.stderr, flush=True)
            stamp = _STAMP.search(self._last + data)
            if stamp is not None:
                self._has_stamp = True
                tally.from_request.append(now - self._asked_at)
                tally.from_part.append(now - int(stamp[1]))
        seen = self._last[-1:] + data
        tally.events += seen.count(b"\n\n")
        self._last = (self._last + data)[-64:] if len(data) < 64 else data[-64:]
        if self._last.endswith(_END):
            self._left -= 1
            tally.failures += not self._has_stamp
            if self._left:
                self._ask()
            else:
                self._transport.close()
                self._finish()

    def connection_lost(self, _error: Exception | None) -> None:
        """Counts an answer that was cut."""
        if not self._done.done():
            self._tally.failures += 1
            self._finish()

    def _finish(self) -> None:
        if not self._done.done():
            self._done.set_result(None)


async def _order(order: dict[str, Any]) -> dict[str, Any]:
    loop = asyncio.get_running_loop()
    tally = Tally()
    began = time.monotonic()

    async def one() -> None:
        done: asyncio.Future[None] = loop.create_future()
        make = lambda: Connection(order["request"].encode(), order["answers"], tally, done)  # noqa: E731
        await loop.create_connection(make, "127.0.0.1", order["port"])
        await done

    async with asyncio.timeout(order["seconds"]):
        await asyncio.gather(*(one() for _ in range(order["streams"])))
    return {
        "seconds": time.monotonic() - began,
        "events": tally.events,
        "bytes": tally.bytes,
        "failures": tally.failures,
        "from_request": tally.from_request,
        "from_part": tally.from_part,
    }


async def _main() -> None:
    while line := await asyncio.to_thread(sys.stdin.readline):
        print(json.dumps(await _order(json.loads(line))), flush=True)


if __name__ == "__main__":
    import uvloop

    uvloop.run(_main())
