"""A Python environment as a person has it: wheels of our packages, what they need, and nothing else of this project."""

from __future__ import annotations
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from interop.servers.environments import PACKAGES

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SECONDS", "build_wheel", "built_wheels", "install", "run"]

ROOT = Path(__file__).resolve().parent.parent
SECONDS: Final = 180
UV = Path(sys.executable).with_name("uv")


@pytest.fixture(scope="session")
def built_wheels(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The wheels of all our packages, built once from the tree, by the name of the package."""
    folder = tmp_path_factory.mktemp("built-wheels")
    return {package: build_wheel(folder, package) for package in PACKAGES}


def run(*command: str | Path, cwd: Path) -> str:
    """Runs a command without the variables that lead to this environment, and asserts that it succeeds.

    Where uv installs packages, it takes the versions of requirements.lock.
    """
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment["UV_CONSTRAINT"] = str(ROOT / "requirements.lock")
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
    return done.stdout


def build_wheel(folder: Path, package: str = "partstream") -> Path:
    """The wheel of a package of the tree."""
    run(UV, "build", "--quiet", "--wheel", "--out-dir", folder, ROOT / "packages" / package, cwd=folder)
    (built,) = folder.glob(f"{package.replace('-', '_')}-*.whl")
    return built


def install(wheel: Path, folder: Path, extra: str = "", *more: Path, with_pip: bool = False) -> Path:
    """The folder of the commands of an empty environment that the wheel is installed into.

    Args:
        wheel: The wheel.
        folder: Where the environment is made.
        extra: The extras in brackets.
        more: Other wheels that are installed with it.
        with_pip: Whether a person can install more into it.
    """
    # Not by the module venv: a Python of Debian cannot put pip into an environment.
    run(UV, "venv", "--quiet", *(["--seed"] if with_pip else []), "--python", sys.executable, "environment", cwd=folder)
    commands = folder / "environment" / ("Scripts" if os.name == "nt" else "bin")
    run(UV, "pip", "install", "--quiet", "--python", commands / "python", f"{wheel}{extra}", *more, cwd=folder)
    return commands
