"""`partstream sidecar`: starts by hand the process that the VS Code extension talks to."""

from __future__ import annotations

import sys

import click

__all__ = ["command"]


@click.command("sidecar")
def command() -> None:
    """Serve providers to the VS Code extension as JSON-RPC over standard input and output.

    The extension starts `python -m partstream.hosts.vscode`, which does the same and imports less.
    """
    from partstream.hosts.vscode.process import run  # noqa: PLC0415 - only this command needs it

    sys.exit(run())
