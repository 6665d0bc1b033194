"""The buffer between a provider and its readers."""

import asyncio
from contextlib import suppress

import pytest
from scripted import run, until

from partstream import LanguageModelError, TextPart
from partstream.runtime.requests import PartBuffer


def test_a_reader_waits_for_a_part_until_it_is_added() -> None:
    async def scenario() -> None:
        buffer = PartBuffer()
        waiting = [asyncio.create_task(buffer.has(0)) for _ in range(3)]
        await asyncio.sleep(0)
        assert not any(task.done() for task in waiting)
        buffer.report(TextPart("a"))
        assert await asyncio.gather(*waiting) == [True, True, True]

    run(scenario())


@pytest.mark.parametrize("settle", [PartBuffer.end, PartBuffer.cancel])
def test_a_reader_that_waits_is_told_when_nothing_more_comes(settle) -> None:
    async def scenario() -> None:
        buffer = PartBuffer()
        waiting = asyncio.create_task(buffer.has(0))
        await asyncio.sleep(0)
        settle(buffer)
        await until(waiting.done)
        assert waiting.result() is False
        assert buffer.settled

    run(scenario())


def test_an_error_comes_after_the_parts_and_to_every_reader() -> None:
    async def scenario() -> None:
        buffer = PartBuffer()
        buffer.report(TextPart("a"))
        buffer.end(LanguageModelError("broken"))
        for _ in range(2):
            assert await buffer.has(0)
            with pytest.raises(LanguageModelError, match="broken"):
                await buffer.has(1)

    run(scenario())


def test_a_buffer_that_ended_takes_nothing_more() -> None:
    async def scenario() -> None:
        buffer = PartBuffer()
        buffer.report(TextPart("a"))
        buffer.end()
        buffer.report(TextPart("late"))
        buffer.end(LanguageModelError("late"))
        assert buffer.parts == [TextPart("a")]
        assert await buffer.has(0)
        assert not await buffer.has(1)

    run(scenario())


@pytest.mark.parametrize("error", [None, LanguageModelError("broken")])
def test_a_buffer_that_was_read_to_its_end_cannot_be_cancelled(error) -> None:
    async def scenario() -> None:
        buffer = PartBuffer()
        buffer.report(TextPart("a"))
        buffer.end(error)
        assert not buffer.delivered
        with suppress(LanguageModelError):
            await buffer.has(1)
        assert buffer.delivered
        assert buffer.cancel() is None
        assert not buffer.cancelled
        assert await buffer.has(0)

    run(scenario())


@pytest.mark.parametrize("error", [None, LanguageModelError("broken")])
def test_cancelling_an_unread_buffer_gives_back_the_error_that_nobody_will_read(error) -> None:
    async def scenario() -> None:
        buffer = PartBuffer()
        buffer.end(error)
        assert buffer.cancel() is error
        assert buffer.cancelled
        assert not await buffer.has(0)

    run(scenario())


def test_parts_that_were_not_read_are_not_delivered_after_a_cancellation() -> None:
    async def scenario() -> None:
        buffer = PartBuffer()
        buffer.report(TextPart("a"))
        buffer.cancel()
        assert not await buffer.has(0)
        assert buffer.parts == [TextPart("a")]

    run(scenario())
