"""Whatever order things happen in, and whatever fails: budgets hold, and each answer is charged once."""

import random
from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from hub.budgets.crowd import TEAM
from hub.budgets.virtual_hub import VirtualHub
from partstream_hub.directory import Owner, OwnerKind, Period

if TYPE_CHECKING:
    from collections.abc import Callable

PERSON = replace(TEAM, owner=Owner(OwnerKind.PERSON, "ana"), period=Period.DAY, limit=600)
RULES = (replace(TEAM, limit=1_000), PERSON)
OUTCOMES = ("done", "done", "done", "done", "lost", "late", "undone")
CHANCES = {
    "ask": 30, "end": 18, "step": 60, "rest": 6, "wait": 6, "drop": 3, "top up": 4, "late": 4, "limit": 2, "start": 3,
    "crash": 1, "burn": 1, "night": 1,
}  # fmt: skip
ACTIONS = 200


def act(hub: VirtualHub, name: str, which: int, number: int) -> None:
    if not hub.workers:
        hub.start()
    worker = hub.workers[which % len(hub.workers)]
    of_workers: dict[str, Callable[[], object]] = {
        "ask": lambda: hub.ask(worker, 20 + number, 1 + number // 2),
        "step": lambda: hub.step(worker, OUTCOMES[number % len(OUTCOMES)]),
        "rest": hub.rest,
        "late": hub.run_late,
        "wait": lambda: hub.pass_time(number / 20),
        "night": lambda: hub.pass_time(3_600 * (number % 30)),
        "crash": lambda: hub.crash(worker, keeps_journal=True),
        "burn": lambda: hub.crash(worker, keeps_journal=False),
        "start": lambda: len(hub.workers) < 4 and hub.start(),
        "limit": lambda: hub.set_limit(RULES[which % 2], 400 + 10 * number),
    }
    if name in of_workers:
        of_workers[name]()
    elif worker.answers:
        answer = worker.answers[number % len(worker.answers)]
        of_answers: dict[str, Callable[[], object]] = {
            "end": lambda: hub.end(worker, answer, number),
            "drop": lambda: hub.drop(worker, answer),
            "top up": lambda: hub.top_up(worker, answer, number),
        }
        of_answers[name]()


def finish(hub: VirtualHub) -> None:
    """Ends all answers, lets everything settle, and ends the workers."""
    if not hub.workers:
        hub.start()
    hub.run_late()
    hub.rest(3.0)
    for worker in hub.workers:
        for answer in list(worker.answers):
            hub.end(worker, answer, 50)
    hub.rest(5.0)
    for worker in hub.workers:
        worker.manager.close(hub.now + worker.seconds_ahead)
    hub.rest(3.0)
    assert all(worker.manager.has_left for worker in hub.workers)


@settings(max_examples=8)
@given(st.integers(0, 2**32))
def test_budgets_hold_in_every_order_and_each_answer_is_charged_once(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    with VirtualHub(RULES) as hub:
        hub.start()
        hub.start()
        hub.rest()
        for name in chance.choices(list(CHANCES), list(CHANCES.values()), k=ACTIONS):
            act(hub, name, chance.randrange(4), chance.randrange(101))
            hub.check()
        finish(hub)
        hub.check()
        assert hub.entered() == hub.ledger
        assert hub.store.read("SELECT id FROM hub_windows WHERE overrun > 0") == []
        held = hub.store.read("SELECT DISTINCT worker FROM hub_leases WHERE amount > 0")
        assert {worker for (worker,) in held} <= {name for (name,) in hub.store.read("SELECT name FROM hub_workers")}
