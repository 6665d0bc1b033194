"""Runs a client beside a replay upstream, and compares what it shows with what the upstream said."""

from __future__ import annotations
import asyncio
import json
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from interop.clients.jobs import ANSWER, judge, said_in_round
from partstream.lm.outputs import Finish
from partstream_devtools.testing.admission import endpoint_at, reply_identity
from partstream_devtools.testing.directives import parse_choices
from partstream_devtools.testing.scripted_model import play

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from interop.clients.jobs import Job, Shown
    from interop.clients.wires import Wire
    from partstream_devtools.testing.replaying import ServedExchange
    from partstream_devtools.testing.upstream import ReplayUpstream

__all__ = ["BrokenClientError", "ask", "result_of", "running"]

_LONGEST_ANSWER: Final = 60
"""Seconds that a client may take for a job; the first one includes its start."""
_LONGEST_END: Final = 10
_MODEL: Final = "text"


class BrokenClientError(Exception):
    """A client ended, or did not answer in time; the message has the last line that it printed."""


@asynccontextmanager
async def running(command: Sequence[str]) -> AsyncIterator[asyncio.subprocess.Process]:
    """Starts a client, and ends it with the block."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe)
    try:
        yield process
    finally:
        if process.stdin is not None:
            process.stdin.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _LONGEST_END)
        if process.returncode is None:
            process.kill()
            await process.wait()


async def ask(job: Job, wire: Wire, client: asyncio.subprocess.Process, upstream: ReplayUpstream) -> Shown:
    """What the client shows, beside what the upstream said.

    Args:
        job: What is asked.
        wire: The wire of the client, which has the job.
        client: The running client.
        upstream: The upstream that it asks.

    Raises:
        BrokenClientError: The client gives no result.
    """
    before = len(upstream.exchanges)
    result = await result_of(json.dumps(job.line(_MODEL)).encode() + b"\n", client)
    exchanges = upstream.exchanges[before:]
    return judge(job, result, [] if job.fails or job.breaks else [_said(job, wire, one) for one in exchanges])


async def result_of(line: bytes, client: asyncio.subprocess.Process) -> dict[str, Any]:
    """The result of a line for a client.

    Raises:
        BrokenClientError: The client gives none.
    """
    if client.stdin is None or client.stdout is None or client.stderr is None:
        raise BrokenClientError("it has no pipes")
    client.stdin.write(line)
    try:
        async with asyncio.timeout(_LONGEST_ANSWER):
            with suppress(ConnectionError):  # it has ended: what it said last says why
                await client.stdin.drain()
            answer = await client.stdout.readline()
            said = b"" if answer else await client.stderr.read()
    except TimeoutError as error:
        raise BrokenClientError(f"it gave no result within {_LONGEST_ANSWER} s") from error
    if not answer:
        raise BrokenClientError([*said.decode(errors="replace").strip().splitlines(), "it ended"][0])
    result: dict[str, Any] = json.loads(answer)
    return result


def _said(job: Job, wire: Wire, exchange: ServedExchange) -> Any:
    """What the upstream said to one request: what its document has to say, or the answer played again."""
    request = exchange.request
    if job.asks != ANSWER:
        return job.expects and job.expects(request)
    if exchange.choice is None:  # it was refused, and the client has to say so
        return {}
    endpoint = endpoint_at(request.path)
    asked = endpoint.reads.read(endpoint.request(request.path, request.body, request.headers))
    (scenario,) = parse_choices(exchange.choice or "")
    outputs = list(play(scenario, asked, reply_identity(request.body, request.number)))
    finish = outputs[-1]
    if not isinstance(finish, Finish) or finish.reason is None:
        raise AssertionError(f"{scenario} ends without a reason")
    return said_in_round(outputs, wire.finish_words[finish.reason.unified])
