"""One answer under a token: it ends, fails, or is cancelled from either side."""

import asyncio

import pytest

from partstream import CancellationTokenSource, LanguageModelError
from partstream.upstream.context import run_here_until_cancelled, run_until_cancelled

both_ways = pytest.mark.parametrize("until_cancelled", [run_until_cancelled, run_here_until_cancelled])


def run(test):
    async def bounded():
        async with asyncio.timeout(30):
            await test()
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(bounded())


class Answer:
    """A coroutine that waits until it is cancelled, and says how far it came."""

    def __init__(self, error: Exception | None = None) -> None:
        self.started = asyncio.Event()
        self.ended = False
        self._error = error

    async def wait(self) -> None:
        self.started.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended = True
            if self._error is not None:
                raise self._error


@both_ways
def test_an_answer_runs_to_its_end_and_its_error_is_raised(until_cancelled):
    async def test():
        said = []

        async def answer():
            said.append("whole")

        async def broken():
            raise LanguageModelError("no")

        source = CancellationTokenSource()
        await until_cancelled(answer(), source.token)
        assert said == ["whole"]
        with pytest.raises(LanguageModelError, match="no"):
            await until_cancelled(broken(), source.token)

    run(test)


@pytest.mark.parametrize("error", [None, LanguageModelError("the connection broke")])
@both_ways
def test_cancelling_the_token_ends_the_answer_and_returns_normally(until_cancelled, error):
    async def test():
        source, answer = CancellationTokenSource(), Answer(error)
        running = asyncio.ensure_future(until_cancelled(answer.wait(), source.token))
        await answer.started.wait()
        source.cancel()
        await running
        assert answer.ended

    run(test)


@both_ways
def test_another_error_after_a_cancellation_is_a_bug_and_is_raised(until_cancelled):
    async def test():
        source, answer = CancellationTokenSource(), Answer(ValueError("a bug"))
        running = asyncio.ensure_future(until_cancelled(answer.wait(), source.token))
        await answer.started.wait()
        source.cancel()
        with pytest.raises(ValueError, match="a bug"):
            await running

    run(test)


@pytest.mark.parametrize("also_the_token", [False, True])
@both_ways
def test_cancelling_who_waits_ends_the_answer_and_is_not_swallowed(until_cancelled, also_the_token):
    async def test():
        source, answer = CancellationTokenSource(), Answer()
        running = asyncio.ensure_future(until_cancelled(answer.wait(), source.token))
        await answer.started.wait()
        if also_the_token:
            source.cancel()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert answer.ended

    run(test)


@both_ways
def test_a_token_that_was_cancelled_before_starts_nothing(until_cancelled):
    async def test():
        source, answer = CancellationTokenSource(), Answer()
        source.cancel()
        await until_cancelled(answer.wait(), source.token)
        assert not answer.started.is_set()

    run(test)


def test_an_answer_of_our_own_code_runs_in_the_task_of_its_caller():
    async def test():
        tasks = []

        async def answer():
            tasks.append(asyncio.current_task())

        await run_here_until_cancelled(answer(), CancellationTokenSource().token)
        assert tasks == [asyncio.current_task()]

    run(test)


@pytest.mark.parametrize("error", [None, LanguageModelError("no")])
def test_a_cancellation_that_an_answer_has_not_met_ends_with_it(error):
    async def test():
        source = CancellationTokenSource()

        async def answer():
            source.cancel()
            if error is not None:
                raise error

        await run_here_until_cancelled(answer(), source.token)
        await asyncio.sleep(0)
        assert asyncio.current_task().cancelling() == 0

    run(test)
