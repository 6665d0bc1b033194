"""What becomes of answers that are open when the process gets SIGTERM."""

from __future__ import annotations
import asyncio
import json
import signal
import time
from typing import TYPE_CHECKING

from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from benchmarks.soak.client import ask, facts, open_answer, read_reply, request
from benchmarks.soak.process import serving
from benchmarks.soak.scenarios import Findings

if TYPE_CHECKING:
    from benchmarks.soak.client import Address, Reply

__all__ = ["stop_under_load"]

_LAST = frozenset({"response.completed", "response.failed", "response.incomplete", "error"})
_LONG = "events=100000 pace=0.02"


async def stop_under_load(clients: int, endless: int, drain_seconds: float = 4.0, events: int = 60) -> Findings:
    """Stops a server with answers that end in time, on HTTP and WebSocket, and some that do not.

    Args:
        clients: How many ask for an answer that ends in time; an eighth as many ask on a socket.
        endless: How many ask for an answer that does not.
        drain_seconds: The limit of the server.
        events: The length of an answer that ends in time; there are 50 a second.
    """
    wanted = f"events={events} pace=0.02"
    found = Findings()
    async with serving("--drain-seconds", str(drain_seconds)) as served:
        address = served.address
        await facts(address)
        short = [asyncio.create_task(ask(address, request(address, wanted))) for _ in range(clients)]
        stopped_late = [asyncio.create_task(ask(address, request(address, _LONG))) for _ in range(endless)]
        turns = [asyncio.create_task(_turn(address, wanted)) for _ in range(max(1, clients // 8))]
        while len((await facts(address))["ends"]) == 0 and not await _all_begun(address, clients + endless):
            await asyncio.sleep(0.05)
        started = time.monotonic()
        ending = asyncio.create_task(served.end(signal.SIGTERM))
        await asyncio.sleep(0.1)
        late = await ask_once(address)
        code = await ending
        seconds = time.monotonic() - started
        whole: list[Reply] = await asyncio.gather(*short)
        stopped: list[Reply] = await asyncio.gather(*stopped_late)
        kinds = await asyncio.gather(*turns)
    found.figures = {
        "answers that could end in time": clients,
        "of these whole": sum(one.is_ended and one.events == events for one in whole),
        "turns on sockets": len(kinds),
        "of these with their last event": kinds.count("response.completed"),
        "answers that could not end": endless,
        "of these with the terminal event of their wire": sum(one.is_ended for one in stopped),
        "status of a request meanwhile": late,
        f"seconds until the process ended (the limit is {drain_seconds:g})": round(seconds, 1),
        "exit code": code,
    }
    found.demand(
        all(one.is_ended and one.events == events for one in whole), "an answer that could end in time was cut"
    )
    found.demand(all(one.is_ended for one in stopped), "an answer was cut without its terminal event")
    found.demand(set(kinds) == {"response.completed"}, f"turns on sockets ended with {sorted(set(map(str, kinds)))}")
    found.demand(late == 503, f"a new request got status {late}, expected 503")
    found.demand(code == 0, f"the exit code was {code}, expected 0")
    return found


async def ask_once(address: Address) -> int:
    """The status of one more request; 0 for a connection that is refused."""
    try:
        reader, writer = await open_answer(address, request(address, "events=1"))
    except OSError:
        return 0
    reply = await read_reply(reader)
    writer.close()
    return reply.status


async def _all_begun(address: Address, answers: int) -> bool:
    return bool((await facts(address))["reported"] >= answers * 2)


async def _turn(address: Address, wanted: str) -> str | None:
    """The type of the last event of a turn on a WebSocket."""
    last = None
    headers = {"Authorization": f"Bearer {address.token}"}
    url = f"ws://127.0.0.1:{address.port}/v1/responses"
    try:
        async with connect(url, additional_headers=headers, proxy=None) as socket:
            await socket.send(json.dumps({"type": "response.create", "model": "stream", "input": wanted}))
            async for frame in socket:
                last = json.loads(frame)["type"]
                if last in _LAST:
                    break
    except WebSocketException as error:
        return str(error)
    return last
