"""Compares one wire with the newest version of its package."""

from __future__ import annotations
from typing import TYPE_CHECKING

from interop.freshness.facts import changes, differences
from interop.freshness.looked_at import LookedAt, looked_at
from interop.freshness.packages import REGISTRIES, read_types

if TYPE_CHECKING:
    from pathlib import Path

    from interop.freshness.facts import Difference, Wire

__all__ = ["compared"]


def compared(wire: Wire, folder: Path, date: str) -> tuple[LookedAt, LookedAt, list[Difference]]:
    """Installs the package of a wire, and compares what it says.

    Args:
        wire: The wire.
        folder: Where it is kept what was looked at.
        date: Today, as ISO 8601 has it.

    Returns:
        What was looked at last, what the package says today, and what a person has to look at.

    Raises:
        NotInstalledError: This machine cannot have the package.
        UnreadableTypesError: One of its types cannot be read.
    """
    installed = REGISTRIES[wire.registry](wire)
    types = {fact.of: members for fact, members in zip(wire.facts, read_types(installed, wire.facts), strict=True)}
    seen = looked_at(folder, wire.name)
    found: list[Difference] = []
    for fact in wire.facts:
        named = [*differences(fact, types[fact.of])]
        told = {one.name for one in named}
        changed = changes(fact.title, seen.types.get(fact.of, {}), types[fact.of])
        found += [*named, *(one for one in changed if one.name not in told)]
    return seen, LookedAt(wire.package, installed.version, date, types), found
