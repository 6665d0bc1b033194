"""The version of a release: one file says it, and every other place must say the same."""

from __future__ import annotations
import json
import re
import tomllib
from typing import TYPE_CHECKING

from packaging.requirements import Requirement

from interop.servers.environments import PACKAGES
from tools.build_vsix import VERSION_SOURCE, version_of_source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

__all__ = ["faults_of_versions", "version_places"]


def version_places(root: Path) -> dict[str, str]:
    """The version that each place of a tree says, the one that is edited first.

    Args:
        root: The folder of the project.

    Raises:
        BuildError: The place that is edited says none.
    """
    manifest, lock = (
        json.loads((root / "extension" / name).read_text(encoding="utf-8"))
        for name in ("package.json", "package-lock.json")
    )
    return {
        VERSION_SOURCE: version_of_source(root),
        **dict(_of_packages(root)),
        "extension/package.json": manifest["version"],
        "extension/package-lock.json": lock["version"],
        "extension/package-lock.json, its root package": lock["packages"][""]["version"],
        "CHANGELOG.md, its newest heading": _newest_heading((root / "CHANGELOG.md").read_text(encoding="utf-8")),
    }


def faults_of_versions(places: Mapping[str, str]) -> list[str]:
    """Says of each place that does not say what the one that is edited says, what it says in its place."""
    wanted = places[VERSION_SOURCE]
    return [
        f"{place}: the version is {said or 'missing'}, expected {wanted} as in {VERSION_SOURCE}"
        for place, said in places.items()
        if said != wanted
    ]


def _of_packages(root: Path) -> Iterator[tuple[str, str]]:
    """What the packages that need the core say: their own version, and that of the core."""
    core, *others = PACKAGES
    for name in others:
        path = f"packages/{name}/pyproject.toml"
        project = tomllib.loads((root / path).read_text(encoding="utf-8"))["project"]
        yield path, project["version"]
        (pin,) = (one.specifier for one in map(Requirement, project["dependencies"]) if one.name == core)
        yield f"{path}, its {core}", str(pin).removeprefix("==")


def _newest_heading(changelog: str) -> str:
    found = re.search(r"^## \[?(\d[^\]\s]*)", changelog, re.MULTILINE)
    return found[1] if found else ""
