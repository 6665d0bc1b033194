"""Installs the newest version of a package in an environment of its own, and reads its types there."""

from __future__ import annotations
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from interop.servers.environments import ENVIRONMENTS, NotInstalledError, PythonEnvironment, run_step

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from interop.freshness.census import CensusWire
    from interop.freshness.facts import Fact, Members, Wire

__all__ = ["REGISTRIES", "Installed", "UnreadableTypesError", "installed_for_census", "read_fields", "read_types"]

_WORKERS: Final = Path(__file__).resolve().parent / "workers"
_COMPILER: Final = "typescript@5"
"""The compiler that reads the types of packages of npm; from its version 7 on it has another interface."""
_LONGEST: Final = 300
"""Seconds that types may take to be read."""


class UnreadableTypesError(Exception):
    """The types of a package cannot be read: one is gone, or the package does not load. The message says why."""


@dataclass(frozen=True, slots=True)
class Installed:
    """A package that was installed.

    Attributes:
        version: Its version.
        command: What reads its types.
    """

    version: str
    command: Sequence[str]


def _of_python(wire: Wire) -> Installed:
    return _python_package(wire.package, wire.beside, "python_types.py")


def _python_package(package: str, beside: Sequence[str], worker: str) -> Installed:
    name = f"freshness-{package}"
    wanted, lock = ENVIRONMENTS / f"{name}.in", ENVIRONMENTS / f"{name}.lock"
    ENVIRONMENTS.mkdir(exist_ok=True)
    wanted.write_text("\n".join((package, *beside)) + "\n", encoding="utf-8")
    options = ["--quiet", "--no-header", "--generate-hashes", "--upgrade", "--python", sys.executable]
    run_step("uv", [sys.executable, "-m", "uv", "pip", "compile", *options, str(wanted), "-o", str(lock)])
    environment = PythonEnvironment(name, lock)
    environment.install()
    return Installed(environment.pins[package], [str(environment.program("python")), "-I", str(_WORKERS / worker)])


def _of_npm(wire: Wire) -> Installed:
    folder = ENVIRONMENTS / f"freshness-{wire.name}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}\n', encoding="utf-8")
    newest = [f"{package}@latest" for package in (wire.package, *wire.beside)]
    quiet = ["--silent", "--ignore-scripts", "--no-audit", "--no-fund"]
    run_step("npm", ["npm", "install", *quiet, *newest, _COMPILER], folder)
    locked = json.loads((folder / "package-lock.json").read_text(encoding="utf-8"))
    version = locked["packages"][f"node_modules/{wire.package}"]["version"]
    return Installed(version, ["node", str(_WORKERS / "typescript_types.mjs"), str(folder)])


REGISTRIES: Final[Mapping[str, Callable[[Wire], Installed]]] = {"pypi": _of_python, "npm": _of_npm}
"""What installs the newest version of a wire's package; each may raise :class:`NotInstalledError`."""


def read_types(installed: Installed, facts: Sequence[Fact]) -> list[Members]:
    """What the types of some facts are, in their order.

    Args:
        installed: The package.
        facts: The facts.

    Raises:
        UnreadableTypesError: One of the types cannot be read.
        NotInstalledError: The program that reads them is missing.
    """
    answers: list[Any] = _answered(installed, [{"of": fact.of, "by": fact.by} for fact in facts])
    return answers


def installed_for_census(wire: CensusWire) -> Installed:
    """Installs the newest package of a wire.

    Raises:
        NotInstalledError: This machine cannot have it.
    """
    return _python_package(wire.package, (), "python_fields.py")


def read_fields(installed: Installed, roots: Mapping[str, str]) -> Mapping[str, Any]:
    """All types that some types hold: what `workers/python_fields.py` says.

    Args:
        installed: The package.
        roots: The types, each as `module:Name`.

    Raises:
        UnreadableTypesError: One of the types cannot be read.
    """
    types: Mapping[str, Any] = _answered(installed, dict(roots))
    return types


def _answered(installed: Installed, asked: Any) -> Any:
    try:
        done = subprocess.run(
            installed.command, input=json.dumps(asked), capture_output=True, text=True, timeout=_LONGEST, check=False
        )
    except FileNotFoundError as error:
        raise NotInstalledError(f"{installed.command[0]} is missing") from error
    except subprocess.TimeoutExpired as error:
        raise UnreadableTypesError(f"they took longer than {_LONGEST} s") from error
    if done.returncode:
        raise UnreadableTypesError((done.stderr.strip().splitlines() or ["it gave no output"])[-1])
    return json.loads(done.stdout)
