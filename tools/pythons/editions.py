"""The environments that the tests run in: each Python of this machine, with two choices of packages."""

from __future__ import annotations
import sys
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from interop.servers.environments import ENVIRONMENTS, PACKAGES, ROOT, NotInstalledError, PythonEnvironment, run_step
from tools.release.licences import LEFT_OUT_EXTRAS
from tools.release.pythons import SUPPORTED, found_pythons

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

__all__ = ["CHOICES", "Edition", "editions", "untested_bounds"]

_FILES: Final = [ROOT / "packages" / name / "pyproject.toml" for name in PACKAGES]

CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "newest": ("--resolution", "highest"),
    # A package without a wheel for a Python is left out: pip would have to compile it.
    "oldest": ("--resolution", "lowest-direct", "--only-binary", ":all:"),
}
"""The arguments of uv, by the choice: of what users install, `oldest` is what the lower bounds in pyproject.toml say.
Tools of the tests are the newest in both.
"""


@dataclass(frozen=True, slots=True)
class Edition:
    """One Python with one choice of packages.

    Attributes:
        version: The version of Python, such as `3.11`.
        choice: A key of :data:`CHOICES`.
        python: Its interpreter; empty if this machine has none.
    """

    version: str
    choice: str
    python: str

    @property
    def name(self) -> str:
        """What `--only` takes."""
        return f"{self.version}-{self.choice}"

    @property
    def lock(self) -> Path:
        """What was chosen, with hashes. It is made anew each time: the newest packages are others every day."""
        return ENVIRONMENTS / f"python-{self.name}.lock"

    @property
    def log(self) -> Path:
        """What pytest says while it runs, and which tests failed for which reason."""
        return ENVIRONMENTS / f"python-{self.name}.log"

    @property
    def environment(self) -> PythonEnvironment:
        """Where it is installed."""
        return PythonEnvironment(f"python-{self.name}", self.lock, self.python)

    def install(self) -> None:
        """Chooses the packages, and installs them and this project.

        Raises:
            NotInstalledError: This machine does not have the Python, or cannot have the packages.
        """
        if not self.python:
            raise NotInstalledError(f"this machine has no Python {self.version}")
        ENVIRONMENTS.mkdir(exist_ok=True)
        self._lock("--upgrade", *CHOICES[self.choice])
        # What the file has by now stays as it is, unless a tool of the tests asks for something newer.
        self._lock("--group", "dev")
        self.environment.install()
        self.environment.install_ours()

    def _lock(self, *choice: str) -> None:
        extras = [word for extra in _extras() for word in ("--extra", extra)]
        left_out = [word for path in _FILES for word in ("--no-emit-package", path.parent.name)]
        written = ["--generate-hashes", "--no-header", "-o", str(self.lock)]
        _uv(
            "pip",
            "compile",
            "--quiet",
            "--python",
            self.python,
            *choice,
            *extras,
            *left_out,
            *written,
            *map(str, _FILES),
        )


def editions() -> list[Edition]:
    """Every supported Python with each choice of packages, whether this machine has the Python or not."""
    found = found_pythons()
    return [Edition(version, choice, found.get(version, "")) for version in SUPPORTED for choice in CHOICES]


def untested_bounds(pins: Mapping[str, str]) -> Iterator[str]:
    """Says of each lower bound of what a user installs that the oldest packages are newer than it: it was not tested.

    Args:
        pins: The versions of one choice of oldest packages, by the package.
    """
    optional = (line for extra in _extras() for line in _optional()[extra])
    required = (line for project in _projects() for line in project["dependencies"])
    for requirement in map(Requirement, dict.fromkeys([*required, *optional])):
        bound = next((one.version for one in requirement.specifier if one.operator == ">="), "")
        pin = pins.get(canonicalize_name(requirement.name), "")
        if bound and pin and Version(pin).release[:2] != (*Version(bound).release, 0)[:2]:
            yield f"{requirement.name}>={bound}, tested from {pin}"


def _extras() -> list[str]:
    return sorted({*_optional()} - {*LEFT_OUT_EXTRAS})


def _optional() -> dict[str, list[str]]:
    return {extra: lines for one in _projects() for extra, lines in one.get("optional-dependencies", {}).items()}


def _projects() -> list[dict[str, Any]]:
    return [tomllib.loads(path.read_text(encoding="utf-8"))["project"] for path in _FILES]


def _uv(*arguments: str) -> None:
    run_step("uv", [sys.executable, "-m", "uv", *arguments])
