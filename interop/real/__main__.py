"""The command behind `make real`: builds the server once, asks it everything, shows a table, and keeps a row of a page.

It ends with code 1 where a row failed, and with code 2 where this machine cannot have the server.
"""

from __future__ import annotations
import asyncio
import signal
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from interop.real.building import MODEL, SERVER, NotBuiltError, ready
from interop.real.rows import RealServer, keep
from interop.real.running import serving
from interop.real.trials import TRIALS

if TYPE_CHECKING:
    from interop.real.building import Built
    from interop.real.running import Site
    from interop.real.trials import Trial

_KNOWN_ISSUES: Final = (
    "tools need a chat template that names them: `--chat-template-file`",
    "over OpenResponses a cut answer is `completed`, which Partstream mends",
    "in `tool_choice`, a named tool counts as `auto`, and over Messages `none` too, which Partstream mends",
)
_LONGEST: Final = 240.0


@dataclass(frozen=True, slots=True)
class Seen:
    """What a row showed."""

    name: str
    works: bool
    says: str
    seconds: float


@click.command()
@click.option("--only", multiple=True, help="The name of a row; repeat for more.")
@click.option("--write/--no-write", "is_written", default=True, help="Whether the row of the page is written.")
def main(only: tuple[str, ...], is_written: bool) -> None:
    """Builds a real server with a real model, and asks it everything."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that every server is ended first
    console = Console()
    try:
        built = ready(lambda line: console.print(escape(line), style="dim"))
    except NotBuiltError as error:
        console.print(f"left out: {error}", style="yellow", markup=False)
        sys.exit(2)
    names = [trial.name for trial in TRIALS]
    if odd := [name for name in only if name not in names]:
        raise click.UsageError(f"--only: got {', '.join(odd)}, expected one of {', '.join(names)}")
    start = time.monotonic()
    seen = tried(built, only, console)
    console.print(_table(seen, time.monotonic() - start))
    if is_written and not only:
        keep([_row(seen)])
    if not all(one.works for one in seen):
        sys.exit(1)


def tried(built: Built, only: tuple[str, ...], console: Console) -> list[Seen]:
    """What the rows show, in the order of the table."""
    chosen = [trial for trial in TRIALS if not only or trial.name in only]
    seen = []
    with TemporaryDirectory() as folder:
        home = Path(folder)
        for way, trials in groupby(chosen, lambda trial: trial.way):
            with serving(built, way, home) as site:
                seen += [_shown(trial, site, console) for trial in trials]
    return seen


def _shown(trial: Trial, site: Site, console: Console) -> Seen:
    start = time.monotonic()
    try:
        says, works = asyncio.run(_within(trial, site)), True
    except TimeoutError:
        says, works = f"it did not end within {_LONGEST:g} s", False
    except Exception as error:  # the row fails, and the next one is tried
        says, works = f"{type(error).__name__}: {error}", False
    one = Seen(trial.name, works, says.replace(site.root, "http://127.0.0.1:PORT"), time.monotonic() - start)
    console.print(f"  {'works' if works else 'FAILS'} {trial.name:22} {one.seconds:5.1f} s  ", end="")
    console.print(one.says, markup=False, soft_wrap=True, style="" if works else "red")
    return one


async def _within(trial: Trial, site: Site) -> str:
    async with asyncio.timeout(_LONGEST):
        return await trial.run(site)


def _table(seen: list[Seen], seconds: float) -> Table:
    works = sum(one.works for one in seen)
    table = Table(
        title=f"{works} of {len(seen)} rows work, in {seconds:.0f} s: llama.cpp {SERVER.version}, {MODEL.version}"
    )
    for column in ("row", "", "seconds", "what was seen"):
        table.add_column(column, justify="right" if column == "seconds" else "left")
    for one in seen:
        table.add_row(one.name, "✓" if one.works else "✗", f"{one.seconds:.1f}", escape(one.says))
    return table


def _row(seen: list[Seen]) -> RealServer:
    return RealServer(
        "llama.cpp",
        SERVER.version,
        datetime.now(UTC).date().isoformat(),
        "http://localhost:8080/v1",
        tuple(one.name for one in seen),
        tuple(one.name for one in seen if one.works),
        _KNOWN_ISSUES,
    )


if __name__ == "__main__":
    main()
