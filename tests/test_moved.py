"""Old names of modules and of what installed protocols import go on for a version, with a warning."""

import importlib
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from partstream._moved import MOVED, RENAMED
from partstream.protocols import protocol


@pytest.mark.parametrize("old", [f"partstream.{name}" for name in MOVED if not name.startswith("hosts")])
def test_an_old_name_imports_what_the_new_module_has(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, old, raising=False)
    home = MOVED[old.removeprefix("partstream.")]
    with warnings.catch_warnings(record=True) as warned:  # the old package around it warns too, where it is new
        warnings.simplefilter("always")
        module = importlib.import_module(old)
    assert f"{old} is {home} now" in [str(warning.message) for warning in warned]
    new = importlib.import_module(home)
    public = [name for name in vars(new) if not name.startswith("_")]
    assert all(getattr(module, name) is getattr(new, name) for name in public)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        module.nothing  # noqa: B018


def test_a_statement_of_a_page_of_0_15_goes_on(tmp_path: Path) -> None:
    """In a process of its own, where nothing is imported yet."""
    program = tmp_path / "program.py"
    program.write_text(
        "from partstream.outputs import Asked, Finish\n"
        "from partstream.parts import TextPart\n"
        "from partstream.protocols.protocol import ReadResponse, WriteRequest\n"
        "from partstream.serving import ServingSettings, app\n"
        "import partstream\n"
        "assert TextPart is partstream.TextPart and Finish is partstream.Finish and callable(app)\n"
    )
    run = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=60, check=False)
    warned = [line for line in run.stderr.splitlines() if "DeprecationWarning" in line]
    assert run.returncode == 0
    assert all(line.startswith(f"{program}:") for line in warned), "a warning names the line that needs the new name"
    assert [line.rpartition(": ")[2] for line in warned] == [
        "partstream.outputs is partstream.lm.outputs now",
        "Asked is called InboundRequest now",
        "partstream.parts is partstream.lm.parts now",
        "ReadResponse is called ResponseReaderSpec now",
        "WriteRequest is called RequestWriterSpec now",
        "partstream.serving is partstream.server now",
    ]


def test_every_module_of_a_room_that_became_a_package_goes_on() -> None:
    with warnings.catch_warnings(record=True) as warned:  # the old package around it warns too, where it is new
        warnings.simplefilter("always")
        old = importlib.import_module("partstream.agents.run")
    assert "partstream.agents.run is partstream_agents.run now" in [str(warning.message) for warning in warned]
    assert old.RunStates is importlib.import_module("partstream_agents.run").RunStates


def test_an_old_name_without_its_package_names_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "partstream_agents"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "partstream_agents", None)
    monkeypatch.delitem(sys.modules, "partstream.agents", raising=False)
    with pytest.raises(ModuleNotFoundError, match=r"pip install \./packages/partstream-agents"):
        importlib.import_module("partstream.agents")


@pytest.mark.parametrize("old", set(RENAMED) - {"Asked"})
def test_an_old_name_of_what_an_installed_protocol_imports_goes_on(old: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"{old} is called {RENAMED[old]} now"):
        assert getattr(protocol, old) is getattr(protocol, RENAMED[old])
