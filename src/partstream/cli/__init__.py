"""The command `partstream`: one file a command, loaded when it is called; knows nothing of what they do."""

from __future__ import annotations

from importlib import import_module

import click

from partstream._version import __version__

__all__ = ["COMMANDS", "main"]

COMMANDS = {
    "chat": "Talk to a model on any server that speaks a known protocol.",
    "check": "Check a recorded stream against the contract.",
    "config": "Show the settings that are in force, and where they come from.",
    "demo": "Watch a whole conversation turn run over real HTTP.",
    "doctor": "Find out what keeps a model from answering.",
    "models": "List the models of a server, with their limits and where these are from.",
    "replay": "Turn a recorded stream into parts.",
    "sidecar": "Serve providers to the VS Code extension over standard input and output.",
    "upstream": "Serve scenarios and recordings as a model server on loopback.",
    "usage": "Show what the answers on this machine took, by day and model.",
}
"""Each command and its one line of help; the module `partstream.cli.NAME` holds it as `command`."""


class _LazyGroup(click.Group):
    """Lists commands from the table and imports one only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"partstream.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="partstream")
def main() -> None:
    """Any language model in VS Code chat, through Python."""
