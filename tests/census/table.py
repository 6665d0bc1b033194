"""The table of fates, as it is kept: a line for each field, a letter for each wire."""

from __future__ import annotations
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from census.fates import DIRECTIONS, Fate, fates_of
from census.wires import WIRES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["FATES", "Table", "kept_table", "table_of_fates", "taken"]

FATES: Final = Path(__file__).resolve().parent / "fates.json"
"""Where the table is."""

_LETTERS: Final[Mapping[Fate, str]] = {
    Fate.CARRIED: "C",
    Fate.TEXT: "T",
    Fate.REFUSED: "R",
    Fate.NAMED: "N",
    Fate.SILENT: "S",
    Fate.BROKEN: "B",
}
_NOWHERE: Final = "-"
"""What the field is in does not arrive there: its fate is that of its place."""
_FATES: Final = {letter: fate for fate, letter in _LETTERS.items()}
_WITHOUT_A_WORD: Final = frozenset({Fate.SILENT, Fate.TEXT, Fate.BROKEN})


@dataclass(frozen=True, slots=True)
class Table:
    """What becomes of fields.

    Attributes:
        letters: For each direction, for each wire, for each field, a letter for each other wire in the order of
            :data:`census.wires.WIRES`.
    """

    letters: Mapping[str, Mapping[str, Mapping[str, str]]]

    def fates(self, direction: str, wire: str) -> Iterator[tuple[str, tuple[Fate | None, ...]]]:
        """Each field of a wire with its fate at each other wire; None where its place does not arrive."""
        for path, letters in self.letters[direction][wire].items():
            yield path, tuple(map(_FATES.get, letters))

    def silent(self, direction: str, wire: str) -> tuple[int, ...]:
        """How many fields of a wire go without a word to each other one."""
        rows = [fates for _, fates in self.fates(direction, wire)]
        return tuple(sum(fates[number] in _WITHOUT_A_WORD for fates in rows) for number, _ in enumerate(WIRES))


@cache
def taken() -> Table:
    """The table as it is today; takes some seconds."""
    return Table(
        {
            direction: {
                wire: {
                    field.path: "".join(_LETTERS[fates[one]] if one in fates else _NOWHERE for one in WIRES)
                    for field, fates in fates_of(wire, direction)
                }
                for wire in WIRES
            }
            for direction in DIRECTIONS
        }
    )


def kept_table() -> Table:
    """The table as it was kept."""
    return Table(json.loads(FATES.read_text(encoding="utf-8")))


def table_of_fates() -> str:
    """The table of today as a file."""
    return json.dumps(taken().letters, indent=1) + "\n"
