"""The command behind `make interop TRY=agents`: runs each coding agent against a server, and writes what it showed.

It ends with code 1 when an agent showed something else than it should, and that is no known fault of it.
"""

from __future__ import annotations
import asyncio
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import click
from rich.console import Console
from rich.markup import escape

from interop.clients.agents.agent import ENVIRONMENT, FOLDER
from interop.clients.agents.isolation import ISOLATED, bring_up_loopback, isolate
from interop.clients.agents.printed import ENVIRONMENTS, PRINTED, TRIAL, Printed, run_printed
from interop.clients.agents.running import AgentNotRunError, one_turn, serving
from interop.clients.agents.table import AGENTS
from interop.clients.agents.trials import TRIALS
from interop.clients.agents.work import Worker, work
from interop.clients.agents.workers import WORKERS
from interop.servers.environments import NotInstalledError
from interop.servers.results import Seen, ServerResult, Verdict, judged
from interop.servers.runs import COLOURS, try_all

if TYPE_CHECKING:
    from interop.clients.agents.agent import Agent
    from interop.clients.agents.running import Served
    from interop.clients.agents.trials import Run, Trial
    from interop.clients.agents.work import Job, Tools, Way

_RESULTS: Final = FOLDER / "results.json"
_NOT_ISOLATED: Final = "Not isolated: this system has no network namespaces for everybody, so agents may reach out."


@click.command()
@click.option("--only", multiple=True, help="The name of an agent; repeat for more.")
@click.option("--write/--no-write", "is_written", default=True, help="Whether the results are written.")
def main(only: tuple[str, ...], is_written: bool) -> None:
    """Runs coding agents against a server."""
    console = Console()
    if os.environ.get(ISOLATED):
        bring_up_loopback()
    else:
        try:
            for environment in (ENVIRONMENT, *ENVIRONMENTS):
                environment.install()
        except NotInstalledError as error:
            raise click.ClickException(f"the agents cannot be installed: {error}") from error
        isolate()
        console.print(_NOT_ISOLATED, style="yellow")
    try_all((*AGENTS, *PRINTED, *WORKERS), only, _result, console, _RESULTS if is_written else None)


def _result(agent: Agent | Printed | Worker, console: Console) -> ServerResult:
    console.rule(escape(f"{agent.name} ({agent.package})"))
    date = datetime.now(UTC).date().isoformat()
    if isinstance(agent, Printed):
        return ServerResult(agent.package, date, "", asyncio.run(_printed(agent, console)))
    if isinstance(agent, Worker):
        return ServerResult(agent.package, date, "", asyncio.run(_worked(agent, console)))
    seen = {way: asyncio.run(_tried(agent, wire, console)) for wire, way in agent.ways.items()}
    return ServerResult(agent.package, date, "", seen)


async def _tried(agent: Agent, wire: str, console: Console) -> dict[str, Seen]:
    console.print(f"[bold]{escape(agent.ways[wire])}")
    seen = {}
    runs: dict[object, Run | AgentNotRunError] = {}
    async with serving() as served:
        for trial in TRIALS:
            if trial.plan not in runs:
                runs[trial.plan] = await _run(agent, wire, trial, served)
            seen[trial.name] = one = _judged(agent, wire, trial, runs[trial.plan])
            console.print(f"  [{COLOURS[one.verdict]}]{one.verdict:10}[/] {trial.name:23}", end="")
            console.print(one.says, markup=False, soft_wrap=True)
    return seen


async def _printed(library: Printed, console: Console) -> dict[str, dict[str, Seen]]:
    seen = {}
    async with serving() as served:
        for wire in library.ways:
            works, says = await run_printed(library, wire, served)
            one = judged(says, works=works, fault=None)
            seen[f"`{wire}`"] = {TRIAL: one}
            console.print(f"  [{COLOURS[one.verdict]}]{one.verdict:10}[/] {wire:23}", end="")
            console.print(one.says, markup=False, soft_wrap=True)
    return seen


async def _worked(worker: Worker, console: Console) -> dict[str, dict[str, Seen]]:
    seen: dict[str, dict[str, Seen]] = {}
    for way in worker.ways:
        console.print(f"[bold]{escape(way.name)}")
        seen[way.name] = {}
        for name, job in worker.jobs(way).items():
            works, says = await _through_vendor(worker, way, job)
            faults = [fault for fault in worker.faults if fault.trial == name and way.name in fault.protocols]
            seen[way.name][name] = one = judged(says, works=works, fault=next(iter(faults), None))
            console.print(f"  [{COLOURS[one.verdict]}]{one.verdict:10}[/] {name:23}", end="")
            console.print(one.says, markup=False, soft_wrap=True)
    return seen


async def _through_vendor(worker: Worker, way: Way, job: Job) -> tuple[bool, str]:
    """Whether a job is done through Partstream as it is without it, and what was seen."""
    alone: Tools = frozenset()
    try:
        if not way.is_translated:
            works, says, alone = await work(worker, way, job, alone=True)
            if not works:
                return False, f"without Partstream: {says}"
        works, says, tools = await work(worker, way, job)
    except AgentNotRunError as error:
        return False, str(error)
    changed = sorted(name for _, name in alone - tools)
    if works and changed:
        return False, f"{len(changed)} tools in another form: {', '.join(changed)}"
    return works, says


async def _run(agent: Agent, wire: str, trial: Trial, served: Served) -> Run | AgentNotRunError:
    try:
        return await one_turn(agent, wire, trial, served)
    except AgentNotRunError as error:
        return error


def _judged(agent: Agent, wire: str, trial: Trial, run: Run | AgentNotRunError) -> Seen:
    if isinstance(run, AgentNotRunError):
        return Seen(Verdict.FAILS, str(run))
    works, says = trial.judge(run)
    sign = agent.falls_back.get(wire)
    if sign is not None and sign in run.output:
        works, says = False, f"it gave up this wire; {says}"
    faults = (one for one in agent.faults if one.trial == trial.name and wire in (one.protocols or (wire,)))
    return judged(says, works=works, fault=next(faults, None))


if __name__ == "__main__":
    main()
