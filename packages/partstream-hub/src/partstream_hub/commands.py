"""`partstream hub`: people, keys, budgets and models of a hub; a command is imported only when it is called."""

from __future__ import annotations
from importlib import import_module
from typing import Final

import click

_DIRECTORY: Final = "partstream_hub.commands_directory"
_USAGE: Final = "partstream_hub.commands_usage"
COMMANDS: Final = {
    "init": (_DIRECTORY, "Make the database of a hub, or bring an older one up to date."),
    "add": (_DIRECTORY, "Add a team, a person or a model."),
    "set": (_DIRECTORY, "Change what a team, a person, a model or a key may do."),
    "remove": (_DIRECTORY, "Remove a team, a person or a model."),
    "key": (_DIRECTORY, "Make, list and revoke the keys of people."),
    "invite": (_DIRECTORY, "Print a join link, with which a person gets a key once."),
    "list": (_USAGE, "List teams, people and models."),
    "show": (_USAGE, "Show one team, person, model or key, with what is left of its budgets."),
    "usage": (_USAGE, "Show tokens and costs: by person, team, model, client, session or day."),
    "answers": (_USAGE, "Show single answers: who asked for what, when, and how it ended."),
    "page": (_USAGE, "Open the page of a running hub: budgets, usage, workers, changes."),
    "apply": (_DIRECTORY, "Apply a file to the hub; shows the plan first."),
    "export": (_DIRECTORY, "Export the hub as a file that can be reviewed and applied."),
    "changes": (_USAGE, "Show who changed what."),
    "check": (_DIRECTORY, "Find problems that block users, and budgets that do not add up."),
}
"""The module of each command, which has it in its `COMMANDS`, and its help, in the order in which they are listed."""


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
        commands: dict[str, click.Command] = import_module(COMMANDS[cmd_name][0]).COMMANDS
        return commands[cmd_name]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, says) for name, (_, says) in COMMANDS.items()])


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
