"""The targets of the Makefile, and the help that lists them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]
MAKEFILE = (PROJECT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
def test_the_extension_says_what_is_missing_where_there_is_no_npm(tmp_path: Path):
    stamp = tmp_path / "installed"
    run = subprocess.run(
        [shutil.which("make") or "make", f"NODE_STAMP={stamp}", str(stamp)],
        cwd=PROJECT,
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert run.returncode != 0
    assert "npm is missing: the extension needs Node 20 or newer" in run.stderr
    assert "Traceback" not in run.stderr


def test_packing_says_what_is_missing_where_there_is_no_npm(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(PROJECT / "tools")
    import build_vsix

    monkeypatch.setenv("PATH", "")
    with pytest.raises(build_vsix.BuildError, match="npm is missing"):
        build_vsix._run("npm", "run")


@pytest.mark.skipif(sys.platform == "win32", reason="the script is one of a shell")
def test_packing_runs_npm_by_the_name_under_which_it_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """On Windows it is `npm.cmd`, which no process is started from by the name `npm`."""
    monkeypatch.syspath_prepend(PROJECT / "tools")
    import build_vsix

    script = tmp_path / "npm.cmd"
    script.write_text(f"#!/bin/sh\necho $1 > {tmp_path}/asked\n")
    script.chmod(0o755)
    monkeypatch.setattr("shutil.which", lambda name: str(script) if name == "npm" else None)
    build_vsix._run("npm", "run", folder=tmp_path)
    assert (tmp_path / "asked").read_text() == "run\n"


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
@pytest.mark.parametrize("goal", [[], ["help"]])
def test_make_alone_lists_every_target_with_one_sentence(goal: list[str]):
    # Not as a part of the make that may run the tests: that would say which folder it enters.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", *goal]
    run = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, timeout=20, check=True)
    listed = dict(line.split(maxsplit=1) for line in run.stdout.splitlines())
    targets = {name for names in re.findall(r"^\.PHONY: (.+)$", MAKEFILE, re.MULTILINE) for name in names.split()}
    assert set(listed) == targets
    assert all(sentence[0].isupper() for sentence in listed.values())
