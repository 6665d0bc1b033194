"""`partstream sidecar`: starts by hand the process that the VS Code extension talks to."""

from __future__ import annotations
import sys

import click

from partstream.cli.terminal import ExitCode


@click.command("sidecar")
def command() -> None:
    """Serve providers to the VS Code extension as JSON-RPC over standard input and output.

    The extension starts `python -m partstream.vscode`, which does the same and imports less.
    """
    from partstream.vscode.process import run  # noqa: PLC0415 - only this command needs it

    if sys.stdin.isatty():
        click.echo("This waits for the VS Code extension on its standard input; Ctrl-C ends it.", err=True)
    status = run()
    if status == ExitCode.FOUND:
        click.echo("The sidecar ended: its standard input is not what the VS Code extension sends.", err=True)
    sys.exit(status)
