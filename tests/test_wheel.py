"""The wheel as a user installs it: built from the tree, into an empty environment, and the main job run there."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SECONDS = 180


def run(*command: str | Path, cwd: Path) -> str:
    # An environment without the variables of this one: what is tested is what was installed.
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
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


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the commands of an empty environment that the wheel was installed into."""
    folder = tmp_path_factory.mktemp("wheel")
    uv = Path(sys.executable).with_name("uv")
    run(uv, "build", "--quiet", "--wheel", "--out-dir", folder, ROOT, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "environment", with_pip=False)
    commands = folder / "environment" / ("Scripts" if os.name == "nt" else "bin")
    run(uv, "pip", "install", "--quiet", "--python", commands / "python", wheel, cwd=folder)
    return commands


@pytest.mark.timeout(SECONDS * 2)
def test_the_installed_command_runs_the_whole_turn(installed: Path, tmp_path: Path) -> None:
    shown = run(installed / "partstream", "demo", "--fast", cwd=tmp_path)
    assert shown.count("tool call") >= 2
    assert "tokens" in shown


@pytest.mark.timeout(SECONDS * 2)
def test_the_installed_package_is_typed_and_has_no_compiled_code(installed: Path, tmp_path: Path) -> None:
    program = (
        "import partstream, pathlib, sysconfig\n"
        "site = pathlib.Path(sysconfig.get_path('purelib'))\n"
        "print((pathlib.Path(partstream.__file__).parent / 'py.typed').exists())\n"
        "print([str(path) for path in site.rglob('*') if path.suffix in ('.so', '.pyd')])\n"
    )
    assert run(installed / "python", "-c", program, cwd=tmp_path).split("\n")[:2] == ["True", "[]"]
