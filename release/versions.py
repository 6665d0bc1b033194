"""The version of a release: one file says it, and every other place must say the same."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["SOURCE", "faults_of_versions", "version_places"]

SOURCE = "src/partstream/_version.py"
"""The one place that is edited."""


def version_places(root: Path) -> dict[str, str]:
    """The version that each place of a tree says, :data:`SOURCE` first.

    Args:
        root: The folder of the project.
    """
    said = re.search(r'^__version__ = "(.+)"$', (root / SOURCE).read_text(encoding="utf-8"), re.MULTILINE)
    manifest, lock = (
        json.loads((root / "extension" / name).read_text(encoding="utf-8"))
        for name in ("package.json", "package-lock.json")
    )
    return {
        SOURCE: said[1] if said else "",
        "extension/package.json": manifest["version"],
        "extension/package-lock.json": lock["version"],
        "extension/package-lock.json, its root package": lock["packages"][""]["version"],
        "CHANGELOG.md, its newest heading": _newest_heading((root / "CHANGELOG.md").read_text(encoding="utf-8")),
    }


def faults_of_versions(places: Mapping[str, str]) -> list[str]:
    """Says of each place that does not say what :data:`SOURCE` says, what it says in its place."""
    wanted = places[SOURCE]
    if not wanted:
        return [f'{SOURCE}: no line __version__ = "..."']
    return [
        f"{place}: the version is {said or 'missing'}, expected {wanted} as in {SOURCE}"
        for place, said in places.items()
        if said != wanted
    ]


def _newest_heading(changelog: str) -> str:
    found = re.search(r"^## \[?(\d[^\]\s]*)", changelog, re.MULTILINE)
    return found[1] if found else ""
