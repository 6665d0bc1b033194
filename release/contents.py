"""What the artifacts may hold: the .vsix what the sidecar needs, the source distribution no caches."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from scripts.build_vsix import BUNDLED, COMPILED

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["faults_of_sdist", "faults_of_vsix"]

_OF_EXTENSION: Final = frozenset(
    {
        "[Content_Types].xml",
        "extension.vsixmanifest",
        "extension/LICENSE.txt",
        "extension/changelog.md",
        "extension/dist/extension.js",
        "extension/l10n/bundle.l10n.json",
        "extension/package.json",
        "extension/package.nls.json",
        "extension/readme.md",
    }
)
"""Single files of the .vsix; beside them are only the media and the libraries."""
_MEDIA: Final = "extension/media/"
_LIBRARIES: Final = "extension/bundled/libs/"
_PACKAGES: Final = frozenset({"partstream", *(name.replace("-", "_") for name in BUNDLED)})

_CACHES: Final = frozenset(
    {"__pycache__", ".git", ".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".venv", "node_modules"}
)
_TESTS: Final = frozenset({"test", "tests"})
_BYTECODE: Final = frozenset({".pyc", ".pyo"})


def faults_of_vsix(names: Iterable[str]) -> list[str]:
    """Says of each entry of a .vsix why it must not be there.

    Args:
        names: The entries.
    """
    return [f"{name}: {fault}" for name in sorted(names) if (fault := _fault_of_vsix(name))]


def faults_of_sdist(names: Iterable[str]) -> list[str]:
    """Says of each entry of a source distribution that is a cache, or was compiled, that it is.

    Args:
        names: The entries.
    """
    return [f"{name}: {fault}" for name in sorted(names) if (fault := _fault_of_any(PurePosixPath(name)))]


def _fault_of_vsix(name: str) -> str:
    if name in _OF_EXTENSION or name.startswith(_MEDIA):
        return ""
    if not name.startswith(_LIBRARIES):
        return "neither the extension's own, nor a picture, nor a library"
    path = PurePosixPath(name.removeprefix(_LIBRARIES))
    top = re.sub(r"(-[^-]+\.dist-info|\.py)$", "", path.parts[0])
    if top not in _PACKAGES:
        return f"{top} is not among the packages that the sidecar imports"
    if _TESTS & {*path.parts}:
        return "tests of a package"
    return _fault_of_any(path)


def _fault_of_any(path: PurePosixPath) -> str:
    if caches := _CACHES & {*path.parts}:
        return f"a cache: {min(caches)}"
    if path.suffix in _BYTECODE:
        return "bytecode, which fits one Python"
    return "compiled code, which fits one platform" if path.suffix in COMPILED else ""
