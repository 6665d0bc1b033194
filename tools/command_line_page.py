"""Writes docs/reference/command-line.md: every command with its options, from the commands themselves."""

from __future__ import annotations
import inspect
import re
from collections import Counter
from typing import TYPE_CHECKING, Final

import click
from command_options import OPTIONS_HEAD, options_as_code, options_table

from partstream.cli import COMMANDS, main

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["command_line_page"]

_HEAD: Final = """\
# Reference of the command line

<!-- Made by tools/generate.py from the commands of all packages. Change their docstrings and options. -->

Every command with all its options, as `partstream COMMAND --help` says it; some are in
[packages of their own](../install.md#the-packages). [The command line](../command-line.md) explains them. An option is
stronger than its environment variable; the rules of a setting are those of [its table](settings.md#settings).
"""
_SHARED_HEAD: Final = """\
## Options of several commands

They mean the same in every command that names them.
"""
_SEVERAL: Final = 2
"""Commands with the same row, from which on it is written once."""
_KEPT_LINES: Final = "\b"
"""What click puts before lines that stay as they are."""
_MADE_HERE: Final = "<!-- run by: tools/command_line_page.py -->"


def command_line_page() -> str:
    """The page in Markdown."""
    context = click.Context(main, info_name="partstream")
    rows = Counter(row for _, row in _rows(context))
    often = [row for row, count in reversed(rows.most_common()) if count >= _SEVERAL]
    shared = {
        row: name for name, row in {_name_of(row): row for row in often}.items()
    }  # of one name, the most frequent
    inner = [_inner(main, name, context) for name in main.list_commands(context)]
    commands = [line for one in inner for line in _command(one, shared)]
    page = "\n".join((_HEAD, *_contents(main, context), "", _SHARED_HEAD, OPTIONS_HEAD, *sorted(shared), *commands))
    return re.sub(r"\n{3,}", "\n\n", page).rstrip() + "\n"


def _rows(context: click.Context) -> Iterator[tuple[str, str]]:
    """Each option of each command below a context, as its row of a table, with the command before it."""
    command = context.command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            yield from _rows(_inner(command, name, context))
    yield from ((context.command_path, row) for row in options_table(command, context) if row != OPTIONS_HEAD)


def _name_of(row: str) -> str:
    return row.removeprefix("| ").split("`", 2)[1].join("``")


def _options(context: click.Context, shared: Mapping[str, str]) -> Iterator[str]:
    """The table of the options that only this command has, and the names of those that it shares with others."""
    rows = [row for row in options_table(context.command, context) if row != OPTIONS_HEAD]
    own = [row for row in rows if row not in shared]
    if own:
        yield from (OPTIONS_HEAD, *own)
    if names := [shared[row] for row in rows if row in shared]:
        yield f"\n{'Also' if own else 'Options'}, [as elsewhere](#options-of-several-commands): {', '.join(names)}."


def _command(context: click.Context, shared: Mapping[str, str]) -> Iterator[str]:
    """A command, and those within it."""
    command, path = context.command, context.command_path
    yield f"\n{'#' * len(path.split())} {path}\n"
    yield f"`{' '.join((path, *command.collect_usage_pieces(context)))}`\n"
    home, _ = COMMANDS.get(path.removeprefix("partstream "), (".", ""))
    if "." not in home:
        yield f"Package: `{home}`\n"
    yield from _paragraphs(command.help)
    yield from _options(context, shared)
    yield ""
    yield from _paragraphs(command.epilog)
    if isinstance(command, click.Group):
        yield from _contents(command, context)
        for name in command.list_commands(context):
            yield from _command(_inner(command, name, context), shared)


def _inner(group: click.Group, name: str, context: click.Context) -> click.Context:
    command = group.get_command(context, name)
    if command is None:
        raise LookupError(f"{context.command_path} lists {name!r} and does not have it")
    return click.Context(command, parent=context, info_name=name)


def _contents(group: click.Group, context: click.Context) -> Iterator[str]:
    """The commands of a group, each with a link to its section, which begins with what it does."""
    paths = [_inner(group, name, context).command_path for name in group.list_commands(context)]
    links = [f"[`{path.rpartition(' ')[2]}`](#{path.replace(' ', '-')})" for path in paths]
    yield f"Commands: {', '.join(links)}"


def _paragraphs(text: str | None) -> Iterator[str]:
    """The paragraphs of a help, each with an empty line after it."""
    for paragraph in filter(None, inspect.cleandoc(text or "").split("\n\n")):
        if paragraph.startswith(_KEPT_LINES):
            lines = inspect.cleandoc(paragraph.removeprefix(_KEPT_LINES)).splitlines()
            is_shell = all(line.startswith("partstream ") for line in lines)
            yield "\n".join((*(() if is_shell else (_MADE_HERE,)), "```sh" if is_shell else "```text", *lines, "```\n"))
        else:
            yield f"{options_as_code(paragraph)}\n"
