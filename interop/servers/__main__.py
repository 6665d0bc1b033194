"""The command behind `make interop TRY=servers`: installs and starts each server, tries everything, and writes what was
seen.

It ends with code 1 when something failed that is no known fault of a server.
"""

from __future__ import annotations
import asyncio
import signal
import sys
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import click
from rich.console import Console
from rich.markup import escape

from interop.servers.environments import ROOT, NotInstalledError
from interop.servers.foreign import FOREIGN_SERVERS, environment_of
from interop.servers.processes import NotStartedError, free_port, running
from interop.servers.results import Seen, ServerResult, Verdict, judged
from interop.servers.runs import COLOURS, try_all
from interop.servers.trials import TRIALS, Target, UnexpectedError, prove
from partstream.protocols.protocol import AUTO

if TYPE_CHECKING:
    from interop.servers.foreign import ForeignServer
    from interop.servers.trials import Trial

_RESULTS: Final = Path(__file__).resolve().parent / "results.json"


@click.command()
@click.option("--only", multiple=True, help="The name of a server; repeat for more.")
@click.option("--write/--no-write", "is_written", default=True, help="Whether the results are written.")
def main(only: tuple[str, ...], is_written: bool) -> None:
    """Tries Partstream against servers of other projects."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that every server is ended first
    try_all(FOREIGN_SERVERS, only, _result, Console(), _RESULTS if is_written else None)


def _result(server: ForeignServer, console: Console) -> ServerResult:
    console.rule(escape(f"{server.name} ({server.package})"))
    date = datetime.now(UTC).date().isoformat()
    try:
        console.print("installing", end=" ")
        server.environment.install()
        console.print("and starting")
        return ServerResult(server.package, date, "", _tried(server, console), server.peculiar)
    except (NotInstalledError, NotStartedError) as error:
        console.print(f"left out: {error}", style="yellow", markup=False)
        return ServerResult(server.package, date, str(error), {}, server.peculiar)


def _tried(server: ForeignServer, console: Console) -> dict[str, dict[str, Seen]]:
    logs = ROOT / "artifacts" / "servers"
    logs.mkdir(parents=True, exist_ok=True)
    port, behind = free_port(), free_port()
    our_url = f"http://127.0.0.1:{behind}/v1" if server.is_proxy else ""
    with ExitStack() as stack:
        home = Path(stack.enter_context(TemporaryDirectory()))
        environment = environment_of(server, port, home, our_url)
        if server.is_proxy:
            ours = [sys.executable, "-m", "partstream", "upstream", "--port", str(behind)]
            stack.enter_context(running(ours, behind, "/v1/models", ROOT, logs / "ours.log", environment))
        log = logs / f"{server.name.replace(' ', '-')}.log"
        stack.enter_context(running(server.command(port), port, server.ready_path, server.folder, log, environment))
        seen = {}
        for protocol in (*([AUTO] if server.is_found_out else []), *server.protocols):
            console.print(f"[bold]{protocol}")
            target = replace(_target(server, port, protocol, home), behind=our_url)
            seen[protocol] = {trial.name: _shown(trial, server, target, console) for trial in TRIALS}
        return seen


def _target(server: ForeignServer, port: int, protocol: str, home: Path) -> Target:
    places = ("PARTSTREAM_DATA", "PARTSTREAM_CACHE", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "HOME")
    return Target(
        f"http://127.0.0.1:{port}/v1",
        "" if protocol == AUTO else protocol,
        server.model,
        server.models,
        server.key,
        {place: str(home / place.lower()) for place in places},
    )


def _reason_to_leave_out(trial: Trial, server: ForeignServer, target: Target) -> str | None:
    if trial.needs_auto and target.protocol:
        return "a protocol that is named is never second-guessed"
    if trial.needs_proxy and not server.is_proxy:
        return "is no proxy"
    return server.not_tried.get(trial.name)


def _shown(trial: Trial, server: ForeignServer, target: Target, console: Console) -> Seen:
    reason = _reason_to_leave_out(trial, server, target)
    if reason is not None:
        seen = Seen(Verdict.NOT_TRIED, reason)
    else:
        faults = (
            fault
            for fault in server.faults
            if fault.trial == trial.name and (not fault.protocols or (target.protocol or AUTO) in fault.protocols)
        )
        try:
            said, works = asyncio.run(prove(trial, target)), True
        except UnexpectedError as error:
            said, works = str(error), False
        address = target.base_url.removesuffix("/v1")
        seen = judged(said.replace(address, "http://127.0.0.1:PORT"), works=works, fault=next(faults, None))
    console.print(f"  [{COLOURS[seen.verdict]}]{seen.verdict:10}[/] {trial.name:16}", end="")
    console.print(seen.says, markup=False, soft_wrap=True)
    return seen


if __name__ == "__main__":
    main()
