"""The loads of `make bench WHAT=soak` with few clients: nothing is left behind, and no answer is cut."""

import asyncio
import os

import pytest

from benchmarks.soak.__main__ import LIMITS, load
from benchmarks.soak.process import serving
from benchmarks.soak.scenarios import SCENARIOS
from benchmarks.soak.stopping import stop_under_load

pytestmark = pytest.mark.skipif(os.name != "posix", reason="this system has no such signals")

_SLOW = (
    "take nothing of it",
    "send heads and bodies a letter at a time",
    "read late what is 4 MB long",
    "send bodies of 31 MB of what costs most to read",  # in the pod of partstream-hub/tests/cli/test_pod.py
)


def test_clients_that_leave_and_clients_that_ask_often_leave_nothing_behind():
    async def test():
        async with serving(*LIMITS) as served:
            for scenario in SCENARIOS:
                if scenario.title not in _SLOW:
                    found = await load(served.address, scenario, scenario.few)
                    assert found.faults == [], scenario.title

    asyncio.run(test())


def test_sigterm_under_load_cuts_no_answer_that_could_end_in_time():
    found = asyncio.run(stop_under_load(6, 0, drain_seconds=20.0, events=25))
    assert found.faults == []
