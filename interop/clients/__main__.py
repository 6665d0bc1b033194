"""The command behind `make interop TRY=clients`: installs and starts each client, asks it everything, and writes what
it showed.

It ends with code 1 when a client showed something else than the upstream said, and that is no known fault of it.
"""

from __future__ import annotations
import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import click
from rich.console import Console
from rich.markup import escape

from interop.clients.asking import BrokenClientError, ask, running
from interop.clients.official import CLIENTS, FOLDER
from interop.servers.environments import NotInstalledError
from interop.servers.results import Seen, ServerResult, Verdict, judged
from interop.servers.runs import COLOURS, try_all
from partstream_devtools.testing.upstream import ReplayUpstream

if TYPE_CHECKING:
    from interop.clients.jobs import Job
    from interop.clients.official import Client

_RESULTS: Final = FOLDER / "results.json"


@click.command()
@click.option("--only", multiple=True, help="The name of a client; repeat for more.")
@click.option("--write/--no-write", "is_written", default=True, help="Whether the results are written.")
def main(only: tuple[str, ...], is_written: bool) -> None:
    """Asks the replay upstream with official clients."""
    try_all(CLIENTS, only, _result, Console(), _RESULTS if is_written else None)


def _result(client: Client, console: Console) -> ServerResult:
    console.rule(escape(f"{client.name} ({client.package})"))
    date = datetime.now(UTC).date().isoformat()
    try:
        client.environment.install()
        seen = {way: asyncio.run(_tried(client, mode, console)) for mode, way in client.modes.items()}
        return ServerResult(client.package, date, "", seen)
    except NotInstalledError as error:
        console.print(f"left out: {error}", style="yellow", markup=False)
        return ServerResult(client.package, date, str(error), {})


async def _tried(client: Client, mode: str, console: Console) -> dict[str, Seen]:
    console.print(f"[bold]{escape(client.modes[mode])}")
    seen = {}
    wire = client.wire
    async with (
        ReplayUpstream() as upstream,
        running([*client.program(), upstream.base_url_of(wire.protocol), mode]) as run,
    ):
        for job in wire.jobs:
            seen[job.name] = one = await _seen(client, mode, job, run, upstream)
            console.print(f"  [{COLOURS[one.verdict]}]{one.verdict:10}[/] {job.name:23}", end="")
            console.print(one.says, markup=False, soft_wrap=True)
            if run.returncode is not None:
                break
    return seen


async def _seen(client: Client, mode: str, job: Job, run: asyncio.subprocess.Process, upstream: ReplayUpstream) -> Seen:
    if job.of_streams and mode in client.documents:
        return Seen(Verdict.NOT_TRIED, "a document has no end to miss")
    try:
        shown = await ask(job, client.wire, run, upstream)
    except BrokenClientError as error:
        return Seen(Verdict.FAILS, str(error))
    faults = (one for one in client.faults if one.trial == job.name and mode in (one.protocols or (mode,)))
    return judged(shown.says, works=shown.works, fault=next(faults, None))


if __name__ == "__main__":
    main()
