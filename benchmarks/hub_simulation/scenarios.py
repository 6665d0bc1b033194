"""The table of all simulations: what `make bench WHAT=simulate` runs."""

from __future__ import annotations
from dataclasses import replace
from typing import Final

from benchmarks.hub_simulation.database import DatabaseModel
from benchmarks.hub_simulation.people import Traffic
from benchmarks.hub_simulation.scenario import Burst, Crash, Scenario
from partstream_hub.directory import DOLLAR

__all__ = ["SCENARIOS", "SWEEPS"]

_ANSWER: Final = 85 * DOLLAR // 1000
"""About what is reserved for an answer."""

_ANY: Final = Scenario(seconds=150.0)
_TEAMS: Final = replace(_ANY, seconds=60.0, traffic=Traffic(answers_a_second=5.0, team_limit=5 * DOLLAR, scarce=0.0))

SCENARIOS: Final = {
    "any": _ANY,
    "sticky": replace(_ANY, is_sticky=True),
    "crashes": replace(
        _ANY, is_sticky=True, crashes=(Crash(50.0, 10), Crash(80.0, 5, disk_after=60.0), Crash(110.0, 10))
    ),
    "away": replace(_ANY, seconds=720.0, is_sticky=True, away=(60.0, 660.0), traffic=Traffic(answers_a_second=50.0)),
    "burst": replace(_TEAMS, bursts=tuple(Burst(25.0 + 4 * number, 200, number) for number in range(5))),
}
"""By name: people go to any worker; a person stays at one; workers die; the database is away for ten minutes; 200
answers in 0.2 s for each of five teams whose budget covers a quarter of them."""

_IDLE: Final = Scenario(
    seconds=10.0, traffic=Traffic(people=50, answers_a_second=1.0, think_seconds=2.0), winds_down=False
)
_HOT: Final = Scenario(seconds=40.0, winds_down=False)
_SMALL: Final = Scenario(seconds=60.0, workers=100, winds_down=False, is_sticky=True)
_FAR: Final = Scenario(seconds=40.0, workers=50, winds_down=False, is_sticky=True)

SWEEPS: Final = {
    "workers": {number: replace(_IDLE, workers=number) for number in (25, 50, 100, 200, 400, 800)},
    "hot": {
        rate: replace(
            _HOT,
            traffic=Traffic(
                team_size=10_000, person_limit=0, team_limit=10_000_000 * DOLLAR, scarce=0.0, answers_a_second=rate
            ),
        )
        for rate in (25, 50, 100, 200, 400)
    },
    "small": {
        answers: replace(
            _SMALL,
            traffic=Traffic(
                people=2_000, person_limit=answers * _ANSWER, team_limit=0, scarce=0.0, answers_a_second=40.0
            ),
        )
        for answers in (2, 5, 10, 30, 100, 1_000)
    },
    "far": {
        milliseconds: replace(
            _FAR,
            traffic=Traffic(people=2_000, answers_a_second=40.0),
            database=DatabaseModel(round_trip=milliseconds / 1000),
        )
        for milliseconds in (0.2, 0.5, 2, 10, 50)
    },
    "burst": {
        number: replace(_TEAMS, workers=number, bursts=tuple(Burst(25.0 + 4 * one, 200, one) for one in range(5)))
        for number in (4, 16, 50, 100, 200)
    },
}
"""What is raised until it breaks: the number of workers; the answers a second of one budget; budgets of a few answers;
the milliseconds to the database; the workers among which a burst at the limit is spread."""
