"""Builds every artifact of a release twice, under different circumstances, and keeps the first."""

from __future__ import annotations
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tools.build_vsix import source_date_epoch
from tools.release.comparing import first_difference

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ROOT", "BuildFailedError", "build", "differences"]

ROOT: Final = Path(__file__).resolve().parents[2]
_LONGEST: Final = 300
"""Seconds that one build may take."""

_CIRCUMSTANCES: Final[tuple[tuple[Mapping[str, str], int], ...]] = (
    ({"TZ": "UTC", "PYTHONHASHSEED": "1", "LC_ALL": "C.UTF-8"}, 0o022),
    ({"TZ": "Pacific/Auckland", "PYTHONHASHSEED": "2", "LC_ALL": "C"}, 0o077),
)
"""What a machine decides and an artifact must not show: variables, and the mode of new files."""


class BuildFailedError(Exception):
    """An artifact cannot be built; the message has the last words of what builds it."""


def build(folder: Path, circumstances: int) -> list[Path]:
    """Builds the wheels and the source distributions of our packages, and the extension.

    Args:
        folder: Where they go.
        circumstances: Which of the two circumstances they are built under, 0 or 1.

    Returns:
        Their paths, sorted.

    Raises:
        BuildFailedError: One of them cannot be built.
    """
    variables, mask = _CIRCUMSTANCES[circumstances]
    environment = {**os.environ, **variables, "SOURCE_DATE_EPOCH": str(source_date_epoch())}
    folder.mkdir(parents=True)
    uv = [sys.executable, "-m", "uv", "build", "--quiet", "--all-packages", "--sdist", "--wheel", "--require-hashes"]
    constraints = ["--build-constraints", str(ROOT / "requirements.lock")]
    _run([*uv, *constraints, "--out-dir", str(folder), str(ROOT)], environment, mask)
    _run([sys.executable, str(ROOT / "tools" / "build_vsix.py"), "--out", str(folder)], environment, mask)
    return sorted(path for path in folder.iterdir() if path.suffix in {".whl", ".gz", ".vsix"})


def differences(first: list[Path], second: list[Path]) -> list[str]:
    """Says of each artifact that two builds do not have alike where it differs first."""
    others = {path.name: path for path in second}
    missing = [f"{path.name}: the second build has none" for path in first if path.name not in others]
    found = [(path.name, first_difference(path, others[path.name])) for path in first if path.name in others]
    return [*missing, *(f"{name}: {difference}" for name, difference in found if difference)]


def _run(command: list[str], environment: Mapping[str, str], mask: int) -> None:
    if shutil.which("npm") is None:
        raise BuildFailedError("npm is missing: the extension needs Node 20 or newer, which brings npm")
    try:
        subprocess.run(
            command, cwd=ROOT, env=environment, umask=mask, check=True, capture_output=True, text=True, timeout=_LONGEST
        )
    except subprocess.TimeoutExpired as error:
        raise BuildFailedError(f"{' '.join(command[:4])} took longer than {_LONGEST} s") from error
    except subprocess.CalledProcessError as error:
        last = "\n".join((error.stderr or error.stdout).strip().splitlines()[-10:])
        raise BuildFailedError(f"{' '.join(command[:4])} ... failed with status {error.returncode}: {last}") from error
