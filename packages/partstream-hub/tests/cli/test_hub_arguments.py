"""Whatever people type for a text of `partstream hub`, no command ends with a traceback, and none prints it raw."""

from __future__ import annotations
from typing import TYPE_CHECKING, Any

import click
import pytest
from click.testing import CliRunner

from offences import assert_none
from partstream.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOSTILE = {
    "an escape sequence": "a\x1b[2J",
    "a bidirectional control": "\u202eabc",
    "a second line": "a\nb",
    "half a character": "a\udcff",
    "a long text": "a" * 5000,
}
KNOWN = {"model": "m", "team": "lab"}
"""What there is of each kind; a person otherwise."""


def _leaves(command: click.Command, context: click.Context, path: tuple[str, ...]) -> Iterator[Any]:
    if not isinstance(command, click.Group):
        yield command, path
        return
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        yield from _leaves(inner, click.Context(inner, parent=context), (*path, name))


def _lines(text: str) -> Iterator[list[str]]:
    """Every command of the hub with the text as one of its parameters; all that it needs beside is right."""
    hub = main.get_command(click.Context(main), "hub")
    assert hub is not None
    for command, path in _leaves(hub, click.Context(hub), ("hub",)):
        if path[-1] == "page":  # opens a browser
            continue
        for target in command.params:
            if getattr(target, "is_flag", False) or isinstance(target.type, click.Path | click.Choice):
                continue
            line, named = [*path], isinstance(target, click.Option)
            if named:
                line += [target.opts[0], text]
            line.append("--")
            for one in command.params:
                if one is target and not named:
                    line.append(text)
                elif isinstance(one, click.Argument) and one.required:
                    line.append(KNOWN.get(path[-1], "ana"))
            yield line


@pytest.mark.parametrize("what", HOSTILE)
def test_no_text_that_people_type_ends_a_command_with_a_traceback(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PARTSTREAM_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)  # a text may be the name of a file that a command writes
    runner, offences, count = CliRunner(), [], 0
    for line in (["init"], ["add", "team", "lab"], ["add", "person", "ana"], ["key", "add", "ana"]):
        assert runner.invoke(main, ["hub", *line]).exit_code == 0
    for line in _lines(HOSTILE[what]):
        count += 1
        ended = runner.invoke(main, line)
        if not isinstance(ended.exception, SystemExit | None):
            offences.append(f"{line[:-1]}: {ended.exception!r:.200}")
        if {"\x1b", "\u202e"} & {*ended.output}:
            offences.append(f"{line[:-1]}: printed raw")
    assert_none(offences)
    assert count > 50
