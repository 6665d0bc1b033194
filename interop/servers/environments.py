"""Installs software of others at pinned versions, each in an environment of its own; starts nothing.

An environment is a lock file and what was installed from it. It is installed once, and again when the lock file has
changed since.
"""

from __future__ import annotations
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "ENVIRONMENTS",
    "PACKAGES",
    "ROOT",
    "Environment",
    "NodeEnvironment",
    "NotInstalledError",
    "PythonEnvironment",
    "editable_packages",
    "run_step",
    "sources_of",
]

ROOT: Final = Path(__file__).resolve().parents[2]

PACKAGES: Final = ("partstream", "partstream-agents", "partstream-devtools", "partstream-hub")
"""Our packages, each in a folder below `packages`; those that others need come first."""

ENVIRONMENTS: Final = ROOT / ".environments"
"""Where the environments of Python are; `make clean` removes it."""

_LONGEST: Final = 600
"""Seconds that one step of an installation may take."""


class NotInstalledError(Exception):
    """An environment cannot be installed on this machine; the message says why."""


class Environment(Protocol):
    """Something that can be installed, and then run."""

    def install(self) -> None:
        """Installs it where it is missing or older than its lock file.

        Raises:
            NotInstalledError: This machine cannot have it.
        """

    def program(self, name: str) -> Path:
        """The path of one of its programs."""


@dataclass(frozen=True, slots=True)
class PythonEnvironment:
    """Packages of Python.

    Attributes:
        name: The name of its folder.
        lock: The requirements, with hashes.
        python: The interpreter that it is made of.
    """

    name: str
    lock: Path
    python: str = sys.executable

    @property
    def _folder(self) -> Path:
        return ENVIRONMENTS / self.name

    def install(self) -> None:
        """See :class:`Environment`."""
        stamp = self._folder / ".installed-lock"
        if _is_same(self.lock, stamp):
            return
        run_step("python", [self.python, "-m", "venv", "--clear", "--without-pip", str(self._folder)])
        requirements = ["--require-hashes", "-r", str(self.lock)]
        install = [sys.executable, "-m", "uv", "pip", "install", "--quiet"]
        run_step("uv", [*install, "--python", str(self.program("python")), *requirements])
        shutil.copy(self.lock, stamp)

    @property
    def pins(self) -> Mapping[str, str]:
        """The versions that the lock file pins, by the package."""
        return dict(re.findall(r"^([\w.-]+)==(\S+)", self.lock.read_text(encoding="utf-8"), re.MULTILINE))

    def install_ours(self) -> None:
        """Installs our packages from their sources, without what they need: the lock file has that."""
        install = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", str(self.program("python"))]
        run_step("uv", [*install, "--no-deps", *editable_packages()])

    def is_installed(self) -> bool:
        """Whether what the lock file says is there."""
        return _is_same(self.lock, self._folder / ".installed-lock")

    def program(self, name: str) -> Path:
        """See :class:`Environment`."""
        return self._folder / ("Scripts" if os.name == "nt" else "bin") / name


@dataclass(frozen=True, slots=True)
class NodeEnvironment:
    """Packages of npm, beside their `package-lock.json`.

    Attributes:
        folder: Where they are.
        command: The command of npm; `install` obeys the lock file too, and takes packages that name others for some
            systems that are not published.
    """

    folder: Path
    command: str = "ci"

    def install(self) -> None:
        """See :class:`Environment`."""
        lock, stamp = self.folder / "package-lock.json", self.folder / "node_modules" / ".installed-lock"
        if _is_same(lock, stamp):
            return
        run_step("npm", ["npm", self.command, "--silent", "--ignore-scripts", "--no-audit", "--no-fund"], self.folder)
        shutil.copy(lock, stamp)

    def program(self, name: str) -> Path:
        """See :class:`Environment`."""
        return self.folder / "node_modules" / ".bin" / name


def editable_packages() -> list[str]:
    """The arguments by which uv installs our packages from their sources."""
    return [word for name in PACKAGES for word in ("--editable", str(ROOT / "packages" / name))]


def sources_of(checkout: Path = ROOT) -> list[Path]:
    """The folders of a checkout that hold our packages, for `PYTHONPATH` or a search."""
    return [checkout / "packages" / name / "src" for name in PACKAGES]


def _is_same(lock: Path, stamp: Path) -> bool:
    return stamp.is_file() and stamp.read_bytes() == lock.read_bytes()


def run_step(
    name: str,
    command: Sequence[str],
    folder: Path = ROOT,
    environment: Mapping[str, str] | None = None,
    longest: float = _LONGEST,
) -> None:
    """Does one step of an installation.

    Args:
        name: The program, as an error calls it.
        command: The command line.
        folder: Where it runs.
        environment: Its variables; None for our own.
        longest: Seconds that it may take.

    Raises:
        NotInstalledError: The program is missing, failed, or took too long.
    """
    try:
        subprocess.run(
            command, cwd=folder, env=environment, check=True, capture_output=True, text=True, timeout=longest
        )
    except FileNotFoundError as error:
        raise NotInstalledError(f"{name} is missing") from error
    except subprocess.TimeoutExpired as error:
        raise NotInstalledError(f"{name} took longer than {longest:g} s") from error
    except subprocess.CalledProcessError as error:
        lines = [*error.stderr.strip().splitlines(), "it gave no output"]
        said = next((line for line in lines if line.lower().startswith("error")), lines[0])  # pip warns before it
        raise NotInstalledError(f"{name} failed: {said}") from error
