"""Writes the page of the matrix: kinds of faults that real servers show, by wires, and how many shapes are tried."""

from __future__ import annotations
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

sys.path.append(str(Path(__file__).resolve().parent.parent / "packages/partstream/tests"))

from matrix.rows import kinds
from partstream.protocols.protocol import PROTOCOLS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matrix.rows import Row

__all__ = ["matrix_page"]

_HEAD: Final = """\
# Faults of servers

<!-- Made by tools/generate.py from packages/partstream/tests/matrix. Add a row there. -->

Servers break their own protocols, and each breaks them in the way of another. The table counts the shapes of each kind
of fault that are tried on each wire, as a stream and as a document. Each shape has one right answer and is read whole,
byte by byte and in pieces of any size. What is mended or left out is counted and named: a trace, `partstream replay`
and the inspector show it. An empty cell is a wire that cannot have the kind, or one that is not tried. An issue in
parentheses is where a shape was seen.

"""


def matrix_page() -> str:
    """The page in Markdown."""
    found = kinds()
    wires = [wire for wire in PROTOCOLS if any(row.wire == wire for _, rows in found.values() for row in rows)]
    lines = ["| kind | " + " | ".join(wires) + " |", "|---|" + "---:|" * len(wires)]
    for kind, rows in found.values():
        counts = [sum(row.wire == wire for row in rows) for wire in wires]
        lines.append(f"| {kind.rstrip('.')} | " + " | ".join(str(count or "") for count in counts) + " |")
    sections = [_section(kind, rows) for kind, rows in found.values()]
    return _HEAD + "\n".join(lines) + "\n\n" + "\n".join(sections)


def _section(kind: str, rows: Sequence[Row]) -> str:
    """The shapes of a kind: those that the same wires have share one list, and an issue follows its shape."""
    places: dict[str, set[str]] = {}
    sources: dict[str, set[str]] = {}
    for row in rows:
        places.setdefault(row.shape, set()).add(f"{row.wire}{' (document)' if row.form == 'document' else ''}")
        sources.setdefault(row.shape, set()).update([row.source] if row.source else ())
    shapes: dict[frozenset[str], list[str]] = {}
    for shape, where in places.items():
        seen = f" ({', '.join(sorted(sources[shape]))})" if sources[shape] else ""
        shapes.setdefault(frozenset(where), []).append(f"{shape}{seen}")
    listed = "".join(f"- {'; '.join(names)}: {', '.join(sorted(where))}\n" for where, names in shapes.items())
    return f"## {kind.rstrip('.')}\n\n{listed}"
