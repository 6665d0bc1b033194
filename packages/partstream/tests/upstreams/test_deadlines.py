"""Which limit of time comes next, without a clock: every case is a list of arrivals; and the waits that it ends."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream.errors import TimeoutPhase
from partstream.upstream.configuration import Timeouts
from partstream.upstream.transport import Deadlines, LimitedWaits

LIMITS = Timeouts(connect=1, first_event=10, idle=5, total=100)
START = 1000.0
COMMENT, EVENT, FAILURE = (False, False), (True, False), (True, True)

# Arrivals as (seconds after the start, what came): the moment at which patience ends, and what is said then.
CASES = {
    "nothing": ([], 10, TimeoutPhase.FIRST_EVENT, 10),
    "only comments": ([(3, COMMENT), (9, COMMENT)], 10, TimeoutPhase.FIRST_EVENT, 10),
    "an event": ([(3, EVENT)], 8, TimeoutPhase.IDLE, 5),
    "events": ([(3, EVENT), (7, EVENT)], 12, TimeoutPhase.IDLE, 5),
    "a comment after an event": ([(3, EVENT), (7, EVENT)], 12, TimeoutPhase.IDLE, 5),
    "events up to the end": ([(98, EVENT)], 100, TimeoutPhase.TOTAL, 100),
    "a failure": ([(3, EVENT), (4, FAILURE)], 6, TimeoutPhase.IDLE, 5),
    "a failure and more": ([(4, FAILURE), (5, FAILURE), (5.5, FAILURE)], 6, TimeoutPhase.IDLE, 5),
    "a failure at the end": ([(99, FAILURE)], 100, TimeoutPhase.TOTAL, 100),
}


@pytest.mark.parametrize(("arrivals", "moment", "phase", "seconds"), CASES.values(), ids=CASES)
def test_patience_ends_after(arrivals, moment, phase, seconds):
    deadlines = Deadlines(LIMITS, START)
    for after, (events, ending) in arrivals:
        deadlines.arrived(START + after, events=events, ending=ending)
    assert deadlines.next == START + moment
    error = deadlines.error()
    assert (error.phase, error.seconds) == (phase, seconds)


def test_after_a_failure_no_more_is_waited_than_the_idle_limit_allows():
    deadlines = Deadlines(Timeouts(idle=0.5), START)
    deadlines.arrived(START + 1, events=True, ending=True)
    assert deadlines.next == START + 1.5


@given(st.lists(st.floats(0, 200), max_size=20))
def test_whatever_arrives_patience_ends_by_the_total_limit(moments):
    deadlines = Deadlines(LIMITS, START)
    for moment in sorted(moments):
        deadlines.arrived(START + moment, events=True, ending=False)
        assert deadlines.next <= START + 100


def test_the_time_in_which_the_consumer_takes_what_came_is_no_silence_of_the_upstream():
    deadlines = Deadlines(LIMITS, START)
    deadlines.arrived(START + 3, events=True, ending=False)
    deadlines.resumed(START + 60)
    assert deadlines.next == START + 65
    deadlines.resumed(START + 99)
    assert deadlines.next == START + 100
    deadlines.arrived(START + 40, events=True, ending=True)
    deadlines.resumed(START + 41)
    assert deadlines.next == START + 42


@pytest.mark.parametrize(("set_", "first_event"), [(Timeouts(), 3600), (Timeouts(first_event=10), 10)])
def test_a_server_that_loads_a_model_first_has_no_limit_to_the_first_event_but_one_that_a_person_set(
    set_: Timeouts, first_event: float
):
    assert set_.while_loading.first_event == first_event


def _ends_soon() -> Deadlines:
    return Deadlines(Timeouts(first_event=0.02), asyncio.get_running_loop().time())


def test_a_wait_ends_at_the_deadline():
    async def test() -> None:
        with LimitedWaits(_ends_soon()) as waits:
            for _ in range(2):  # the second at once
                with pytest.raises(TimeoutError):
                    await waits.wait(asyncio.Event().wait())
            task = asyncio.current_task()
            assert task is not None
            assert task.cancelling() == 0

    asyncio.run(test())


def test_what_has_come_is_no_wait_and_a_deadline_that_moved_is_the_later_one():
    async def test() -> None:
        deadlines = _ends_soon()
        loop = asyncio.get_running_loop()
        with LimitedWaits(deadlines) as waits:
            assert await waits.wait(asyncio.sleep(0, "come")) == "come"
            later = loop.time() + 0.06
            deadlines.arrived(later - 120, events=True, ending=False)
            with pytest.raises(TimeoutError):
                await waits.wait(asyncio.Event().wait())
            assert loop.time() >= later

    asyncio.run(test())


def test_a_task_that_is_cancelled_while_it_waits_is_cancelled():
    async def test() -> None:
        began = asyncio.Event()

        async def wait() -> None:
            with LimitedWaits(Deadlines(LIMITS, asyncio.get_running_loop().time())) as waits:
                began.set()
                await waits.wait(asyncio.Event().wait())

        task = asyncio.create_task(wait())
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(test())


def test_the_timer_of_waits_that_are_over_is_taken_back():
    async def test() -> None:
        with LimitedWaits(_ends_soon()) as waits:
            await waits.wait(asyncio.sleep(0))
        await asyncio.sleep(0.04)  # the timer would have cancelled this

    asyncio.run(test())
