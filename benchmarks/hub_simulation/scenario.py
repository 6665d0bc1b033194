"""What is simulated: how many workers and people, what they ask, and what goes wrong."""

from __future__ import annotations
from dataclasses import dataclass, field

from benchmarks.hub_simulation.database import DatabaseModel
from benchmarks.hub_simulation.people import Traffic

__all__ = ["Burst", "Crash", "Scenario"]


@dataclass(frozen=True, slots=True)
class Crash:
    """Workers that are killed at the same time.

    Attributes:
        at: When.
        workers: How many.
        back_after: The seconds after which a new process is there on the machine, which finds the journal.
        disk_after: The seconds after which the disk is there again; until then nobody can read the journal.
    """

    at: float
    workers: int
    back_after: float = 3.0
    disk_after: float = 0.0


@dataclass(frozen=True, slots=True)
class Burst:
    """Answers that all people of one team ask for in one moment.

    Attributes:
        at: When.
        answers: How many.
        team: The number of the team.
        seconds: Within how many seconds they come.
    """

    at: float
    answers: int
    team: int = 0
    seconds: float = 0.2


@dataclass(frozen=True, slots=True)
class Scenario:
    """One simulation.

    Attributes:
        seconds: For how long people ask; the answers that run then go on to their ends.
        workers: How many workers there are.
        traffic: Who asks how much.
        database: How long the database takes.
        is_sticky: Whether the balancer sends a person to the same worker each time; otherwise to any.
        crashes: Workers that are killed.
        bursts: Many answers in one moment.
        away: From when until when the database does not answer; None for never.
        skew: The most seconds by which the clock of a worker is wrong.
        drift: The most by which it runs too fast or too slow.
        winds_down: Whether the answers that run go on to their ends, and the workers leave.
        machine: How many workers share a machine and its disk.
        seed: Makes the same numbers again.
    """

    seconds: float = 600.0
    workers: int = 200
    traffic: Traffic = field(default_factory=Traffic)
    database: DatabaseModel = field(default_factory=DatabaseModel)
    is_sticky: bool = False
    crashes: tuple[Crash, ...] = ()
    bursts: tuple[Burst, ...] = ()
    away: tuple[float, float] | None = None
    skew: float = 3_600.0
    drift: float = 0.000_2
    winds_down: bool = True
    machine: int = 4
    seed: int = 1
