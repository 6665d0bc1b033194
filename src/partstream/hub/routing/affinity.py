"""Which upstream a conversation belongs to: rendezvous hashing, without any memory of conversations.

Every worker comes to the same order from the same names, so that a conversation stays where its prompt is cached,
whichever worker it reaches; when an upstream is added or taken away, only the conversations move that gain or lose by
it. Affinity only saves money (docs/wires/serving.md#affinity-of-sessions).
"""

from __future__ import annotations

from hashlib import blake2b
from math import inf, log
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from partstream.hub.directory import Route

__all__ = ["ranked"]

_BYTES: Final = 8
_STEPS: Final = 2 ** (8 * _BYTES)


def ranked(key: str, routes: Iterable[Route]) -> tuple[Route, ...]:
    """The upstreams in the order in which a conversation prefers them.

    Of many keys, each upstream is the first of its weight's share. Those of weight 0 are the last: a reserve.

    Args:
        key: What tells the conversation from others.
        routes: The upstreams.
    """
    scores = [((route.weight > 0, _score(key, route)), route) for route in routes]
    return tuple(route for _, route in sorted(scores, key=lambda one: one[0], reverse=True))


def _score(key: str, route: Route) -> float:
    """The weight divided by an exponential variable that the key and the name draw: the largest of these is that of
    an upstream with the probability of its weight's share (weighted rendezvous hashing)."""
    named = "\0".join((key, route.provider, route.model)).encode(errors="replace")
    drawn = (int.from_bytes(blake2b(named, digest_size=_BYTES).digest(), "big") + 0.5) / _STEPS
    return (route.weight or 1) / -log(drawn) if drawn < 1.0 else inf
