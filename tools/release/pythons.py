"""The Pythons of this machine, and those that a release supports and this machine does not have."""

from __future__ import annotations
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

__all__ = ["OLDEST_VSCODE", "OUR_PYTHONS", "SUPPORTED", "found_pythons", "missing_pythons"]

_ROOT: Final = Path(__file__).resolve().parents[2]

_PROJECT: Final = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["partstream"]

SUPPORTED: Final[tuple[str, ...]] = tuple(_PROJECT["python"])
"""The versions of Python that a release supports, as `[tool.partstream]` of `pyproject.toml` states them."""

OLDEST_VSCODE: Final[str] = _PROJECT["vscode"]
"""The oldest VS Code that the extension supports, stated there too."""

OUR_PYTHONS: Final = _ROOT / ".environments" / "pythons"
"""Where `make pythons` installs those that a machine does not have."""

_PROBE: Final = "import sys; print(*sys.version_info[:2], sep='.')"


def found_pythons(ours: Path = OUR_PYTHONS) -> dict[str, str]:
    """The path of a Python for each supported version that is here.

    The one that runs this comes first, then those of pyenv, of the PATH, and of `make pythons`.

    Args:
        ours: Where `make pythons` installs.
    """
    on_path = [shutil.which(f"python{version}") for version in SUPPORTED]
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    # What is on the PATH may be a shim of pyenv, which knows only the versions that are switched on.
    of_pyenv = sorted(map(str, pyenv.glob("3.*/bin/python")))
    installed = sorted(str(path) for version in SUPPORTED for path in ours.glob(f"*/bin/python{version}"))
    running = getattr(sys, "_base_executable", sys.executable)
    found: dict[str, str] = {}
    for candidate in [running, *of_pyenv, *filter(None, on_path), *installed]:
        run = subprocess.run([candidate, "-I", "-c", _PROBE], capture_output=True, text=True, timeout=30, check=False)
        version = run.stdout.strip()
        if run.returncode == 0 and version in SUPPORTED:
            found.setdefault(version, candidate)
    return {version: found[version] for version in SUPPORTED if version in found}


def missing_pythons(found: dict[str, str]) -> list[str]:
    """The supported versions that were not found."""
    return [version for version in SUPPORTED if version not in found]
