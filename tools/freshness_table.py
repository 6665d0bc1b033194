"""Puts what was looked at for `make interop TRY=freshness` into the page on it."""

from __future__ import annotations
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from page_blocks import with_blocks
from tried_table import row

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from interop.freshness.looked_at import FOLDER, looked_at
from interop.freshness.table import WIRES

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["freshness_page"]

_PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "maintainers" / "freshness.md"


def freshness_page() -> str:
    """The page as it is, with its tables made anew."""
    return with_blocks(_PAGE, {"freshness": _lines()})


def _lines() -> Iterator[str]:
    yield row(("wire", "package", "looked at", "names that were compared", "types whose fields are kept"))
    yield row(("---",) * 5)
    for wire in WIRES:
        seen = looked_at(FOLDER, wire.name)
        names = sum(len(seen.types[fact.of]) for fact in wire.facts if fact.ours is not None)
        yield row((f"`{wire.name}`", f"{seen.package} {seen.version}", seen.date, str(names), str(len(seen.types))))
    yield ""
    yield "Known, and without a row in a table:"
    yield ""
    yield row(("wire", "what", "names", "why"))
    yield row(("---",) * 4)
    for wire in WIRES:
        for fact in wire.facts:
            for reason in dict.fromkeys(fact.unmapped.values()):
                names = ", ".join(f"`{name}`" for name, said in fact.unmapped.items() if said == reason)
                yield row((f"`{wire.name}`", fact.title, names, reason))
