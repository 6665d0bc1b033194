"""Conversations over several upstreams in virtual time: the real choice of upstreams, with a model of prompt caches.

An upstream has the prompt of a conversation in its cache for five minutes after its last request, and reads it there
for a tenth of the price. One of the upstreams dies and comes back.
"""

from __future__ import annotations
from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream_hub.directory import Route
from partstream_hub.routing import Blame, Circuits, Selection, ranked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["RoutingScenario", "simulated_routing"]

_CACHE_SECONDS = 300.0
_CACHED_PRICE = 0.1
_DEAD = Blame(is_of_upstream=True)
_TURN_SECONDS = 40.0
_GROWTH = 1_500
_FIRST_PROMPT = 12_000


@dataclass(frozen=True, slots=True)
class RoutingScenario:
    """One simulation.

    Attributes:
        people: How many conversations there are at a time.
        workers: How many workers there are, each with its own circuits.
        upstreams: How many upstreams the model has.
        turns: The turns of a conversation.
        seconds: For how long.
        dead: From when until when the first upstream refuses every request.
        seed: Makes the same numbers again.
    """

    people: int = 10_000
    workers: int = 200
    upstreams: int = 4
    turns: int = 20
    seconds: float = 900.0
    dead: tuple[float, float] = (300.0, 480.0)
    seed: int = 1


_Choice: TypeAlias = "Callable[[str, Sequence[Route], Random], Sequence[Route]]"


@dataclass(slots=True)
class _Conversation:
    name: str
    left: int
    tokens: int = _FIRST_PROMPT


def _by_session(name: str, routes: Sequence[Route], _: Random) -> Sequence[Route]:
    return ranked(name, routes)


def _at_random(_: str, routes: Sequence[Route], random: Random) -> Sequence[Route]:
    return random.sample(routes, len(routes))


_CHOICES: Final[dict[str, _Choice]] = {
    "session": _by_session,
    "random": _at_random,
}


def simulated_routing(scenario: RoutingScenario) -> dict[str, Any]:
    """Runs a scenario once with conversations that stay, and once with every request sent anywhere.

    Returns:
        The figures of both by the names `session` and `random`, as JSON.
    """
    return {name: _run(scenario, choice) for name, choice in _CHOICES.items()}


def _run(scenario: RoutingScenario, choice: _Choice) -> dict[str, Any]:
    random = Random(f"routing {scenario.seed}")
    routes = [Route(f"u{number}", "m") for number in range(scenario.upstreams)]
    circuits = [Circuits() for _ in range(scenario.workers)]
    cached: dict[tuple[str, str], float] = {}
    conversations = [
        _Conversation(f"c{number}", random.randint(1, scenario.turns)) for number in range(scenario.people)
    ]
    total: Counter[str] = Counter()
    by_second = [Counter[str]() for _ in range(int(scenario.seconds))]
    started = scenario.people
    gap = _TURN_SECONDS / scenario.people
    for step in range(int(scenario.seconds / gap)):
        now = step * gap
        counts = by_second[int(now)]
        conversation = conversations[random.randrange(scenario.people)]
        selection = Selection(choice(conversation.name, routes, random), circuits[random.randrange(scenario.workers)])
        counts["asked"] += 1
        tried = 0
        while (selected := selection.next(now)) is not None:
            tried += 1
            if selected.route.provider == "u0" and scenario.dead[0] <= now < scenario.dead[1]:
                counts["failed"] += 1
                selected.failed(_DEAD, now)
                continue
            selected.began()
            selected.completed()
            place = (conversation.name, selected.route.provider)
            is_cached = cached.get(place, -1.0) >= now
            cached[place] = now + _CACHE_SECONDS
            counts["read" if is_cached else "cold"] += 1
            known = conversation.tokens - _GROWTH if is_cached else 0
            total["tokens"] += conversation.tokens
            total["price"] += round(conversation.tokens - known * (1 - _CACHED_PRICE))
            counts[selected.route.provider] += 1
            break
        else:
            counts["refused"] += 1
        counts["moved"] += tried > 1
        conversation.tokens += _GROWTH
        conversation.left -= 1
        if conversation.left <= 0:
            started += 1
            conversation.name, conversation.left = f"c{started}", scenario.turns
            conversation.tokens = _FIRST_PROMPT
    summed: Counter[str] = sum(by_second, Counter())
    return {
        "asked": summed["asked"],
        "refused": summed["refused"],
        "failed_attempts": summed["failed"],
        "moved": summed["moved"],
        "cached": summed["read"] / summed["asked"],
        "price": total["price"] / total["tokens"],
        "shares": {route.provider: summed[route.provider] / summed["asked"] for route in routes},
        "by_second": [dict(counts) for counts in by_second],
    }
