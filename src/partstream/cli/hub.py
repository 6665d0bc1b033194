"""`partstream hub`: people, keys, budgets and models of a hub; each command stands in a module of its own."""

from __future__ import annotations

from importlib import import_module
from typing import Final

import click

__all__ = ["COMMANDS", "command"]

COMMANDS: Final = {
    "init": ("hub_setup", "Make the database of a hub, or bring an older one up to date."),
    "add": ("hub_entries", "Add a team, a person or a model."),
    "set": ("hub_entries", "Change what a team, a person, a model or a key may do."),
    "remove": ("hub_entries", "Remove a team, a person or a model."),
    "key": ("hub_keys", "Make, list and revoke the keys of people."),
    "invite": ("hub_keys", "Print a link with which a person gets a key, once."),
    "list": ("hub_shown", "List teams, people and models."),
    "show": ("hub_shown", "Show one team, person, model or key, with what is left of its budgets."),
    "usage": ("hub_usage", "Show what answers took: by person, team, model, client, session or day."),
    "answers": ("hub_answers", "Show single answers: who asked for what, when, and how it ended."),
    "page": ("hub_page", "Open the page of a running hub: budgets, usage, workers, changes."),
    "apply": ("hub_files", "Make the hub what a file says; shows the plan before."),
    "export": ("hub_files", "Write what there is as a file that can be reviewed and applied."),
    "changes": ("hub_shown", "Show who changed what."),
    "check": ("hub_setup", "Look for what keeps people from asking, and for budgets that do not add up."),
}
"""The module of each command, and its one-line help, in the order in which they are listed."""


class _LazyGroup(click.Group):
    """Imports a command only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        commands: dict[str, click.Command] = import_module(f"partstream.cli.{COMMANDS[cmd_name][0]}").COMMANDS
        return commands[cmd_name]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, says) for name, (_, says) in COMMANDS.items()])


_FIRST: Final = (
    "First commands: `partstream hub init`, then `hub add person`, `hub key add`, and `partstream serve --hub`. "
    "docs/hub.md has the whole way."
)


@click.group(
    "hub", cls=_LazyGroup, short_help="Serve models to many people, each with a key and budgets.", epilog=_FIRST
)
def command() -> None:
    """People, keys, budgets and models of a hub: one server for many people.

    The database is a file of SQLite in your data folder, or what PARTSTREAM_HUB_DATABASE names: another file, or
    postgresql://... for workers on several machines. Workers notice a change within two seconds.
    """
