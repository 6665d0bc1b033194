"""Changes of a text that can be taken back: each says what stood where, and what stands there now."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Splice", "applied", "newline_of", "taken_back"]


class Splice(NamedTuple):
    """A piece of a text in the place of another.

    Attributes:
        start: Where it begins, in characters.
        old: What stood there.
        new: What stands there now.
    """

    start: int
    old: str
    new: str


def applied(text: str, splices: Iterable[Splice]) -> str:
    """The text with the changes, one after the other.

    Raises:
        ValueError: The text does not hold there what a change takes away.
    """
    for start, old, new in splices:
        end = start + len(old)
        if text[start:end] != old:
            raise ValueError(f"the text differs at character {start}")
        text = text[:start] + new + text[end:]
    return text


def taken_back(text: str, splices: Sequence[Splice]) -> str:
    """The text before the changes.

    Raises:
        ValueError: The text does not hold what a change has put there.
    """
    return applied(text, [Splice(start, new, old) for start, old, new in reversed(splices)])


def newline_of(text: str) -> str:
    """What ends a line of the text."""
    return "\r\n" if "\r\n" in text else "\n"
