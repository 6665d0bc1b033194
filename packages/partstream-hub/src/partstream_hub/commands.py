"""`partstream hub`: people, keys, budgets and models of a hub; a command is imported only when it is called."""

from __future__ import annotations
from importlib import import_module
from typing import Final

import click

_DIRECTORY: Final = "partstream_hub.commands_directory"
_USAGE: Final = "partstream_hub.commands_usage"
COMMANDS: Final = {
    **dict.fromkeys(("init", "add", "set", "remove", "key", "invite"), _DIRECTORY),
    **dict.fromkeys(("list", "show", "usage", "answers", "page"), _USAGE),
    **dict.fromkeys(("apply", "export"), _DIRECTORY),
    "changes": _USAGE,
    "check": _DIRECTORY,
}
"""The module of each command, which has it in its `COMMANDS`, in the order in which they are listed."""


class _LazyGroup(click.Group):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuses what is no text of Unicode, which no database can hold."""
        for one in args:
            if any("\ud800" <= letter <= "\udfff" for letter in one):
                raise click.UsageError(f"got {one[:80]!r}, expected a text of Unicode")
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        commands: dict[str, click.Command] = import_module(COMMANDS[cmd_name]).COMMANDS
        return commands[cmd_name]


_FIRST: Final = (
    "First commands: `partstream hub init`, then `hub add person`, `hub key add`, and `partstream serve --hub`. "
    "docs/hub.md has every step."
)


@click.group(
    "hub", cls=_LazyGroup, short_help="Serve models to many people, each with a key and budgets.", epilog=_FIRST
)
def command() -> None:
    """People, keys, budgets and models of a hub: one server for many people.

    The database is a file of SQLite in your data folder, or what PARTSTREAM_HUB_DATABASE names: another file, or
    postgresql://... for workers on several machines. Workers notice a change within two seconds.
    """
