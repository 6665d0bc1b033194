"""Programs of the same user ask a running host for its last answers, and follow what goes on; no other user can."""

import asyncio
import gc
import os
import stat
from collections.abc import AsyncIterator, Coroutine
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from capturing.captures import request
from partstream.codec.redaction import Redactor
from partstream.lm.parts import TextPart
from partstream_devtools.bundles.exchange import HowEnded
from partstream_devtools.capturing.capture import LastAnswers
from partstream_devtools.capturing.capture_socket import (
    FRAME,
    HAS_SOCKETS,
    CaptureSocket,
    FollowedAnswer,
    follow,
    newest_answer,
)

pytestmark = pytest.mark.skipif(not HAS_SOCKETS, reason="Windows has no Unix sockets in its event loops")

KEY = "sk-planted-0123456789"


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 20))


@asynccontextmanager
async def opened(folder: Path, answers: LastAnswers, source: str = "chat") -> AsyncIterator[Path]:
    capture_socket = CaptureSocket(answers, source, folder=folder)
    assert await capture_socket.open()
    try:
        yield next(iter(folder.glob("*.sock")))
    finally:
        await capture_socket.aclose()


def answered(answers: LastAnswers, model: str, *reads: bytes) -> None:
    with answers.capture("chat", model) as answer:
        exchange = answer.exchange("openresponses", request(b"{}"), lambda: Redactor([KEY]))
        exchange.responded(200, "OK", [("authorization", KEY)])
        for data in reads:
            exchange.chunk(data)
        exchange.ended("whole")
        answer.part(TextPart("Hi"))
        answer.end("completed")


def test_the_newest_answer_of_all_hosts_is_told(tmp_path: Path):
    async def test() -> None:
        first, second = LastAnswers(), LastAnswers()
        async with opened(tmp_path, first), opened(tmp_path, second, "serve"):
            assert await newest_answer(tmp_path) is None
            answered(second, "older", b"data: 1\n\n")
            answered(first, "newer", b"data: 2\n\n", b"data: 3\n\n")
            newest = await newest_answer(tmp_path)
        assert newest is not None
        assert newest.is_over
        (exchange,) = newest.bundle.exchanges
        assert [chunk.data for chunk in exchange.chunks] == [b"data: 2\n\n", b"data: 3\n\n"]
        assert exchange.end.how is HowEnded.WHOLE
        (answer,) = newest.bundle.answers
        assert (answer.model, [one.part for one in answer.reported]) == ("newer", [TextPart("Hi")])

    run(test())


def test_no_key_goes_through_a_door(tmp_path: Path):
    async def test() -> None:
        answers = LastAnswers()
        answered(answers, "m", b"bad key " + KEY[:9].encode(), KEY[9:].encode())
        async with opened(tmp_path, answers) as path:
            reader, writer = await asyncio.open_unix_connection(path)
            writer.write(b'{"ask":"answer","number":1}\n')
            said = await reader.read()
            writer.close()
            newest = await newest_answer(tmp_path)
        assert KEY.encode() not in said
        assert newest is not None
        assert KEY not in repr(newest.bundle)
        assert newest.bundle.exchanges[0].body == b"bad key " + b"R" * len(KEY)

    run(test())


def test_the_socket_is_for_the_user_alone_and_goes_with_the_host(tmp_path: Path):
    folder = tmp_path / "doors"

    async def test() -> None:
        async with opened(folder, LastAnswers()) as path:
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert path.name.startswith(f"{os.getpid()}-")
        assert list(folder.iterdir()) == []

    run(test())


def test_a_host_that_ends_while_its_socket_opens_leaves_none(tmp_path: Path):
    """An unclosed socket would be a warning, and warnings are errors here."""

    async def test() -> None:
        door = CaptureSocket(LastAnswers(), "chat", folder=tmp_path / "doors")
        opening = asyncio.create_task(door.open())
        await asyncio.sleep(0)
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)
        assert opening.cancelled()
        assert list((tmp_path / "doors").iterdir()) == []

    run(test())
    gc.collect()


def test_a_socket_that_a_dead_host_has_left_is_removed(tmp_path: Path):
    async def test() -> None:
        async with opened(tmp_path, LastAnswers()) as path:
            left = path.with_name("1-dead.sock")
            path.rename(left)
        assert left.exists()
        assert await newest_answer(tmp_path) is None
        assert not left.exists()

    run(test())


def test_who_follows_sees_an_answer_grow_until_it_has_ended(tmp_path: Path):
    async def test() -> None:
        answers = LastAnswers()
        answered(answers, "before", b"data: 0\n\n")
        async with opened(tmp_path, answers), aclosing(follow(tmp_path)) as following:
            answer = answers.begin("chat", "followed")
            exchange = answer.exchange("openresponses", request(b"{}"))
            exchange.chunk(b"data: 1\n\n")
            first = await anext(following)
            assert (first.bundle.exchanges[0].body, first.is_over) == (b"data: 1\n\n", False)
            exchange.chunk(b"data: 2\n\n")
            exchange.ended("whole")
            answer.end("completed")
            seen: list[FollowedAnswer] = [first]
            while not seen[-1].is_over:
                seen.append(await anext(following))
        assert {one.key for one in seen} == {first.key}
        assert seen[-1].bundle.exchanges[0].body == b"data: 1\n\ndata: 2\n\n"
        assert seen[-1].bundle.answers[0].outcome == "completed"

    run(test())


def test_who_follows_finds_a_host_that_starts_later(tmp_path: Path):
    async def test() -> None:
        async with aclosing(follow(tmp_path)) as following:
            waiting = asyncio.ensure_future(anext(following))
            await asyncio.sleep(0)
            answers = LastAnswers()
            async with opened(tmp_path, answers):
                answers.begin("serve", "late")
                found = await waiting
        assert found.bundle.answers[0].model == "late"

    run(test())


QUESTIONS = {
    "no JSON": b"hello\n",
    "no object": b"[1]\n",
    "another question": b'{"ask":"everything"}\n',
    "a number of no answer": b'{"ask":"answer","number":99}\n',
    "a number that is none": b'{"ask":"answer","number":{"a":1}}\n',
}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_a_question_that_nobody_understands_gets_an_error(tmp_path: Path, question: bytes):
    async def test() -> None:
        async with opened(tmp_path, LastAnswers()) as path:
            reader, writer = await asyncio.open_unix_connection(path)
            writer.write(question)
            said = await reader.read()
            writer.close()
        assert b'"error"' in said[FRAME.size :]

    run(test())


def test_a_question_without_an_end_is_refused(tmp_path: Path):
    async def test() -> None:
        async with opened(tmp_path, LastAnswers()) as path:
            reader, writer = await asyncio.open_unix_connection(path)
            writer.write(b"x" * 100_000)
            assert await reader.read() == b""
            writer.close()

    run(test())


def test_a_path_that_no_socket_can_have_leaves_the_host_without_a_door(tmp_path: Path):
    async def test() -> None:
        capture_socket = CaptureSocket(LastAnswers(), "chat", folder=tmp_path / ("x" * 100))
        assert not await capture_socket.open()
        await capture_socket.aclose()

    run(test())


def test_a_link_in_the_place_of_the_folder_is_not_followed(tmp_path: Path):
    async def test() -> None:
        (tmp_path / "elsewhere").mkdir(mode=0o755)
        before = (tmp_path / "elsewhere").stat().st_mode
        (tmp_path / "doors").symlink_to(tmp_path / "elsewhere")
        capture_socket = CaptureSocket(LastAnswers(), "chat", folder=tmp_path / "doors")
        assert not await capture_socket.open()
        await capture_socket.aclose()
        assert list((tmp_path / "elsewhere").iterdir()) == []
        assert (tmp_path / "elsewhere").stat().st_mode == before

    run(test())


@pytest.mark.parametrize(
    "said",
    [
        b"{}",
        b'{"size": 0}',
        b'{"answers": 7, "size": 0}',
        b'{"answers": [7, {}, {"number": "x"}], "size": 0}',
        b'{"answers": [{"number": 1}], "size": 3}abc',
        b'{"size": 999999999999}',
        b'{"size": -1}',
        b"[" * 9000,
        b"\xff",
    ],
)
def test_what_no_host_would_say_is_no_answer(tmp_path: Path, said: bytes):
    async def welcome(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        head = said.partition(b"}abc")[0] + b"}" if b"}abc" in said else said
        writer.write(FRAME.pack(len(head)) + head + said[len(head) :])
        writer.close()

    async def test() -> None:
        async with await asyncio.start_unix_server(welcome, tmp_path / "1-ab.sock"):
            assert await newest_answer(tmp_path) is None

    run(test())
