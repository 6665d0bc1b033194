"""A server of the tests' own on loopback: it closes what it has accepted, however the test ends."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager

from partstream.server.loopback import LoopbackLimits, LoopbackRequest, ServerConnection
from partstream.server.requests import Application, Receive, Scope
from partstream.server.requests import Send as SendMessage
from partstream_devtools.testing.faults import Step
from partstream_devtools.testing.replaying import Delivery, ReplyStream, watch

_TURNS_OF_ACCEPTING = 5


@asynccontextmanager
async def listening(serve: Callable[[ServerConnection], Awaitable[None]]) -> AsyncIterator[str]:
    """Has every connection served by `serve`, and yields the URL of the server.

    A mistake of `serve` is raised at the end of the block.
    """

    async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await serve(ServerConnection(reader, writer, LoopbackLimits()))

    async with accepting(serve_one) as url:
        yield url


async def deliver(connection: ServerConnection, request: LoopbackRequest, steps: Iterable[Step]) -> None:
    """Answers the request that was read last with these steps."""
    await connection.answer(request, application_of(steps))


def application_of(steps: Iterable[Step]) -> Application:
    """An application that answers every request with the same steps, for servers that speak no protocol."""

    async def application(scope: Scope, receive: Receive, send: SendMessage) -> None:
        del scope
        await receive()
        left = asyncio.Event()
        watching = asyncio.create_task(watch(receive, left))
        try:
            await ReplyStream(send, left, Delivery(), lambda: None, lambda _: None).perform(steps)
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    return application


@asynccontextmanager
async def accepting(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncIterator[str]:
    """As :func:`listening`, for a server that need not speak HTTP."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await serve(reader, writer)

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(serve_one(reader, writer))
        # Not in the task: one that is cancelled before its first step does nothing at all.
        task.add_done_callback(lambda _: writer.transport.abort())
        tasks.add(task)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        # The event loop needs some turns from accepting a connection to `accept`. One on its way would stay open.
        for _ in range(_TURNS_OF_ACCEPTING):
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome
