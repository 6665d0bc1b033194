"""Hints start the program in the way in which it was started."""

import json
import sys
from importlib import metadata
from pathlib import Path

import pytest

from partstream.cli import program as module
from partstream.cli.program import program

CACHE = "/home/me/.cache/uv/archive-v0/abc"


class _Installed:
    def __init__(self, url: str | None) -> None:
        self._url = url

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self._url is None else json.dumps({"url": self._url})


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("UV", "UV_RUN_RECURSION_DEPTH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(module.shutil, "which", lambda name: None)
    return tmp_path


SOURCES = {
    "this folder": ("file://{here}", "uvx --from . partstream"),
    "a folder below": ("file://{here}/a%20clone", "uvx --from 'a clone' partstream"),
    "another folder": ("file:///opt/clone", "uvx --from /opt/clone partstream"),
    "an index": (None, "uvx partstream"),
}


@pytest.mark.parametrize(("url", "expected"), SOURCES.values(), ids=SOURCES)
def test_what_uvx_started_is_started_by_uvx_though_a_path_of_its_own_has_the_command(
    here: Path, monkeypatch: pytest.MonkeyPatch, url: str | None, expected: str
):
    monkeypatch.setenv("UV", "/usr/bin/uv")
    monkeypatch.setattr(sys, "prefix", CACHE)
    monkeypatch.setattr(module.shutil, "which", lambda name: f"{CACHE}/bin/{name}")
    installed = _Installed(url.format(here=here) if url else None)
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: installed)
    assert program() == expected


def test_what_is_started_from_another_folder_is_named_by_its_whole_path(here: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "argv", [f"{here}/.venv/bin/partstream"])
    assert program(here=False) == f"{here}/.venv/bin/partstream"


def test_a_package_that_is_not_installed_has_no_source(here: Path, monkeypatch: pytest.MonkeyPatch):
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setenv("UV", "/usr/bin/uv")
    monkeypatch.setattr(sys, "prefix", CACHE)
    monkeypatch.setattr("importlib.metadata.distribution", missing)
    assert program() == "uvx partstream"


def test_what_uv_run_started_is_started_by_it(here: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("UV_RUN_RECURSION_DEPTH", "1")
    monkeypatch.setattr(module.shutil, "which", lambda name: f"{here}/.venv/bin/{name}")
    assert program() == "uv run partstream"


STARTED = {
    "a command below this folder": ("{here}/.venv/bin/partstream", ".venv/bin/partstream"),
    "a command elsewhere": ("/opt/my tools/partstream", "'/opt/my tools/partstream'"),
    "a module": ("{here}/src/partstream/__main__.py", ".venv/bin/python -m partstream"),
}


@pytest.mark.parametrize(("started", "expected"), STARTED.values(), ids=STARTED)
def test_a_command_that_the_shell_does_not_find_is_named_by_its_path(
    here: Path, monkeypatch: pytest.MonkeyPatch, started: str, expected: str
):
    monkeypatch.setattr(sys, "argv", [started.format(here=here)])
    monkeypatch.setattr(sys, "executable", f"{here}/.venv/bin/python")
    assert program() == expected


def test_a_module_is_started_by_the_python_that_the_shell_finds_where_that_is_this_one(
    here: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "argv", ["/x/partstream/__main__.py"])
    monkeypatch.setattr(module.shutil, "which", lambda name: sys.executable if name == "python" else None)
    assert program() == "python -m partstream"


def test_the_name_is_enough_where_the_shell_finds_it(here: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module.shutil, "which", lambda name: f"/usr/bin/{name}")
    assert program() == "partstream"
