"""The clock that jumps over pauses."""

import asyncio
import selectors
import socket
import threading
import time

from partstream_devtools.conformance.fuzzing import VirtualTimeLoop, _Selector


def _run(coroutine):
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(coroutine), runner.get_loop().skipped


def test_an_hour_of_pauses_passes_on_the_clock_of_the_loop_alone():
    async def pausing() -> float:
        began = asyncio.get_running_loop().time()
        for _ in range(60):
            await asyncio.sleep(60)
        return asyncio.get_running_loop().time() - began

    passed, skipped = _run(pausing())
    assert passed >= 3600
    assert skipped > 3590


def test_timers_keep_their_order():
    async def racing() -> list[int]:
        order: list[int] = []

        async def note(seconds: int) -> None:
            await asyncio.sleep(seconds)
            order.append(seconds)

        await asyncio.gather(*map(note, (30, 10, 20)))
        return order

    assert _run(racing())[0] == [10, 20, 30]


def test_what_arrives_on_a_socket_comes_before_the_limit_of_time():
    async def echoing() -> bytes:
        async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await asyncio.sleep(5)
            writer.write(await reader.readline())
            writer.close()

        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        async with server, asyncio.timeout(10):
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
            writer.write(b"hello\n")
            said = await reader.read()
            writer.close()
            return said

    assert _run(echoing())[0] == b"hello\n"


def test_the_clock_stands_by_the_real_time_while_a_thread_works():
    release = threading.Event()

    async def working() -> str:
        async def waits() -> str:
            await asyncio.sleep(0.05)
            release.set()
            return "released"

        waiting = asyncio.create_task(waits())
        async with asyncio.timeout(60):
            await asyncio.to_thread(release.wait, 30)
        return await waiting

    said, skipped = _run(working())
    assert said == "released"
    assert skipped < 1


def test_a_thread_that_a_target_started_by_itself_counts_too():
    async def working() -> float:
        loop, done, begin = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

        def work() -> None:
            begin.wait(30)
            loop.call_soon_threadsafe(done.set)

        thread = threading.Thread(target=work)
        thread.start()
        loop.call_later(0.05, begin.set)
        async with asyncio.timeout(60):
            await done.wait()
        thread.join()
        return time.monotonic()

    assert _run(working())[1] < 1


def test_what_a_thread_says_last_is_heard_before_the_clock_jumps():
    jumped: list[float] = []
    ours, of_thread = socket.socketpair()

    def may_jump() -> bool:
        of_thread.send(b"done")  # the last that the thread does, right before it is found to be gone
        return True

    with ours, of_thread, _Selector(may_jump, jumped.append) as selector:
        selector.register(ours, selectors.EVENT_READ)
        ((key, _),) = selector.select(300)
        assert (key.fileobj, jumped) == (ours, [])
        ours.recv(10)
        selector.unregister(ours)
        assert selector.select(300) == []
        assert 299 < jumped[0] < 300
