"""A folder of wheels, hashes checked, from which a release is installed without a network."""

from __future__ import annotations
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from interop.servers.environments import PACKAGES
from tools.build_vsix import locked
from tools.release.licences import required_packages

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["WheelhouseError", "fill"]

_LONGEST = 300
"""Seconds that the packages may take to arrive."""


class WheelhouseError(Exception):
    """The packages cannot be had; the message has the last words of pip."""


def fill(folder: Path, pythons: Iterable[str]) -> list[str]:
    """Fetches what our packages and their source distributions need to be installed, as requirements.lock names it.

    Args:
        folder: Where the wheels go, in a folder for each Python: some are compiled for one.
        pythons: The versions of Python, such as `3.11`.

    Returns:
        The names of the wheels.

    Raises:
        WheelhouseError: One of them cannot be had, or has another hash.
    """
    # A source distribution is built where it is installed, and so needs what builds it.
    names = [package.name for package in required_packages([*PACKAGES, "hatchling"])]
    folder.mkdir(parents=True)
    requirements = folder / "requirements.txt"
    requirements.write_text("".join(locked(name) for name in names), encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    wanted = ["--require-hashes", "--only-binary", ":all:", "--requirement", str(requirements)]
    for version in pythons:
        done = subprocess.run(
            [*pip, *wanted, "--python-version", version, "--dest", str(folder / version)],
            env=os.environ,
            capture_output=True,
            text=True,
            timeout=_LONGEST,
            check=False,
        )
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["it gave no output"])[-1]
            message = f"the wheels of requirements.lock for Python {version} cannot be fetched: {last}"
            raise WheelhouseError(message)
    return sorted({path.name for path in folder.glob("*/*.whl")})
