"""Bytes on their way: the pump hands them to `send`, or they are written where a part is reported; none overtakes."""

from __future__ import annotations
import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from partstream.server.replies import BufferedReplySink, Head

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

HEAD = Head(200, ())


class Socket:
    """Notes what comes to it, and by which way."""

    def __init__(self, *, takes: bool = True) -> None:
        self.takes = takes
        self.came: list[tuple[str, bytes]] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def deliver(self, head: Head | None, data: bytes, last: bool) -> None:
        await self.gate.wait()
        self.came.append(("head" if head else "last" if last else "sent", data))

    def begin(self, _head: Head, data: bytes) -> bool:
        if self.takes:
            self.came.append(("begun", data))
        return self.takes

    def write(self, data: bytes) -> bool:
        if self.takes:
            self.came.append(("written", data))
        return self.takes


def _run(
    act: Callable[[BufferedReplySink, Socket], Awaitable[None]], *, direct: bool = True
) -> tuple[list[tuple[str, bytes]], int]:
    """What came to the socket, and the bytes that were counted."""

    async def run() -> tuple[list[tuple[str, bytes]], int]:
        socket = Socket()
        buffered = BufferedReplySink(socket.deliver, 100, 1_000, socket.write if direct else None)
        pump = asyncio.create_task(buffered.pump())
        buffered.start(HEAD)
        await _turns()
        await act(buffered, socket)
        buffered.end(b"end")
        async with asyncio.timeout(10):
            await pump
        return socket.came, buffered.bytes

    return asyncio.run(run())


async def _turns() -> None:
    for _ in range(4):
        await asyncio.sleep(0)


def test_a_part_is_written_where_it_is_reported_once_the_head_is_sent():
    async def act(buffered: BufferedReplySink, socket: Socket) -> None:
        buffered.send(b"one")
        assert socket.came[-1] == ("written", b"one")

    assert _run(act) == ([("head", b""), ("written", b"one"), ("last", b"end")], 6)


def test_without_a_way_of_its_own_everything_of_one_turn_is_one_send():
    async def act(buffered: BufferedReplySink, _socket: Socket) -> None:
        buffered.send(b"one ")
        buffered.send(b"two")
        await _turns()

    assert _run(act, direct=False) == ([("head", b""), ("sent", b"one two"), ("last", b"end")], 10)


def test_what_a_slow_socket_does_not_take_goes_through_the_pump_and_nothing_overtakes_it():
    async def act(buffered: BufferedReplySink, socket: Socket) -> None:
        socket.takes = False
        socket.gate.clear()
        buffered.send(b"one ")
        await _turns()
        socket.takes = True
        buffered.send(b"two ")
        buffered.send(b"three")
        socket.gate.set()
        await _turns()
        buffered.send(b"four")

    expected = [("head", b""), ("sent", b"one "), ("sent", b"two three"), ("written", b"four"), ("last", b"end")]
    assert _run(act) == (expected, 20)


def test_a_provider_that_drains_after_several_parts_has_them_sent_together_from_then_on():
    async def act(buffered: BufferedReplySink, _socket: Socket) -> None:
        buffered.send(b"a")
        buffered.send(b"b")
        await buffered.drain()
        buffered.send(b"c")
        buffered.send(b"d")
        await buffered.drain()
        await _turns()

    expected = [("head", b""), ("written", b"a"), ("written", b"b"), ("sent", b"cd"), ("last", b"end")]
    assert _run(act) == (expected, 7)


def test_a_provider_that_drains_after_each_part_keeps_the_short_way():
    async def act(buffered: BufferedReplySink, _socket: Socket) -> None:
        for piece in (b"a", b"b", b"c"):
            buffered.send(piece)
            await buffered.drain()

    written = [("written", b"a"), ("written", b"b"), ("written", b"c")]
    assert _run(act) == ([("head", b""), *written, ("last", b"end")], 6)


async def _the_last(buffered: BufferedReplySink) -> None:
    buffered.send_soon(b"a")
    await buffered.drain()


async def _the_last_whose_end_is_late(buffered: BufferedReplySink) -> None:
    buffered.send_soon(b"a")
    await _turns()


ENDINGS: dict[str, tuple[Any, list[tuple[str, bytes]]]] = {
    "an end in the same turn": (_the_last, [("head", b"aend")]),
    "an end that is late": (_the_last_whose_end_is_late, [("head", b"a"), ("last", b"end")]),
}


@pytest.mark.parametrize(("act", "came"), ENDINGS.values(), ids=ENDINGS)
def test_the_last_bytes_of_a_turn_go_with_the_end_that_comes_in_it(act: Any, came: list[tuple[str, bytes]]) -> None:
    async def run() -> list[tuple[str, bytes]]:
        socket = Socket()
        buffered = BufferedReplySink(socket.deliver, 100, 1_000, socket.write, socket.begin)
        pump = asyncio.create_task(buffered.pump())
        await _turns()
        buffered.start(HEAD)
        await act(buffered)
        buffered.end(b"end")
        async with asyncio.timeout(10):
            await pump
        return socket.came

    assert asyncio.run(run()) == came


def test_nothing_is_written_for_a_client_that_has_left():
    async def run() -> list[tuple[str, bytes]]:
        socket = Socket()
        buffered = BufferedReplySink(socket.deliver, 100, 1_000, socket.write)
        pump = asyncio.create_task(buffered.pump())
        buffered.start(HEAD)
        await _turns()
        buffered.close()
        buffered.send(b"too late")
        async with asyncio.timeout(10):
            await pump
        return socket.came

    assert asyncio.run(run()) == [("head", b"")]


async def _one(buffered: BufferedReplySink) -> None:
    buffered.send(b"a")


async def _two(buffered: BufferedReplySink) -> None:
    buffered.send(b"a")
    buffered.send(b"b")


async def _two_with_a_drain(buffered: BufferedReplySink) -> None:
    buffered.send(b"a")
    await buffered.drain()
    buffered.send(b"b")


async def _turns_alone(_buffered: BufferedReplySink) -> None:
    await _turns()


BEGINNINGS: dict[str, tuple[Any, bool, list[tuple[str, bytes]]]] = {
    "bytes at once": (_one, True, [("begun", b"a"), ("last", b"end")]),
    "what comes in the same turn follows together": (_two, True, [("begun", b"a"), ("last", b"bend")]),
    "a provider that drains": (_two_with_a_drain, True, [("begun", b"a"), ("written", b"b"), ("last", b"end")]),
    "a head alone": (_turns_alone, True, [("head", b""), ("last", b"end")]),
    "a server that does not take it": (_one, False, [("head", b"aend")]),
}


@pytest.mark.parametrize(("act", "takes", "came"), BEGINNINGS.values(), ids=BEGINNINGS)
def test_the_head_goes_with_the_first_bytes_where_they_are_reported(
    act: Any, takes: bool, came: list[tuple[str, bytes]]
) -> None:
    async def run() -> list[tuple[str, bytes]]:
        socket = Socket(takes=takes)
        buffered = BufferedReplySink(socket.deliver, 100, 1_000, socket.write, socket.begin)
        pump = asyncio.create_task(buffered.pump())
        await _turns()
        buffered.start(HEAD)
        await act(buffered)
        assert bool(socket.came) is (takes or act is _turns_alone)
        buffered.end(b"end")
        async with asyncio.timeout(10):
            await pump
        assert buffered.bytes == sum(len(data) for _, data in socket.came)
        return socket.came

    assert asyncio.run(run()) == came
