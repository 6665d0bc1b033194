"""Puts the version and the addresses of the project into the files of the repository that say them.

One file says the version (`tools.build_vsix.VERSION_SOURCE`), and `[tool.partstream]` of the upper `pyproject.toml` the
address of the repository. As long as that address has the owner `OWNER`, no package and no extension names it: a link
that leads nowhere is worse than none.
"""

from __future__ import annotations
import json
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from build_vsix import PLACEHOLDER, owner_of, repository_of, version_of_source

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["project_files", "with_addresses"]

_ROOT: Final = Path(__file__).resolve().parent.parent
_PACKAGES: Final = ("partstream", "partstream-agents", "partstream-devtools", "partstream-hub")
_VERSIONS: Final = re.compile(r'(?m)(?<=^version = ")[^"]+|(?<="partstream==)[^"]+|(?<="partstream\[serve\]==)[^"]+')
_VERSION_OF_CITATION: Final = re.compile(r"(?m)(?<=^version: ).+")
_URLS: Final = re.compile(r"\[project\.urls\]\n(?:.+\n)*\n")
_BEFORE_URLS: Final = re.compile(r"(?m)^(?=\[project\.(?:optional-dependencies|scripts|entry-points)|\[tool\.)")
_REPOSITORY: Final = re.compile(r"https://github\.com/[\w.-]+/partstream\b")


def project_files() -> dict[str, Callable[[], str]]:
    """The files, each with what makes it."""
    return {
        **{path: partial(_package, _ROOT / path) for path in (f"packages/{one}/pyproject.toml" for one in _PACKAGES)},
        "CITATION.cff": partial(_citation, _ROOT / "CITATION.cff"),
        ".github/CODEOWNERS": partial(_of_team, _ROOT / ".github" / "CODEOWNERS"),
        ".github/ISSUE_TEMPLATE/config.yml": partial(_with_repository, _ROOT / ".github/ISSUE_TEMPLATE/config.yml"),
    }


def with_addresses(manifest: dict[str, Any], root: Path) -> dict[str, Any]:
    """The manifest of the extension with the addresses of the project; without any, if it is not published."""
    others = {name: value for name, value in manifest.items() if name not in ("repository", "bugs", "homepage")}
    if (repository := repository_of(root)) is None:
        return others
    addresses = {
        "repository": {"type": "git", "url": f"{repository}.git"},
        "bugs": {"url": f"{repository}/issues"},
        "homepage": f"{repository}#readme",
    }
    made: dict[str, Any] = {}
    for name, value in others.items():
        made[name] = value
        if name == "license":
            made |= addresses
    return made


def _package(path: Path) -> str:
    text = _URLS.sub("", _VERSIONS.sub(version_of_source(_ROOT), path.read_text(encoding="utf-8")))
    if (repository := repository_of(_ROOT)) is None:
        return text
    urls = {
        "Homepage": repository,
        "Documentation": f"{repository}/tree/main/docs",
        "Issues": f"{repository}/issues",
        "Changelog": f"{repository}/blob/main/CHANGELOG.md",
    }
    rows = "".join(f"{name} = {json.dumps(url)}\n" for name, url in urls.items())
    return _BEFORE_URLS.sub(f"[project.urls]\n{rows}\n", text, count=1)


def _citation(path: Path) -> str:
    return _VERSION_OF_CITATION.sub(version_of_source(_ROOT), _with_repository(path))


def _with_repository(path: Path) -> str:
    stated = repository_of(_ROOT) or f"https://github.com/{PLACEHOLDER}/partstream"
    return _REPOSITORY.sub(stated, path.read_text(encoding="utf-8"))


def _of_team(path: Path) -> str:
    owner = owner_of(repository_of(_ROOT) or f"https://github.com/{PLACEHOLDER}")
    return re.sub(r"(?m)(?<=^\* @).+(?=/maintainers$)", owner, path.read_text(encoding="utf-8"))
