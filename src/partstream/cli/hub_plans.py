"""A plan before a person: shown as a diff, asked about where something would be lost, carried out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import click
from rich.text import Text

from partstream.cli.console import make_console

if TYPE_CHECKING:
    from partstream.hub.administration import Administration, PreparedPlan

__all__ = ["carry_out", "show_plan"]

_STYLES: Final = {"+": "green", "-": "red", "~": "yellow"}


def show_plan(prepared: PreparedPlan) -> None:
    """Prints a plan as a diff."""
    console = make_console()
    for line in prepared.plan.lines():
        console.print(Text(line, _STYLES[line.lstrip()[0]]))


def carry_out(hub: Administration, prepared: PreparedPlan, *, may_remove: bool = False, option: str = "--yes") -> None:
    """Shows a plan and carries it out in one transaction.

    Args:
        hub: The hub.
        prepared: The plan.
        may_remove: Whether nobody has to be asked before something is removed.
        option: The option that says so.

    Raises:
        UsageError: Something would be removed, and nobody can be asked.
        Abort: A person does not want it.
    """
    if not prepared.plan.steps:
        click.echo("Nothing changes.")
        return
    show_plan(prepared)
    if prepared.plan.removed and not may_remove:
        _ask(prepared, option)
    hub.carry_out(prepared)
    click.echo(f"Done: {prepared.plan.summary()}.")


def _ask(prepared: PreparedPlan, option: str) -> None:
    lost = [_said_of_person(name, keys) for name, keys in prepared.lost_keys.items()]
    others = [str(one) for one in prepared.plan.removed if one.name not in prepared.lost_keys]
    what = ", ".join([*others, *lost])
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError(f"this removes {what}; {option} lets it. Nothing was changed")
    click.confirm(f"Remove {what}?", abort=True)


def _said_of_person(name: str, keys: int) -> str:
    return f"person {name}" + (f" with {keys} {'key' if keys == 1 else 'keys'}" if keys else "")
