"""The command `partstream`: one module per command, imported only when called; does not know what the commands do.

The table names all commands of Partstream, also those of its other packages, so that one whose package is missing says
which line installs it. Packages of others may add commands too.
"""

from __future__ import annotations
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final

import click

from partstream._version import __version__
from partstream.cli.terminal import ExitCode, drop_output, gated_streams
from partstream.codec.silent_log import end_silence
from partstream.codec.text import on_one_line
from partstream.plugins import COMMANDS as ADDED_COMMANDS
from partstream.plugins import MissingPackageError, PluginLoadError, added, find

__all__ = ["COMMANDS", "loading", "main"]

COMMANDS: Final = {
    "acp": ("partstream-agents", "Answer an editor that speaks the Agent Client Protocol, such as Zed."),
    "add": ("partstream.cli.add", "Add a model server to your file, as a profile."),
    "chat": ("partstream.cli.chat", "Chat with a model on any server that speaks a known protocol."),
    "check": ("partstream-devtools", "Check a recorded stream against the contract."),
    "connect": ("partstream.cli.connect", "Set up a client, such as Codex or Claude Code, for a running server."),
    "conformance": ("partstream-devtools", "Test a provider or a model server against the contract."),
    "config": ("partstream.cli.config", "Show the settings in force and where each comes from."),
    "demo": ("partstream.cli.demo", "Watch a whole conversation turn run over real HTTP."),
    "doctor": ("partstream.cli.doctor", "Find out why a model does not answer."),
    "hub": ("partstream-hub", "Serve models to many people, each with a key and budgets."),
    "inspect": ("partstream-devtools", "Inspect recorded answers: bytes, events, parts, times, and what broke."),
    "models": ("partstream.cli.models", "List a server's models, with their limits and the source of each."),
    "new": ("partstream.cli.new", "Write a small project: a provider, its test, settings for VS Code."),
    "profiles": ("partstream.cli.profiles", "List the profiles of your file, or remove one."),
    "record": ("partstream-devtools", "Record the traffic between any client and any model server."),
    "replay": ("partstream-devtools", "Turn a recorded stream into parts."),
    "serve": (
        "partstream.cli.serve",
        "Serve providers and model servers to any client, over the protocol that it speaks.",
    ),
    "share": ("partstream-devtools", "Redact a recording so that you can share it."),
    "sidecar": ("partstream.cli.sidecar", "Serve providers to the VS Code extension over standard input and output."),
    "upstream": ("partstream-devtools", "Serve scenarios and recordings as a model server on loopback."),
    "usage": ("partstream.cli.usage", "Show the tokens and cost of the answers on this machine, by day and model."),
}
"""For each command its one-line help, and its module, which defines it as `command`; or the package that adds it."""


@contextmanager
def loading() -> Iterator[None]:
    """Collects no garbage meanwhile, and looks at nothing of it later: what is loaded stays, and one look took a
    twentieth of a start. Half a megabyte of classes that were made twice stays with it."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()


class _LazyGroup(click.Group):
    """Lists the commands from the table and imports a command only when it is called."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Runs a command with the gate before the terminal, also while its arguments are read."""
        end_silence()
        with gated_streams():
            return super().main(*args, **kwargs)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Reads the arguments; `help COMMAND` is `COMMAND --help`."""
        return super().parse_args(ctx, [*args[1:], "--help"] if args[:1] == ["help"] else args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*COMMANDS, *added(ADDED_COMMANDS)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        home, _ = COMMANDS.get(cmd_name, ("", ""))
        command: click.Command | None
        if "." in home:
            with loading():
                command = import_module(home).command
            return command
        try:
            command = find(ADDED_COMMANDS, cmd_name)
        except PluginLoadError as error:
            raise click.UsageError(str(error)) from error
        if command is None and home:
            raise click.UsageError(str(MissingPackageError(f"partstream {cmd_name}", home)))
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; Ctrl-C, a reader of the output that goes, a place that is closed to this user, and a user
        without a home, end every command alike."""
        try:
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()
        except click.ClickException as error:  # what others say in it begins no line
            vars(error)["message"] = on_one_line(error.message)
            raise
        except KeyboardInterrupt:
            click.echo(err=True)
            ctx.exit(ExitCode.INTERRUPTED)
        except BrokenPipeError:
            drop_output()
            ctx.exit(ExitCode.NO_READER)
        except PermissionError as error:
            if error.filename is None:
                raise
            raise click.UsageError(f"{error.filename}: {error.strerror}") from error
        except RuntimeError as error:  # of a user whom the system does not know, as containers have them
            if os.path.expanduser("~") != "~":
                raise
            raise click.UsageError("this user has no home folder: set HOME to one") from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        there, rows = added(ADDED_COMMANDS), []
        for name in self.list_commands(ctx):
            home, says = COMMANDS.get(name, ("", ""))
            if not home:
                command = self.get_command(ctx, name)
                says = "" if command is None else command.get_short_help_str(formatter.width)
            elif "." not in home and name not in there:
                says = f"{says} Needs {home}."
            rows.append((name, says))
        with formatter.section("Commands"):
            formatter.write_dl(rows)


_EXIT_CODES: Final = (
    "Exit codes: 0 done; 1 a broken rule or a problem was found; 2 a wrong option, setting or file; 3 a server or a "
    "stream failed; 4 a recorded stream has no end; 130 Ctrl-C; 141 the reader of the output has gone."
)


@click.group(cls=_LazyGroup, epilog=_EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="partstream")
def main() -> None:
    """Any language model in VS Code chat, through Python."""
