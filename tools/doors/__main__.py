"""The command of `make test PART=newcomer`: goes through each door of the README in an empty home, as the pages say
it, and then does ten tasks by the pages on them.

It ends with code 1 when a step failed, or when what was seen at the end is not what the door promises.
"""

from __future__ import annotations
import json
import re
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import click

from tools.doors.stranger import Step, StepError, Stranger
from tools.doors.table import DOORS, ROOT, commands_of
from tools.doors.tasks import TASKS, done, prepared
from tools.doors.visual_studio_code import NoVisualStudioCodeError, VisualStudioCode

if TYPE_CHECKING:
    from tools.doors.table import Door

_RESULTS: Final = Path(__file__).with_name("results.json")
_TASKS: Final = Path(__file__).with_name("tasks.json")
_ALL_TASKS: Final = "tasks"
_ARTIFACTS: Final = ROOT / "artifacts" / "newcomer"


@click.command()
@click.option(
    "--only",
    multiple=True,
    type=click.Choice([*(door.name for door in DOORS), _ALL_TASKS]),
    help="A door, or the tasks; repeat for more.",
)
@click.option("--write/--no-write", "is_written", default=True, help="Whether the results are written.")
def main(only: tuple[str, ...], *, is_written: bool) -> None:
    """Goes through the doors of the README, and does the tasks, as a person who has nothing but a clone."""
    results: dict[str, Any] = json.loads(_RESULTS.read_text(encoding="utf-8")) if _RESULTS.exists() else {}
    is_broken = False
    for door in DOORS:
        if only and door.name not in only:
            continue
        click.secho(f"{door.name}: {door.title}", bold=True)
        try:
            results[door.name] = _through(door)
        except NoVisualStudioCodeError as error:
            click.secho(f"  {error}", fg="yellow")
        except StepError as error:
            is_broken = True
            click.secho(f"  FAULT: {error}", fg="red")
    if is_written:
        kept = {door.name: results[door.name] for door in DOORS if door.name in results}
        _RESULTS.write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    if not only or _ALL_TASKS in only:
        tasks, is_task_broken = _tasks()
        is_broken = is_broken or is_task_broken
        if is_written and not is_task_broken:
            _TASKS.write_text(json.dumps(tasks, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    sys.exit(is_broken)


def _tasks() -> tuple[dict[str, Any], bool]:
    """The steps of each task that went well, and whether one did not."""
    results: dict[str, Any] = {}
    is_broken = False
    with TemporaryDirectory() as name:
        folder = Path(name)
        stranger = prepared(folder)
        for task in TASKS:
            click.secho(f"{task.name}: {task.wish}", bold=True)
            try:
                steps = [_shown(step) for step in done(task, stranger, folder)]
            except StepError as error:
                is_broken = True
                click.secho(f"  FAULT: {error}", fg="red")
                continue
            results[task.name] = {
                "wish": task.wish,
                "page": task.page,
                "date": datetime.now(UTC).date().isoformat(),
                "steps": [asdict(step) for step in steps],
            }
    return results, is_broken


def _through(door: Door) -> dict[str, Any]:
    """What going through a door took, as the results have it.

    Raises:
        StepError: A step failed, or the end is not what it should be.
        NoVisualStudioCodeError: The door needs VS Code, and this machine cannot have it.
    """
    with TemporaryDirectory() as name:
        folder = Path(name)
        studio = VisualStudioCode(folder / "code") if "code" in door.programs else None
        stranger = Stranger(folder)
        for program in door.programs:
            stranger.gets_program(program, studio.command if studio else [str(Path(sys.executable).with_name(program))])
        typed: list[Step] = []
        said = ""
        for command in commands_of(door):
            step, said = stranger.types(command)
            typed.append(_shown(step))
        by_hand: list[Step] = []
        if studio is not None:
            opened = str((Path(stranger.here) / door.opens).resolve())
            by_hand, said = studio.does(door.by_hand, opened, _ARTIFACTS / door.name, stranger.environment)
            for step in by_hand:
                _shown(step)
    if (seen := re.search(door.sees, said)) is None:
        raise StepError(f"what is seen at the end, expected {door.sees}", said)
    click.echo(f"  {seen[0].splitlines()[0]}")
    steps = {"commands": [asdict(step) for step in typed], "by_hand": [asdict(step) for step in by_hand]}
    return {"title": door.title, "date": datetime.now(UTC).date().isoformat(), **steps, "saw": seen[0].splitlines()[0]}


def _shown(step: Step) -> Step:
    click.echo(f"  {step.seconds:6.1f} s  {step.what}")
    return step


if __name__ == "__main__":
    main()
