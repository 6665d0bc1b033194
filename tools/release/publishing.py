"""What a release still lacks before anybody can publish it, and what a dry run leaves."""

from __future__ import annotations
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Final

from tools.build_vsix import repository_of, version_of_source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

__all__ = ["BY_HAND", "files_of_release", "missing_to_publish"]

BY_HAND: Final = (
    "at the index of Python packages: a trusted publisher for each package (release.yml, environment packages)",
    "at the host of the repository: the team maintainers, private reports, the environments packages and github-pages",
    "at the marketplace of VS Code and at Open VSX: the publisher of extension/package.json, and a person's key",
)
"""What only a person can do, once, and no file of the repository shows."""

_KINDS: Final = {".whl": "wheels", ".gz": "source distributions", ".vsix": "extension"}


def files_of_release(names: Iterable[str]) -> Iterator[str]:
    """Yields a line for each of the three kinds of files that a release consists of, with the names of its files."""
    found = sorted(names)
    for ending, kind in _KINDS.items():
        of_kind = [name for name in found if name.endswith(ending)]
        yield f"{kind}: {', '.join(of_kind) or 'none'}"


def missing_to_publish(root: Path) -> Iterator[str]:
    """Yields what the files of a checkout lack before its release can be published; :data:`BY_HAND` comes beside it."""
    version = version_of_source(root)
    if repository_of(root) is None:
        yield "pyproject.toml: the address of the repository in [tool.partstream]; then run tools/generate.py"
    newest = re.search(r"^## \[(.+?)\](.*)$", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    if newest is None or newest[1] != version or not re.search(r"\d{4}-\d\d-\d\d", newest[2]):
        yield f"CHANGELOG.md: a newest heading [{version}] with a date"
    if _git(root, "tag", "--list", f"v{version}") == "":
        yield f"the tag v{version}: git tag v{version}"
    if _git(root, "status", "--porcelain"):
        yield "a checkout without changes: commit or remove what `git status` shows"


def _git(root: Path, *arguments: str) -> str | None:
    """What git prints; None where there is no git or no repository."""
    git = shutil.which("git")
    if git is None:
        return None
    done = subprocess.run([git, *arguments], cwd=root, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.strip() if done.returncode == 0 else None
