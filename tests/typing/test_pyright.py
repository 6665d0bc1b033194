"""Pyright accepts, in its strict mode, what mypy accepts in its own: the public surface and all examples.

`make types` runs mypy. Pyright needs Node, so this runs where it is installed;
`make types EXAMPLES=1` installs a pinned version and runs that.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYRIGHT = shutil.which("pyright") or shutil.which("basedpyright")


@pytest.mark.skipif(PYRIGHT is None, reason="neither pyright nor basedpyright is installed")
@pytest.mark.timeout(300)
def test_pyright_accepts_the_public_surface_and_the_examples() -> None:
    command = [str(PYRIGHT), "--project", str(ROOT / "pyproject.toml")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=290, check=False)
    assert done.returncode == 0, done.stdout
