"""The load: asks a server over raw sockets and counts what comes; a process of its own, told what to do on standard
input, one JSON object a line.

An answer is whole when its body has ended, and has every word that was asked for. Some servers close the connection at
the end of an answer: the next one is asked over a new connection, whose opening is not in the time to a first word.
"""

from __future__ import annotations
import asyncio
import json
import re
import sys
import time
from dataclasses import dataclass, field
from typing import Any, Final

_STAMP: Final = re.compile(rb"t=(\d+);")
_HEAD: Final = b"HTTP/1.1 200"
_END: Final = b"0\r\n\r\n"
_TAIL: Final = 64
"""Bytes that are kept of what came, for what the next ones complete."""


@dataclass(slots=True)
class Tally:
    """What came of one order.

    Attributes:
        failures: Answers that were no stream, or not whole.
        from_request: Nanoseconds from a request to the first word of its answer.
        gaps: Nanoseconds from a word to the next one, if an order wants them; words that come together have none.
        said: What the first failures looked like.
    """

    failures: int = 0
    from_request: list[int] = field(default_factory=list)
    gaps: list[int] = field(default_factory=list)
    said: list[str] = field(default_factory=list)


class Connection(asyncio.Protocol):
    """Asks for one answer after the other, until there are enough or the server closes."""

    def __init__(self, order: dict[str, Any], answers: int, tally: Tally) -> None:
        self._request = order["request"].encode()
        self._mark = order["mark"].encode()
        self._words = order["words"]
        self._longest_gap = order["longest_gap"] * 1e6
        self._tally = tally
        self.left = answers
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._transport: Any = None
        self._began = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Asks the first time."""
        self._transport = transport
        self._ask()

    def _ask(self) -> None:
        self._began = self._tail = b""
        self._marks = 0
        self._has_stamp = self._is_chunked = self._closes = False
        self._asked_at = time.monotonic_ns()
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Looks for the first word, counts the others, and notices the end."""
        seen = self._tail + data
        now = time.monotonic_ns()
        if not self._has_stamp:
            self._began += data
            if not self._began.startswith(_HEAD):
                self._closes = True
                self._finish()
                return
            if _STAMP.search(seen):
                self._has_stamp = True
                self._tally.from_request.append(now - self._asked_at)
                self._said_at = now
                head = self._began.partition(b"\r\n\r\n")[0].lower()
                self._is_chunked = b"\r\ntransfer-encoding: chunked" in head
                self._closes = b"\r\nconnection: close" in head
        came = (self._tail[1 - len(self._mark) :] + data).count(self._mark)
        if came and self._longest_gap:
            self._note_gap(now - self._said_at, came - 1)
            self._said_at = now
        self._marks += came
        self._tail = seen[-_TAIL:]
        if seen.endswith(_END) and (self._is_chunked or not self._has_stamp):
            self._finish()

    def _note_gap(self, gap: int, more: int) -> None:
        self._tally.gaps += [gap, *([0] * more)]
        if gap > self._longest_gap and not self.done.done():
            self.done.set_exception(TimeoutError())

    def connection_lost(self, _error: Exception | None) -> None:
        """Ends an answer whose body is as long as the connection, or that was cut."""
        if self._began:
            self._finish()
        if not self.done.done():
            self.done.set_result(None)

    def end(self) -> None:
        """Closes it, if the server has not."""
        self._transport.abort()

    def _finish(self) -> None:
        self.left -= 1
        if not (self._has_stamp and self._marks == self._words - 1):
            self._tally.failures += 1
            if len(self._tally.said) < 3:
                self._tally.said.append(f"{self._marks} words after the first, {self._began[:600]!r}")
        self._began = b""
        if self.left and not self._closes:
            self._ask()
        else:
            self._transport.close()


async def _client(order: dict[str, Any], tally: Tally, wait: float) -> None:
    """One client: its answers, after a wait, over as many connections as the server makes it open."""
    await asyncio.sleep(wait)
    left = order["answers"]
    while left and tally.failures < order["answers"]:
        make = lambda: Connection(order, left, tally)  # noqa: B023, E731 # called at once
        _, connection = await asyncio.get_running_loop().create_connection(make, "127.0.0.1", order["port"])
        try:
            await connection.done
        finally:
            connection.end()
        if connection.left == left:
            tally.failures += 1
            tally.said.append("the connection was closed without an answer")
        left = connection.left


async def _order(order: dict[str, Any]) -> dict[str, Any]:
    tally = Tally()
    began = time.monotonic()
    step = order["over"] / order["streams"]
    try:
        async with asyncio.timeout(order["seconds"]), asyncio.TaskGroup() as clients:
            for number in range(order["streams"]):
                clients.create_task(_client(order, tally, number * step))
    except* TimeoutError:
        tally.failures += 1
        tally.said.append(f"took longer than {order['seconds']} s, or a gap longer than {order['longest_gap']} ms")
    return {
        "seconds": time.monotonic() - began,
        "failures": tally.failures,
        "said": tally.said,
        "from_request": tally.from_request,
        "gaps": tally.gaps,
    }


async def _main() -> None:
    while line := await asyncio.to_thread(sys.stdin.readline):
        print(json.dumps(await _order(json.loads(line))), flush=True)


if __name__ == "__main__":
    import uvloop

    uvloop.run(_main())
