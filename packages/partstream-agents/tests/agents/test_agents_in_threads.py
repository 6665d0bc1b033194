"""Iterators that run in a thread: their pieces, their errors, their end, and how far they run ahead."""

import asyncio
import threading
from contextlib import aclosing

import pytest
from scenarios import WAIT_SECONDS, Chat

from partstream import TextPart, chat_model, in_thread


def _run(check):
    async def within():
        async with asyncio.timeout(WAIT_SECONDS):
            return await check()

    return asyncio.run(within())


def test_the_pieces_come_in_order_from_another_thread():
    threads = set()

    def pieces():
        for number in range(1000):
            threads.add(threading.current_thread())
            yield number

    async def collect():
        return [piece async for piece in in_thread(pieces())]

    assert _run(collect) == list(range(1000))
    assert threading.main_thread() not in threads
    assert len(threads) == 1


def test_an_error_comes_after_the_pieces_before_it():
    def pieces():
        yield 1
        raise ZeroDivisionError("in the model")

    came = []

    async def collect():
        async for piece in in_thread(pieces()):
            came.append(piece)

    with pytest.raises(ZeroDivisionError, match="in the model"):
        _run(collect)
    assert came == [1]


def test_the_model_does_not_run_ahead_of_a_slow_reader():
    given, ahead = [], threading.Event()

    def pieces():
        for number in range(100):
            given.append(number)
            if number == 4:
                ahead.set()
            yield number

    async def read():
        async with aclosing(in_thread(pieces(), most_waiting=4)) as answer:
            assert await anext(answer) == 0
            await asyncio.to_thread(ahead.wait, WAIT_SECONDS)
            # One piece is read, four may wait, one more waits for its place.
            assert len(given) <= 6
            return [piece async for piece in answer]

    assert _run(read) == list(range(1, 100))


def test_closing_sets_the_stop_and_closes_the_iterator_in_its_thread():
    stop, closed = threading.Event(), threading.Event()

    def pieces():
        try:
            while not stop.is_set():
                yield "more"
        finally:
            closed.set()

    async def read():
        async with aclosing(in_thread(pieces(), stop)) as answer:
            assert await anext(answer) == "more"
        assert stop.is_set()
        return await asyncio.to_thread(closed.wait, WAIT_SECONDS)

    assert _run(read)


def test_a_model_in_a_thread_is_stopped_by_a_cancellation():
    stops, closed = [], threading.Event()

    def generate(stop):
        try:
            while not stop.is_set():
                yield "word "
        finally:
            closed.set()

    @chat_model(name="Local")
    async def provider(messages, options):
        stop = threading.Event()
        stops.append(stop)
        async for text in in_thread(generate(stop), stop):
            yield text

    async def ask():
        answer = await Chat(provider, ()).say("Hi", cancel_at=lambda part: isinstance(part, TextPart))
        return answer.text, await asyncio.to_thread(closed.wait, WAIT_SECONDS)

    assert _run(ask) == ("word ", True)
    assert stops[0].is_set()


def test_an_event_loop_that_has_ended_meanwhile_harms_nobody():
    go_on, ended = threading.Event(), threading.Event()

    def pieces():
        try:
            yield 1
            go_on.wait(WAIT_SECONDS)
            yield 2
        finally:
            ended.set()

    async def read_one():
        async with aclosing(in_thread(pieces())) as answer:
            return await anext(answer)

    assert _run(read_one) == 1
    go_on.set()
    assert ended.wait(WAIT_SECONDS)
