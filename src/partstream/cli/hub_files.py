"""`partstream hub apply` and `export`: the hub as a file that people review."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from partstream.cli.exit_codes import ExitCode
from partstream.cli.hub_plans import carry_out, show_plan
from partstream.codec.json_codec import dumps
from partstream.hub.commands_database import hub_database
from partstream.hub.configuration import UnusableHubFileError, document_of, read_hub_file, written_hub_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.hub.administration import PreparedPlan
    from partstream.hub.configuration import HubDocument

__all__ = ["FILE_COMMANDS"]

_INPUT: Final = "-"


class UnusableFileError(click.ClickException):
    """A file is of no use; the exit code is 2, as for wrong options."""

    exit_code = ExitCode.UNUSABLE


@click.command("apply", short_help="Make the hub what a file says; shows the plan before.")
@click.argument("file", metavar="FILE")
@click.option("--dry-run", is_flag=True, help="Show the plan and change nothing.")
@click.option("--remove", "may_remove", is_flag=True, help="Remove what the file leaves out without asking.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan as one JSON object.")
def apply(file: str, *, dry_run: bool, may_remove: bool, as_json: bool) -> None:
    """Make the hub what FILE says, in one transaction; - reads standard input.

    The file has the tables [models.NAME], [teams.NAME] and [people.NAME]. Who is left out of a table that the file has
    is removed, if you say so; a table that the file leaves out is left alone. Keys stand in no file and stay as they
    are. The plan is shown before anything changes.
    """
    wanted = _read(file)
    with hub_database() as hub:
        prepared = hub.prepared(wanted)
        if as_json and (dry_run or not prepared.plan.removed or may_remove):
            if not dry_run:
                hub.carry_out(prepared)
            click.echo(dumps(_as_json(prepared, is_done=not dry_run)))
        elif dry_run:
            show_plan(prepared)
            click.echo(f"Plan: {prepared.plan.summary()}.")
        else:
            carry_out(hub, prepared, may_remove=may_remove, option="--remove")


@click.command("export", short_help="Write what there is as a file that can be reviewed and applied.")
@click.argument("file", metavar="[FILE]", default=_INPUT)
def export(file: str) -> None:
    """Write teams, people and models into FILE, or to standard output: `partstream hub apply` reads it back.

    No key stands in it, and neither does what was spent. An existing file is replaced.
    """
    with hub_database() as hub:
        text = written_hub_file(document_of(hub.directory()))
    if file == _INPUT:
        click.echo(text, nl=False)
        return
    try:
        Path(file).write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{file}: {error.strerror or error}") from error


def _read(file: str) -> HubDocument:
    try:
        if file == _INPUT:
            return read_hub_file(sys.stdin.read(), "standard input")
        return read_hub_file(Path(file).read_text(encoding="utf-8"), file)
    except OSError as error:
        raise UnusableFileError(f"{file}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UnusableFileError(f"{file}: got byte {error.start} that is no UTF-8, expected TOML in UTF-8") from error
    except UnusableHubFileError as error:
        raise UnusableFileError(str(error)) from error


def _as_json(prepared: PreparedPlan, *, is_done: bool) -> dict[str, object]:
    steps = [
        {
            "kind": step.kind.name.lower(),
            "entry": step.id.section.one,
            "name": step.id.name,
            "fields": {name: {"before": old, "after": new} for name, old, new in step.changed_fields()},
        }
        for step in prepared.plan.steps
    ]
    return {"applied": is_done, "steps": steps}


FILE_COMMANDS: Final[Mapping[str, click.Command]] = {"apply": apply, "export": export}
