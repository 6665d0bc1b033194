import asyncio
import os
import threading

from partstream.vscode.rpc import Reader, Writer

PATIENCE = 30


def _run(scenario):
    async def bounded():
        async with asyncio.timeout(PATIENCE):
            await scenario(asyncio.get_running_loop())

    asyncio.run(bounded())


def test_the_reader_hands_on_everything_and_then_the_end():
    async def scenario(loop):
        reading, writing = os.pipe()
        received, ended = bytearray(), asyncio.Event()
        Reader(reading, loop, received.extend, ended.set).start()
        data = bytes(range(256)) * 2000  # more than a pipe holds, and more than the reader reads ahead
        await asyncio.to_thread(_write_all, writing, data)
        await ended.wait()
        assert received == data
        os.close(reading)

    _run(scenario)


def test_the_writer_waits_for_its_reader_piece_by_piece():
    async def scenario(loop):
        reading, writing = os.pipe()
        pieces = [b"%d" % number * 50_000 for number in range(6)]
        waiting = list(pieces)
        writer = Writer(writing, loop, lambda: waiting.pop(0) if waiting else b"", lambda: None)
        writer.start()
        writer.wake()
        writer.wake()
        read = await asyncio.to_thread(_read, reading, 50_000)
        assert len(waiting) >= 3  # a pipe holds 64 KiB, one piece is in the thread's hands
        read += await asyncio.to_thread(_read, reading, 250_000)
        assert read == b"".join(pieces)
        idle = asyncio.Event()
        writer.when_idle(idle.set)
        await idle.wait()
        assert waiting == []
        os.close(reading)
        os.close(writing)

    _run(scenario)


def test_the_writer_says_once_that_its_reader_is_gone_and_is_idle_then():
    async def scenario(loop):
        reading, writing = os.pipe()
        os.close(reading)
        broken, told = asyncio.Event(), []
        writer = Writer(writing, loop, lambda: b"x", lambda: (told.append(1), broken.set()))
        writer.start()
        writer.wake()
        await broken.wait()
        writer.wake()
        idle = asyncio.Event()
        writer.when_idle(idle.set)
        await idle.wait()
        assert told == [1]
        os.close(writing)

    _run(scenario)


def test_threads_outlive_their_loop_without_an_error():
    reading, writing = os.pipe()

    async def scenario(loop):
        Reader(reading, loop, lambda _: None, lambda: None).start()

    _run(scenario)
    [thread] = [thread for thread in threading.enumerate() if thread.name == "partstream-reader"]
    _write_all(writing, b"late")
    thread.join(PATIENCE)
    assert not thread.is_alive()
    os.close(reading)


def _write_all(descriptor, data):
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.close(descriptor)


def _read(descriptor, size):
    data = b""
    while len(data) < size:
        data += os.read(descriptor, size - len(data))
    return data
