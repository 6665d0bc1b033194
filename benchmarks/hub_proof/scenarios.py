"""What is put to the workers, and what has to hold afterwards."""

from __future__ import annotations
import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from benchmarks.hub_proof.asking import Reply, ask_all, body_of
from benchmarks.hub_proof.books import await_rows, faults_of_rows
from benchmarks.hub_proof.words import INPUT
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.serve import WireRequest
from partstream.runtime.translation import read_question
from partstream.tokens.bounds import wide_bound

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from benchmarks.hub_proof.site import Site

__all__ = [
    "INPUT_PRICE",
    "OUTPUT_PRICE",
    "Found",
    "Sizes",
    "at_the_limit",
    "killed_in_every_phase",
    "without_a_database",
]

INPUT_PRICE: Final = 1_000
OUTPUT_PRICE: Final = 10_000
"""Nanodollars of a token: $1 and $10 for a million."""
_DOLLAR: Final = 10**9
_WORDS: Final = 30
_PEOPLE: Final = 6
_PHASES: Final = (0.0, 0.02, 0.1, 0.5, 1.4, 1.6)
"""When workers are killed, one after the other: before they reserve, while they do, while they answer, which takes a
second and a half, and while they settle."""
_MEGABYTE: Final = 1e6


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is asked.

    Attributes:
        answers: How many answers at once.
        away_seconds: How long the database is away.
        rate: How many answers a second are asked meanwhile.
    """

    answers: int
    away_seconds: float
    rate: int


@dataclass(slots=True)
class Found:
    """What a scenario showed.

    Attributes:
        figures: Figures, for people.
        faults: What should have been otherwise.
    """

    figures: dict[str, Any] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


def killed_in_every_phase(site: Site, sizes: Sizes, chance: random.Random, skews: Sequence[float]) -> Found:
    """A worker is killed in each phase of its answers, and another takes its place; what was cut is charged in full."""
    found = Found()
    keys = [site.person(f"person-{number}", "100 USD/day") for number in range(_PEOPLE)]
    _await_directory()
    for after in _PHASES:
        one = _killed(site, keys, sizes.answers // len(_PHASES), chance, after)
        found.figures |= {f"{name}, kill after {after:g} s": figure for name, figure in one.figures.items()}
        found.faults += one.faults
        site.start((chance.choice(skews),))
    return found


def _killed(site: Site, keys: Sequence[str], answers: int, chance: random.Random, after: float) -> Found:
    """All ask at once, and one worker is killed; there is money for everybody."""
    victim = chance.choice(site.workers)

    async def run() -> list[Reply]:
        async def kill() -> None:
            await asyncio.sleep(after)
            await asyncio.to_thread(site.kill, victim)

        ports = [worker.port for worker in site.workers]
        replies, _ = await asyncio.gather(ask_all(ports, keys, words=_WORDS, requests=answers), kill())
        return replies

    replies = asyncio.run(run())
    found = _compared(site, replies)
    found.faults += [f"refused although there is money: {one.said}" for one in replies if one.status not in {0, 200}]
    cut = [one for one in replies if not one.is_whole]
    found.faults += [f"cut by a worker that lives: {one}" for one in cut if one.port != victim.port]
    found.figures["cut by the kill"] = len(cut)
    return found


def at_the_limit(site: Site, sizes: Sizes) -> Found:
    """All ask at once, and the budget of their team has money for a third of them; then the rest is asked for.

    At once, as many have to be answered as the budget can hold reservations. Afterwards one asks after the other, of
    each worker in turn, until the first is refused: then less has to be left than a request reserves, whichever worker
    holds it.
    """
    each = INPUT * INPUT_PRICE + _WORDS * OUTPUT_PRICE
    paid = sizes.answers // 3
    site.hub("add", "team", "short", "--budget", f"{each * paid / _DOLLAR:.9f} USD/day")
    keys = [site.person(f"short-{number}", "100 USD/day", "short") for number in range(_PEOPLE)]
    _await_directory()
    ports = [worker.port for worker in site.workers]
    replies = asyncio.run(ask_all(ports, keys, words=_WORDS, requests=sizes.answers))
    at_once = sum(one.status == 200 for one in replies)
    while len(replies) == sizes.answers or (replies[-1].status != 429 and len(replies) < 2 * sizes.answers):
        port = ports[len(replies) % len(ports)]
        replies += asyncio.run(ask_all([port], keys[:1], words=_WORDS, requests=1))
    found = _compared(site, replies)
    cost = sum(INPUT * INPUT_PRICE + one.words * OUTPUT_PRICE for one in replies if one.is_whole)
    need = _need()
    rest, fit = each * paid - cost, min(sizes.answers, each * paid // need)
    found.figures |= {
        "answers that the budget pays": paid,
        "reservations that fit at once": fit,
        "answered at once": at_once,
        "answered one after the other until the first refusal": sum(one.status == 200 for one in replies) - at_once,
        "left of the budget, nanodollars": rest,
        "what the next request reserves, nanodollars": need,
    }
    found.faults += [f"{-rest:,} nanodollars over the budget"] * (rest < 0)
    found.faults += [f"refused although {rest:,} nanodollars were left"] * (rest >= need)
    found.faults += [f"{at_once} were answered at once, expected {fit} at least"] * (at_once < fit)
    statuses = Counter(one.status for one in replies)
    found.figures["asked to try again in a moment (503)"] = statuses[503]
    others = {one.status: one.said for one in replies if one.status not in {200, 429, 503}}
    found.faults += [f"refused with status {status}: {said}" for status, said in others.items()]
    return found


def without_a_database(site: Site, sizes: Sizes) -> Found:
    """Answers are refused while the database is stopped; then it comes back, and everything is in the ledger."""
    keys = [site.person(f"steady-{number}", "100 USD/day") for number in range(_PEOPLE)]
    _await_directory()
    ports = [worker.port for worker in site.workers]
    warm = asyncio.run(ask_all(ports, keys, words=_WORDS, requests=sizes.rate * 4))
    before = {worker.port: worker.resident_bytes() for worker in site.workers}
    site.postgres.stop()
    began, replies = time.monotonic(), list(warm)
    while time.monotonic() - began < sizes.away_seconds:
        second = time.monotonic()
        replies += asyncio.run(ask_all(ports, keys, words=2, requests=sizes.rate))
        time.sleep(max(0.0, second + 1 - time.monotonic()))
    after = {worker.port: worker.resident_bytes() for worker in site.workers}
    site.postgres.start()
    found = _compared(site, replies)
    statuses = Counter(one.status for one in replies[len(warm) :])
    found.figures |= {
        "seconds without a database": round(time.monotonic() - began),
        "answered meanwhile": statuses[200],
        "refused meanwhile": {str(status): count for status, count in statuses.items() if status != 200},
        "memory of the workers before, MB": [round(one / _MEGABYTE, 1) for one in before.values()],
        "memory of the workers after, MB": [round(one / _MEGABYTE, 1) for one in after.values()],
    }
    found.faults += [f"{statuses[401]} valid keys were refused"] * bool(statuses[401])
    found.faults += [f"status {status}" for status in statuses if status not in {200, 503}]
    return found


def _await_directory() -> None:
    """Waits until all workers know new people: two seconds, as the documentation says."""
    time.sleep(2.0)


def _compared(site: Site, replies: Sequence[Reply]) -> Found:
    seconds = await_rows(site, replies)
    found = Found(faults=list(faults_of_rows(site, replies)))
    found.figures = {
        "asked": len(replies),
        "whole answers": sum(one.is_whole for one in replies),
        "seconds until all of them are in the ledger": round(seconds, 1),
    }
    return found


def _need() -> int:
    """What a request reserves, by the hub's own bound of its input: of the request as it is read, because the bytes of
    its options count."""
    asked = read_question(PROTOCOLS["chat-completions"], WireRequest("/chat/completions", body_of(_WORDS)))
    return wide_bound("proof", asked) * INPUT_PRICE + _WORDS * OUTPUT_PRICE
