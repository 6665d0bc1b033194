"""Puts the version into the metadata of the packages that add to the core: each needs the core of its own version."""

from __future__ import annotations
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from build_vsix import version_of_source

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["package_files"]

_ROOT: Final = Path(__file__).resolve().parent.parent
_FOLLOW: Final = ("partstream-agents", "partstream-devtools", "partstream-hub")
_PLACES: Final = re.compile(r'(?m)(?<=^version = ")[^"]+|(?<="partstream==)[^"]+|(?<="partstream\[serve\]==)[^"]+')


def package_files() -> dict[str, Callable[[], str]]:
    """The files, each with what makes it."""
    paths = [f"packages/{name}/pyproject.toml" for name in _FOLLOW]
    return {path: partial(_with_version, _ROOT / path) for path in paths}


def _with_version(path: Path) -> str:
    return _PLACES.sub(version_of_source(_ROOT), path.read_text(encoding="utf-8"))
