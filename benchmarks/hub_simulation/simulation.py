"""Runs a scenario in virtual time, and judges what the workers did by what was really used."""

from __future__ import annotations
from collections import Counter
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from benchmarks.hub_simulation.database import SimulatedDatabase
from benchmarks.hub_simulation.events import Events
from benchmarks.hub_simulation.people import Population, prompt_of
from benchmarks.hub_simulation.truth import Truth
from benchmarks.hub_simulation.workers import Clock, Disk, Worker
from partstream_hub.amounts import BudgetSpentError
from partstream_hub.leases import BudgetGrant, WorkerSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.hub_simulation.people import Prompt
    from benchmarks.hub_simulation.scenario import Burst, Crash, Scenario
    from benchmarks.hub_simulation.truth import Wait
    from partstream_hub.leases import Outcome

__all__ = ["Tally", "simulated"]

_SETTINGS = WorkerSettings()
_LONGEST_ANSWER = 45.0
_WINDING_DOWN = 8.0
_AFTER_REFUSAL = 10.0
_WATCH = (
    "CREATE TABLE broken (number INTEGER)",
    (
        "CREATE TRIGGER watch AFTER UPDATE ON hub_windows"
        " WHEN NEW.spent + NEW.leased > NEW.budget_limit AND NEW.spent + NEW.leased > OLD.spent + OLD.leased"
        " BEGIN INSERT INTO broken VALUES (NEW.id); END"
    ),
)
"""Notes every transaction behind which a window has more in use than its limit."""


@dataclass(slots=True)
class Tally:
    """What has happened.

    Attributes:
        asked: The answers that were asked for.
        admitted: Those that were begun.
        shortened: Those of them that got less than they asked for.
        at_once: Those of them that were decided without the database.
        spent: Those that were refused because a budget was spent.
        false_refusals: Those of them although what was left covered them all the time.
        unreachable: Those that were refused because nobody could tell.
        unreachable_with_room: Those of them although what was left covered them all the time.
        lost: Those that a dying worker took with it.
        waits: The seconds that the others waited for a decision.
        by_second: The same numbers, for each second.
    """

    asked: int = 0
    admitted: int = 0
    shortened: int = 0
    at_once: int = 0
    spent: int = 0
    false_refusals: int = 0
    unreachable: int = 0
    unreachable_with_room: int = 0
    lost: int = 0
    waits: list[float] = field(default_factory=list)
    by_second: list[Counter[str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Asker:
    """Somebody who asks for an answer; alone if no other one follows it."""

    worker: Worker
    prompt: Prompt
    wait: Wait
    is_alone: bool


class _Simulation:
    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.events = Events()
        self.truth = Truth()
        self.tally = Tally()
        self.database = SimulatedDatabase(self.events, scenario.database, _WATCH)
        self.population = Population(scenario.traffic)
        self._people = Random(f"people {scenario.seed}")
        self._balancer = Random(f"balancer {scenario.seed}")
        self._faults = Random(f"faults {scenario.seed}")
        self._clocks = Random(f"clocks {scenario.seed}")
        self._disks = [Disk() for _ in range(-(-scenario.workers // scenario.machine))]
        self._slots: list[Worker | None] = [None] * scenario.workers
        self._started = 0
        self._ended: list[Worker] = []
        self.use = self.database.use
        for slot in range(scenario.workers):
            self.events.at(slot / scenario.workers, lambda slot=slot: self._start(slot))

    def run(self) -> None:
        scenario, events = self.scenario, self.events
        self._second()
        self._begin_sessions()
        for crash in scenario.crashes:
            events.at(crash.at, lambda crash=crash: self._crash(crash))
        for burst in scenario.bursts:
            events.at(burst.at, lambda burst=burst: self._burst(burst))
        if scenario.away is not None:
            events.at(scenario.away[0], lambda: self._be_away(is_away=True))
            events.at(scenario.away[1], lambda: self._be_away(is_away=False))
        ends = max(scenario.seconds, 0.0 if scenario.away is None else scenario.away[1])
        events.run_until(scenario.seconds)
        self.use = deepcopy(self.database.use)
        if not scenario.winds_down:
            return
        events.run_until(ends + _LONGEST_ANSWER)
        for worker in self._alive():
            worker.close()
        events.run_until(ends + _LONGEST_ANSWER + _WINDING_DOWN)

    # ---- workers ----

    def _start(self, slot: int) -> None:
        scenario = self.scenario
        self._started += 1
        skew, drift = scenario.skew, scenario.drift
        clock = Clock(self._clocks.uniform(-skew, skew), self._clocks.uniform(-drift, drift))
        disk = self._disks[slot // scenario.machine]
        name = f"w{self._started}"
        self._slots[slot] = Worker(name, self.events, self.database, _SETTINGS, clock, disk, self.truth)

    def _alive(self) -> list[Worker]:
        return [worker for worker in self._slots if worker is not None]

    @property
    def workers(self) -> Sequence[Worker]:
        return (*self._ended, *self._alive())

    def _crash(self, crash: Crash) -> None:
        slots = [slot for slot, worker in enumerate(self._slots) if worker is not None]
        for slot in self._faults.sample(slots, min(crash.workers, len(slots))):
            worker = self._slots[slot]
            assert worker is not None
            self._slots[slot] = None
            self._ended.append(worker)
            self.tally.lost += worker.die(disk_is_there=crash.disk_after == 0)
            if crash.disk_after:
                self.events.after(crash.disk_after, lambda worker=worker: worker.disk.left.append(worker.journal))
            self.events.after(crash.back_after, lambda slot=slot: self._start(slot))

    def _be_away(self, *, is_away: bool) -> None:
        self.database.is_away = is_away

    # ---- people ----

    def _begin_sessions(self) -> None:
        """Begins as many sessions as there are at a time, at moments of the first seconds."""
        traffic = self.scenario.traffic
        for person in self._people.sample(range(traffic.people), traffic.sessions):
            self.events.at(
                self._people.uniform(2.0, 2.0 + traffic.turn_seconds), lambda person=person: self._ask(person)
            )

    def _go_on(self, person: int) -> None:
        """Somebody asks for the next answer after a while, or somebody else begins a session in his place."""
        traffic = self.scenario.traffic
        if self._people.random() < 1 / traffic.answers_in_session:
            person = self._people.randrange(traffic.people)
        thinks = self._people.expovariate(1 / traffic.think_seconds)
        if self.events.now + thinks < self.scenario.seconds:
            self.events.after(thinks, lambda: self._ask(person))

    def _burst(self, burst: Burst) -> None:
        size = self.scenario.traffic.team_size
        for _ in range(burst.answers):
            person = burst.team * size + self._people.randrange(size)
            self.events.after(
                self._people.uniform(0, burst.seconds), lambda person=person: self._ask(person, is_alone=True)
            )

    def _ask(self, person: int, *, is_alone: bool = False) -> None:
        prompt = prompt_of(self.population, person, self._people)
        worker = self._worker_of(person)
        tally, began = self.tally, self.events.now
        tally.asked += 1
        self._count("asked")
        wait = self.truth.begin_wait(prompt.needs, began)
        asker = _Asker(worker, prompt, wait, is_alone)
        asked = worker.ask(prompt, lambda outcome, answer_id: self._decided(asker, outcome, answer_id))
        if asked is None:
            tally.at_once += 1
            self._count("at_once")

    def _worker_of(self, person: int) -> Worker:
        if self.scenario.is_sticky:
            for step in range(len(self._slots)):
                if (worker := self._slots[(person + step) % len(self._slots)]) is not None:
                    return worker
        return self._balancer.choice(self._alive())

    def _decided(self, asker: _Asker, outcome: Outcome, answer_id: str) -> None:
        tally, prompt = self.tally, asker.prompt
        self.truth.end_wait(asker.wait)
        tally.waits.append(self.events.now - asker.wait.at)
        if isinstance(outcome, BudgetGrant):
            tally.admitted += 1
            self._count("admitted")
            amounts = {need.rule.id: outcome.amounts[outcome.windows[need.rule.id]] for need in prompt.needs}
            tally.shortened += any(amounts[need.rule.id] < need.amount for need in prompt.needs)
            self.events.after(prompt.seconds, lambda: self._end(asker, answer_id))
            return
        if isinstance(outcome, BudgetSpentError):
            tally.spent += 1
            self._count("spent")
            self.truth.note_refusal(outcome.rule)
            tally.false_refusals += self.truth.has_room(asker.wait, outcome.rule)
        else:
            tally.unreachable += 1
            tally.unreachable_with_room += all(self.truth.has_room(asker.wait, need.rule) for need in prompt.needs)
            self._count("unreachable")
        if not asker.is_alone:
            self.events.after(_AFTER_REFUSAL, lambda: self._go_on(prompt.person))

    def _end(self, asker: _Asker, answer_id: str) -> None:
        asker.worker.end(answer_id)
        if not asker.is_alone:
            self._go_on(asker.prompt.person)

    # ---- figures ----

    def _count(self, name: str) -> None:
        self.tally.by_second[-1][name] += 1

    def _second(self) -> None:
        use = self.database.use
        counts = Counter(statements=use.statements, transactions=use.transactions.total(), rows=use.rows)
        counts["journal"] = sum(len(worker.journal) for worker in self._alive())
        counts["most_journal"] = max((len(worker.journal) for worker in self._alive()), default=0)
        self.tally.by_second.append(counts)
        if self.events.now < self.scenario.seconds + _LONGEST_ANSWER:
            self.events.after(1.0, self._second)


def simulated(scenario: Scenario) -> dict[str, Any]:
    """Runs a scenario.

    Returns:
        Its figures, as JSON; the same for the same scenario.
    """
    simulation = _Simulation(scenario)
    with closing(simulation.database) as database:
        simulation.run()
        read = database.store.read
        windows = {row[0]: row[1:] for row in read("SELECT id, spent, leased, overrun FROM hub_windows")}
        [[broken_transactions]] = read("SELECT count(*) FROM broken")
        [[rows_in_ledger]] = read("SELECT count(*) FROM hub_ledger")
    tally, use, truth = simulation.tally, simulation.use, simulation.truth
    wrongly_charged = sum(abs(windows[number][0] - charged) for number, charged in truth.charged.items())
    seconds = scenario.seconds
    waits = sorted(tally.waits)
    return {
        "asked": tally.asked,
        "admitted": tally.admitted,
        "shortened": tally.shortened,
        "at_once": tally.at_once,
        "spent": tally.spent,
        "false_refusals": tally.false_refusals,
        "unreachable": tally.unreachable,
        "unreachable_with_room": tally.unreachable_with_room,
        "lost": tally.lost,
        "wait_p50": _quantile(waits, 0.5),
        "wait_p99": _quantile(waits, 0.99),
        "wait_longest": waits[-1] if waits else 0.0,
        "over_budget": truth.most_over,
        "broken_transactions": broken_transactions,
        "overrun": sum(row[2] for row in windows.values()),
        "leased_in_the_end": sum(row[1] for row in windows.values()),
        "wrongly_charged": wrongly_charged,
        "rows_in_ledger": rows_in_ledger,
        "rows_left": sum(len(worker.journal) for worker in simulation.workers),
        "used_at_first_refusal": _used(list(truth.refused_at.values())),
        "budgets_that_refused": len(truth.refused_at),
        "transactions_a_second": {name: count / seconds for name, count in sorted(use.transactions.items())},
        "milliseconds": {
            name: 1000 * use.seconds[name] / count for name, count in sorted(use.transactions.items()) if count
        },
        "statements_a_second": use.statements / seconds,
        "rows_a_second": use.rows / seconds,
        "processors_busy": use.busy / seconds,
        "longest_lock_wait": use.longest_wait,
        "most_rows_in_a_journal": max((worker.journal.most for worker in simulation.workers), default=0),
        "by_second": [dict(counts) for counts in tally.by_second],
    }


def _quantile(ordered: Sequence[float], part: float) -> float:
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else 0.0


def _used(parts: list[float]) -> dict[str, float]:
    ordered = sorted(parts)
    return {"least": ordered[0], "median": ordered[len(ordered) // 2]} if ordered else {}
