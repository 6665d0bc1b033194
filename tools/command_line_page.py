"""Writes docs/reference/command-line.md: every command with its options, from the commands themselves."""

from __future__ import annotations
import inspect
import re
from typing import TYPE_CHECKING, Final

import click
from command_options import options_as_code, options_table

from partstream.cli import COMMANDS, main

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["command_line_page"]

_HEAD: Final = """\
# Reference of the command line

<!-- Made by tools/generate.py from the commands of all packages. Change their docstrings and options. -->

Every command with all its options, as `partstream COMMAND --help` says it. [The command line](../command-line.md)
explains what belongs together, with exit codes and output. An option is stronger than its
environment variable; what is said of a setting holds as in [its table](../configuration.md#settings).
"""
_KEPT_LINES: Final = "\b"
"""What click puts before lines that stay as they are."""
_MADE_HERE: Final = "<!-- run by: tools/command_line_page.py -->"


def command_line_page() -> str:
    """The page in Markdown."""
    context = click.Context(main, info_name="partstream")
    commands = [line for name in main.list_commands(context) for line in _command(_inner(main, name, context))]
    page = "\n".join((_HEAD, *_contents(main, context), *commands))
    return re.sub(r"\n{3,}", "\n\n", page).rstrip() + "\n"


def _command(context: click.Context) -> Iterator[str]:
    """A command, and those within it."""
    command, path = context.command, context.command_path
    yield f"\n{'#' * len(path.split())} {path}\n"
    yield f"`{' '.join((path, *command.collect_usage_pieces(context)))}`\n"
    home, _ = COMMANDS.get(path.removeprefix("partstream "), (".", ""))
    if "." not in home:
        yield f"In the package `{home}` ([installing](../install.md#the-packages)).\n"
    yield from _paragraphs(command.help)
    yield from options_table(command, context)
    yield ""
    yield from _paragraphs(command.epilog)
    if isinstance(command, click.Group):
        yield from _contents(command, context)
        for name in command.list_commands(context):
            yield from _command(_inner(command, name, context))


def _inner(group: click.Group, name: str, context: click.Context) -> click.Context:
    command = group.get_command(context, name)
    if command is None:
        raise LookupError(f"{context.command_path} lists {name!r} and does not have it")
    return click.Context(command, parent=context, info_name=name)


def _contents(group: click.Group, context: click.Context) -> Iterator[str]:
    """A list of the commands of a group."""
    for name in group.list_commands(context):
        inner = _inner(group, name, context)
        anchor = inner.command_path.replace(" ", "-")
        yield f"- [`{inner.command_path}`](#{anchor}): {inner.command.get_short_help_str(200)}"


def _paragraphs(text: str | None) -> Iterator[str]:
    """The paragraphs of a help, each with an empty line behind it."""
    for paragraph in filter(None, inspect.cleandoc(text or "").split("\n\n")):
        if paragraph.startswith(_KEPT_LINES):
            lines = inspect.cleandoc(paragraph.removeprefix(_KEPT_LINES)).splitlines()
            is_shell = all(line.startswith("partstream ") for line in lines)
            yield "\n".join((*(() if is_shell else (_MADE_HERE,)), "```sh" if is_shell else "```text", *lines, "```\n"))
        else:
            yield f"{options_as_code(paragraph)}\n"
