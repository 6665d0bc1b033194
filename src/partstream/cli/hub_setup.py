"""`partstream hub init` and `check`: a hub that is made, and what keeps people from asking it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import click

from partstream.cli.exit_codes import ExitCode
from partstream.codec.json_codec import dumps
from partstream.hub.administration import findings_of
from partstream.hub.commands_database import hub_database, opened_database
from partstream.hub.store.store import VERSIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SETUP_COMMANDS"]

_NEXT: Final = """\
Next:
  partstream hub add person NAME --admin --budget "5 USD/day"
  partstream hub key add NAME
  partstream serve --hub --demo       (a built-in model; or your providers: partstream serve --hub my_model.py)"""


@click.command("init", short_help="Make the database of a hub, or bring an older one up to date.")
def init() -> None:
    """Make the database of a hub, or bring the tables of an older version up to date, with all that is in them.

    Without PARTSTREAM_HUB_DATABASE, it is a file of SQLite in your data folder, readable for you alone. Doing it again
    changes nothing.
    """
    with opened_database() as (store, where):
        before = store.migrate()
        is_empty = not (directory := store.directory()) or not directory.people
    if before == 0:
        click.echo(f"Made a hub in {where}.")
    elif before < len(VERSIONS):
        click.echo(f"Brought the hub in {where} from version {before} to {len(VERSIONS)}.")
    else:
        click.echo(f"The hub in {where} is up to date.")
    if is_empty:
        click.echo(_NEXT)


@click.command("check", short_help="Look for what keeps people from asking, and for budgets that do not add up.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array of findings.")
def check(*, as_json: bool) -> None:
    """Look for what keeps people from asking, and for budgets that do not add up.

    It looks at the database, at keys, at budgets of money without a price for a model, at workers that are silent, and
    at each window of a budget: what is spent and reserved is never above its limit. The exit code is 0, or 1 if
    something was found.
    """
    with hub_database() as hub:
        findings = [*findings_of(hub.store, hub.directory())]
    if as_json:
        click.echo(dumps([{"kind": one.kind, "what": one.what, "advice": one.advice} for one in findings]))
    else:
        for one in findings:
            click.echo(f"{one.kind}: {one.what}" + (f"; {one.advice}" if one.advice else ""))
        if not findings:
            click.echo("Nothing was found.")
    if findings:
        sys.exit(ExitCode.FOUND)


SETUP_COMMANDS: Final[Mapping[str, click.Command]] = {"init": init, "check": check}
