"""Old names of modules and of what installed protocols import go on for a version, with a warning."""

import importlib
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from partstream import ChatMessage, Finish, FinishReason, Outcome, RequestOptions, TextPart, UnifiedFinishReason
from partstream._moved import MOVED, RENAMED
from partstream.codec.json_codec import dumps
from partstream.lm.outputs import InboundRequest, Reply
from partstream.protocols import protocol
from partstream.protocols.protocol import PROTOCOLS, KeyKind, key_in_header
from partstream.runtime.translation import (
    frame_answer,
    read_answer,
    read_document,
    read_question,
    write_answer,
    write_document,
    write_question,
)


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
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        module.no_such_name  # noqa: B018


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
        "ReadResponse is called ResponseReader now",
        "WriteRequest is called RequestWriter now",
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


def _old(name: str):
    with pytest.warns(DeprecationWarning, match=f"{name} is called {RENAMED[name].rpartition('.')[2]} now"):
        return getattr(protocol, name)


@pytest.mark.parametrize("name", ["Claim", "Ends"])
def test_an_old_name_of_what_an_installed_protocol_imports_is_the_new_one(name: str) -> None:
    home, _, new = RENAMED[name].rpartition(".")
    assert _old(name) is getattr(importlib.import_module(home), new)


def test_a_protocol_that_is_made_of_functions_goes_on() -> None:
    """Up to 0.15 a protocol offered objects made of functions, which are classes now."""
    ours = PROTOCOLS["ollama"]
    asks, reads = ours.write_request(), ours.read_request()  # type: ignore[misc]
    reader, writer = ours.read_response(), ours.write_response()  # type: ignore[misc]
    theirs = replace(
        ours,
        name="theirs",
        read_response=lambda: _old("ReadResponse")(reader, reader.claim, events_of=reader.events_of),
        write_request=lambda: _old("WriteRequest")(asks.write, "/say", authorize=key_in_header("x-their-key")),
        read_request=lambda: _old("ReadRequest")(read=reads.read),
        write_response=lambda: _old("WriteResponse")(writer, writer.frame, writer.document, writer.error),
    )
    asked = read_question(
        theirs, write_question(theirs, InboundRequest("m", (ChatMessage.user("Hi"),), RequestOptions()))
    )
    said = [TextPart("Hello"), Finish(Outcome.COMPLETED, FinishReason(UnifiedFinishReason.STOP, "stop"), model="m")]
    answer = write_answer(theirs, asked, said, Reply("r", 1))
    assert asked.messages == (ChatMessage.user("Hi"),)
    assert read_answer(theirs, frame_answer(theirs, answer)) == said
    assert read_document(theirs, dumps(write_document(theirs, asked, said, Reply("r", 1))[1])) == said
    assert theirs.write_request().authorize("k", KeyKind.API_KEY) == {"x-their-key": "k"}  # type: ignore[misc]
