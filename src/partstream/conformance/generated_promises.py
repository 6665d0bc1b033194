"""The promises that only generated conversations show: the same answer brings the same parts; judges nothing.

They stand apart from the promises of the fixed scenarios: no requirement set counts them yet.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from partstream.conformance.exercises import Relation
from partstream.devtools.conformance.checks import HINTS, PROMISES, Promise
from partstream.lm.contract import Hint, Level

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SAME_PARTS", "hint_of", "promise_of"]

SAME_PARTS: Final[Mapping[Relation, str]] = MappingProxyType(
    {
        Relation.CUT: "stream.same-when-cut",
        Relation.AGAIN: "stream.same-again",
        Relation.OTHER: "stream.same-over-protocols",
    }
)
"""The promise that each relation is about."""

_TABLE: Final = (
    Promise(
        "stream.same-when-cut",
        "kit",
        Level.MUST,
        "However the bytes of the model server are cut, the same parts come.",
    ),
    Promise(
        "stream.same-again",
        "kit",
        Level.MUST,
        "The same request brings the same parts when the model answers the same, whatever was asked before it.",
    ),
    Promise(
        "stream.same-over-protocols",
        "kit",
        Level.MUST,
        "The same answer brings the same text and calls over every protocol.",
    ),
)
_PROMISES: Final = MappingProxyType({promise.id: promise for promise in _TABLE})

_HINTS: Final[Mapping[str, Hint]] = MappingProxyType(
    {
        "stream.same-when-cut": Hint(
            "Letters are missing or broken, now and then, depending on the network.",
            (
                "bytes are decoded read by read, so that a character of several bytes is cut in two",
                "an event is parsed read by read and not line by line",
            ),
        ),
        "stream.same-again": Hint(
            "An answer holds pieces of another one, or is empty when it is asked for again.",
            (
                "the state of a request is kept on the provider, which serves many at once",
                "a cache is keyed by less than the whole request",
            ),
        ),
        "stream.same-over-protocols": Hint(
            "The same model answers differently through another of its endpoints.",
            ("one of the readers loses what its protocol says in another event",),
        ),
    }
)


def promise_of(promise_id: str) -> Promise:
    """The promise with that id.

    Raises:
        KeyError: There is none.
    """
    return _PROMISES[promise_id] if promise_id in _PROMISES else PROMISES[promise_id]


def hint_of(promise_id: str) -> Hint | None:
    """What helps a person with the broken promise, or None."""
    return _HINTS.get(promise_id) or HINTS.get(promise_id)
