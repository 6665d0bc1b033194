"""Puts streamed arguments together: leaves of an object, by their paths (docs/wires/gemini.md#streamed-arguments)."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.read_response import Wire, text

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["PartialArguments"]

_STEP: Final = re.compile(r"""\.([^.\[\]]+)|\[(\d{1,9})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]""")
_MOST_STEPS: Final = 100
_ESCAPED: Final = re.compile(r"\\(.)")
_VALUES: Final = ("stringValue", "numberValue", "boolValue", "nullValue")


class _Text:
    """A leaf that is a text, in pieces: adding to a text in a container copies it every time."""

    __slots__ = ("pieces",)

    def __init__(self) -> None:
        self.pieces: list[str] = []


class PartialArguments:
    """The arguments of one call while they arrive.

    Args:
        begun: Arguments that came whole, or None.
    """

    __slots__ = ("_root", "unread")

    def __init__(self, begun: Wire | None = None) -> None:
        self._root: dict[str, Any] = {} if begun is None else dict(begun)
        self.unread: Wire | None = None
        """The first entry that fits nowhere, or None."""

    def add(self, entries: Iterable[Wire]) -> None:
        """Takes more entries: `{"jsonPath": "$.edits[0].text", "stringValue": "..."}`."""
        for entry in entries:
            name = next((name for name in _VALUES if name in entry), None)
            if name is not None and self.unread is None and not self._set(entry, name):
                self.unread = entry

    @property
    def value(self) -> dict[str, Any]:
        """The arguments so far."""
        return {name: _built(value) for name, value in self._root.items()}

    def _set(self, entry: Wire, name: str) -> bool:
        steps = _steps(text(entry, "jsonPath"))
        if not steps:
            return False
        parent: Any = self._root
        for step, following in pairwise(steps):
            new: Any = [] if isinstance(following, int) else {}
            parent = _at(parent, step, new)
            if type(parent) is not type(new):
                return False
        leaf = entry[name]
        if name == "stringValue" and isinstance(leaf, str):
            said = _at(parent, steps[-1], _Text())
            if isinstance(said, _Text):
                said.pieces.append(leaf)
                return True
            return False
        return _put(parent, steps[-1], None if name == "nullValue" else leaf)


def _steps(path: str) -> list[str | int]:
    """The names and places of a path; none where it cannot be read."""
    if not path.startswith("$"):
        return []
    steps: list[str | int] = []
    place = 1
    while place < len(path):
        found = _STEP.match(path, place)
        if found is None or len(steps) == _MOST_STEPS:
            return []
        name, number, single, double = found.groups()
        quoted = single if single is not None else double
        steps.append(int(number) if number is not None else _ESCAPED.sub(r"\1", quoted) if name is None else name)
        place = found.end()
    return steps if steps and isinstance(steps[0], str) else []


def _at(parent: Any, step: str | int, new: Any) -> Any:
    """What stands at a step; `new`, which is put there, where nothing does. None where the step does not fit."""
    if isinstance(step, str):
        return parent.setdefault(step, new) if isinstance(parent, dict) else None
    if not isinstance(parent, list) or step > len(parent):
        return None
    if step == len(parent):
        parent.append(new)
    return parent[step]


def _put(parent: Any, step: str | int, leaf: Any) -> bool:
    """Puts a leaf at a step, in place of what stood there; tells whether the step fits."""
    if isinstance(step, str) and isinstance(parent, dict):
        parent[step] = leaf
        return True
    if isinstance(step, int) and isinstance(parent, list) and step <= len(parent):
        parent[step : step + 1] = [leaf]
        return True
    return False


def _built(value: Any) -> Any:
    if isinstance(value, _Text):
        return "".join(value.pieces)
    if isinstance(value, dict):
        return {name: _built(one) for name, one in value.items()}
    return [_built(one) for one in value] if isinstance(value, list) else value
