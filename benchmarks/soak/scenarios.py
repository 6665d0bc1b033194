"""What the server is put through: one function each, which gives figures and the demands that were not met."""

from __future__ import annotations
import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from benchmarks.soak.client import ask, facts, open_answer, read_reply, request
from benchmarks.soak.hostile import (
    LARGEST,
    announcement,
    hostile_bodies,
    longest_wait_during,
    send_body,
    send_messages,
)
from benchmarks.soak.process import MOST_MEMORY

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from benchmarks.soak.client import Address

__all__ = ["SCENARIOS", "Findings", "Scenario"]


@dataclass
class Findings:
    """What a scenario showed.

    Attributes:
        figures: What was measured, by name.
        faults: The demands that were not met, in words.
    """

    figures: dict[str, Any] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def demand(self, is_met: bool, fault: str) -> None:
        """Notes a demand that is not met."""
        if not is_met:
            self.faults.append(fault)


@dataclass(frozen=True, slots=True)
class Scenario:
    """One load.

    Attributes:
        title: What clients do, as a phrase.
        run: Puts the server through it; gets the address and how many clients there are.
        clients: How many clients a whole run has.
        few: How many clients a quick run has.
    """

    title: str
    run: Callable[[Address, int], Awaitable[Findings]]
    clients: int
    few: int


async def _half_leave(address: Address, clients: int) -> Findings:
    found = Findings()
    left: list[float] = []

    async def leave(after: int) -> None:
        reader, writer = await open_answer(address, request(address, "events=400 pace=0.005"))
        received = b""
        while received.count(b'"content":"x') < after:
            received += await reader.read(2**14)
        left.append(time.monotonic())
        writer.close()

    stays = [ask(address, request(address, "events=100 pace=0.005")) for _ in range(clients - clients // 2)]
    before = await facts(address)
    whole = asyncio.gather(*stays)
    await asyncio.gather(*(leave(1 + number % 20) for number in range(clients // 2)))
    replies = await whole
    after = await _settled(address, lambda now: now["ends"].get("cancelled", 0) >= len(left))
    delays = sorted(
        max(0.0, told - gone) for gone, told in zip(sorted(left), sorted(after["cancelled_at"]), strict=False)
    )
    stopped = after["ends"].get("cancelled", 0) - before["ends"].get("cancelled", 0)
    found.demand(all(one.is_ended and one.events == 100 for one in replies), "an answer of a client that stayed broke")
    found.demand(stopped == len(left), f"{stopped} of {len(left)} answers that were left were cancelled")
    found.demand(bool(delays) and delays[-1] < 0.5, f"a provider was told after {delays[-1:]} s")
    found.figures = {
        "answers left": len(left),
        "answers cancelled": stopped,
        "leaving to cancelling, median ms": round(1000 * delays[len(delays) // 2], 1) if delays else None,
        "leaving to cancelling, longest ms": round(1000 * delays[-1], 1) if delays else None,
    }
    return found


async def _read_late(address: Address, clients: int) -> Findings:
    found = Findings()
    events, size = 250, 4000  # below what an answer may have of text
    data = request(address, f"events={events} pace=0 size={size}")
    before = await facts(address)
    opened = await asyncio.gather(*(open_answer(address, data, 4096) for _ in range(clients)))
    full = await _steady(address)
    found.figures["reported to a client that does not read, kB"] = round(
        (full["reported"] - before["reported"]) * size / clients / 1000
    )
    found.figures["memory, kB a client"] = round((full["memory"] - before["memory"]) / clients / 1000)
    found.demand(full["reported"] - before["reported"] < clients * events, "the provider did not wait for its clients")
    replies = await asyncio.gather(*(read_reply(reader) for reader, _ in opened))
    for _, writer in opened:
        writer.close()
    found.demand(all(one.is_ended and one.events == events for one in replies), "a late client did not get everything")
    return found


async def _take_nothing(address: Address, clients: int) -> Findings:
    found = Findings()
    data = request(address, "events=100000 pace=0 size=4000")
    before = await facts(address)
    opened = await asyncio.gather(*(open_answer(address, data, 4096) for _ in range(clients)))
    started = time.monotonic()
    after = await _settled(
        address, lambda now: now["ends"].get("cancelled", 0) - before["ends"].get("cancelled", 0) >= clients
    )
    found.figures["seconds until the last was given up (the limit is 8)"] = round(time.monotonic() - started, 1)
    gone = after["ends"].get("cancelled", 0) - before["ends"].get("cancelled", 0)
    found.demand(gone == clients, f"{gone} of {clients} answers to clients that take nothing were ended")
    for _, writer in opened:
        writer.transport.abort()
    return found


async def _send_slowly(address: Address, clients: int) -> Findings:
    found = Findings()
    whole = request(address, "events=1")
    head_end = whole.index(b"\r\n\r\n")
    statuses: list[int] = []

    async def drip(part: bytes) -> None:
        reader, writer = await open_answer(address, part[:-8])
        for letter in part[-8:]:
            writer.write(bytes((letter,)))
            if reader.at_eof() or writer.is_closing():
                break
            await asyncio.sleep(0.6)
        statuses.append((await read_reply(reader)).status)
        writer.close()

    slow = asyncio.gather(*(drip(whole[:head_end] if number % 2 else whole[:-1]) for number in range(clients)))
    started = time.monotonic()
    reply = await ask(address, whole)
    found.figures["another client meanwhile, ms"] = round(1000 * (time.monotonic() - started), 1)
    found.demand(reply.is_ended, "another client got no answer meanwhile")
    await slow
    found.figures["status"] = ", ".join(f"{status} for {statuses.count(status)}" for status in sorted(set(statuses)))
    found.demand(set(statuses) <= {0, 408}, f"got the statuses {sorted(set(statuses))}, expected 408")
    return found


async def _send_too_much(address: Address, clients: int) -> Findings:
    found = Findings()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: soak\r\nAuthorization: Bearer %b\r\n" % address.token.encode()
    attempts = {
        431: head + b"X-Long: " + b"x" * 200_000 + b"\r\n\r\n",
        413: head + b"Content-Length: 99999999999\r\n\r\n",
    }
    for status, data in attempts.items():
        replies = await asyncio.gather(*(_tolerant(address, data) for _ in range(clients)))
        got = [reply.status for reply in replies]
        found.figures[f"status {status}"] = got.count(status)
        found.demand(set(got) <= {0, status}, f"got the statuses {sorted(set(got))}, expected {status}")
    return found


_LONGEST_WAIT = 2.0
"""Seconds after which a probe of that pod gives up."""


async def _send_hostile(address: Address, clients: int) -> Findings:
    """The largest bodies of what costs most to read, each by several clients at once, and messages on sockets."""
    found = Findings()
    statuses: set[int] = set()
    slowest, wait, announced = "", 0.0, b""
    for name, path, body in hostile_bodies(LARGEST):
        announced = body if name == "small messages to /v1/responses" else announced
        sending = asyncio.gather(*(send_body(address, path, body) for _ in range(clients)))
        answered, waited = await longest_wait_during(address, sending)
        statuses.update(answered)
        slowest, wait = (name, waited) if waited > wait else (slowest, wait)
        peak = (await facts(address))["peak"]
        found.demand(peak < MOST_MEMORY, f"{name}: {peak / 1e6:.0f} MB were resident")
        found.demand(waited < _LONGEST_WAIT, f"{name}: another client waited {waited:.1f} s")
    text = announcement(announced)
    ends, waited = await longest_wait_during(address, send_messages(address, text))
    packed = await send_body(address, "/v1/responses", b" " * 300_000_000, packed=True)
    peak = (await facts(address))["peak"]
    found.demand(peak < MOST_MEMORY, f"announcements: {peak / 1e6:.0f} MB were resident")
    found.demand(waited < _LONGEST_WAIT, f"announcements: another client waited {waited:.1f} s")
    found.demand(statuses <= {200, 400, 413, 429, 503}, f"got the statuses {sorted(statuses)}")
    found.demand(packed in {400, 413}, f"a packed bomb got {packed}")
    found.figures = {
        "statuses": ", ".join(map(str, sorted(statuses))),
        "announcements on a socket": ends,
        "a packed bomb": packed,
        "another client meanwhile, longest ms": f"{1000 * wait:.0f} ({slowest})",
        "memory at its peak, MB": round(peak / 1e6),
    }
    return found


async def _tolerant(address: Address, data: bytes) -> Any:
    reader, writer = await open_answer(address, data)
    try:
        return await read_reply(reader)
    finally:
        writer.close()


async def _ask_often(address: Address, clients: int) -> Findings:
    found = Findings()
    tenth = max(1, clients // 10)
    seconds, memories = 0.0, []
    waiting = asyncio.Semaphore(16)

    async def one() -> bool:
        async with waiting:
            return (await ask(address, data)).is_ended

    data = request(address, "events=3")
    for _ in range(10):
        started = time.monotonic()
        whole = await asyncio.gather(*(one() for _ in range(tenth)))
        seconds += time.monotonic() - started
        memories.append((await facts(address))["memory"])
        found.demand(all(whole), "an answer was not whole")
    found.figures = {
        "answers": tenth * 10,
        "answers a second": round(tenth * 10 / seconds),
        "memory after a tenth, half and all, MB": ", ".join(f"{memories[place] / 1e6:.1f}" for place in (0, 4, 9)),
        "growth in the last fifth, bytes an answer": round((memories[9] - memories[7]) / (tenth * 2)),
    }
    return found


async def _settled(
    address: Address, is_settled: Callable[[dict[str, Any]], bool], seconds: float = 30
) -> dict[str, Any]:
    """The facts once a condition holds, or after a time; times of cancelled answers are gathered."""
    until = time.monotonic() + seconds
    cancelled: list[float] = []
    while True:
        now = await facts(address)
        cancelled += now["cancelled_at"]
        if is_settled(now) or time.monotonic() > until:
            return now | {"cancelled_at": cancelled}
        await asyncio.sleep(0.05)


async def _steady(address: Address) -> dict[str, Any]:
    """The facts once the provider reports no more."""
    before = await facts(address)
    while True:
        await asyncio.sleep(0.6)
        now = await facts(address)
        if now["reported"] == before["reported"]:
            return now
        before = now


SCENARIOS = (
    Scenario("ask, and half of them leave in the middle", _half_leave, 256, 12),
    Scenario("read late what is 1 MB long", _read_late, 64, 4),
    Scenario("take nothing of it", _take_nothing, 64, 4),
    Scenario("send heads and bodies a letter at a time", _send_slowly, 200, 6),
    Scenario("send heads and bodies that are too large", _send_too_much, 100, 2),
    Scenario("send bodies of 31 MB of what costs most to read", _send_hostile, 2, 1),
    Scenario("ask one short question after another", _ask_often, 20_000, 60),
)
"""All loads that a server survives, in the order in which one process goes through them."""
