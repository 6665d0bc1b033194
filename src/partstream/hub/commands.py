"""`partstream hub`: people, keys, budgets and models of a hub; each command stands in a module of its own."""

from __future__ import annotations

from importlib import import_module
from typing import Final

import click

COMMANDS: Final = {
    "init": (
        "partstream.hub.commands_directory",
        "SETUP_COMMANDS",
        "Make the database of a hub, or bring an older one up to date.",
    ),
    "add": ("partstream.hub.commands_directory", "ENTRY_COMMANDS", "Add a team, a person or a model."),
    "set": (
        "partstream.hub.commands_directory",
        "ENTRY_COMMANDS",
        "Change what a team, a person, a model or a key may do.",
    ),
    "remove": ("partstream.hub.commands_directory", "ENTRY_COMMANDS", "Remove a team, a person or a model."),
    "key": ("partstream.hub.commands_keys", "KEY_COMMANDS", "Make, list and revoke the keys of people."),
    "invite": ("partstream.hub.commands_keys", "KEY_COMMANDS", "Print a link with which a person gets a key, once."),
    "list": ("partstream.hub.commands_usage", "LISTING_COMMANDS", "List teams, people and models."),
    "show": (
        "partstream.hub.commands_usage",
        "LISTING_COMMANDS",
        "Show one team, person, model or key, with what is left of its budgets.",
    ),
    "usage": (
        "partstream.hub.commands_usage",
        "USAGE_COMMANDS",
        "Show what answers took: by person, team, model, client, session or day.",
    ),
    "answers": (
        "partstream.hub.commands_usage",
        "ANSWER_COMMANDS",
        "Show single answers: who asked for what, when, and how it ended.",
    ),
    "page": (
        "partstream.hub.commands_usage",
        "PAGE_COMMANDS",
        "Open the page of a running hub: budgets, usage, workers, changes.",
    ),
    "apply": (
        "partstream.hub.commands_directory",
        "FILE_COMMANDS",
        "Make the hub what a file says; shows the plan before.",
    ),
    "export": (
        "partstream.hub.commands_directory",
        "FILE_COMMANDS",
        "Write what there is as a file that can be reviewed and applied.",
    ),
    "changes": ("partstream.hub.commands_usage", "LISTING_COMMANDS", "Show who changed what."),
    "check": (
        "partstream.hub.commands_directory",
        "SETUP_COMMANDS",
        "Look for what keeps people from asking, and for budgets that do not add up.",
    ),
}
"""The module of each command, its table of commands, and the one-line help, in the order in which they are listed."""


class _LazyGroup(click.Group):
    """Imports a command only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, table, _ = COMMANDS[cmd_name]
        commands: dict[str, click.Command] = getattr(import_module(module), table)
        return commands[cmd_name]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, says) for name, (_, _, says) in COMMANDS.items()])


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
