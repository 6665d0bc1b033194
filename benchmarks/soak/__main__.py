"""The command behind `make bench WHAT=soak`: loads a server, and writes what it showed to benchmarks/soak/results.json.

It ends with code 1 when a demand was not met.
"""

from __future__ import annotations
import asyncio
import json
import os
import platform
import resource
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from benchmarks.soak.client import facts
from benchmarks.soak.process import MOST_MEMORY, serving
from benchmarks.soak.scenarios import SCENARIOS, Findings
from benchmarks.soak.stopping import stop_under_load

if TYPE_CHECKING:
    from benchmarks.soak.client import Address
    from benchmarks.soak.scenarios import Scenario

__all__ = ["LIMITS", "load", "put_through"]

_RESULTS: Final = Path(__file__).with_name("results.json")
LIMITS: Final = ("--peer-seconds", "8", "--request-head-seconds", "1", "--slow-body-seconds", "3")
"""Shorter than usual, because a person waits for the end."""
_STOPPED_CLIENTS: Final = 64


@click.command()
@click.option("--few", is_flag=True, help="Have few clients: to see that it runs.")
@click.option("--write/--no-write", "is_written", default=True, help="Whether the results are written.")
def main(*, few: bool, is_written: bool) -> None:
    """Loads `partstream serve` with clients that behave badly."""
    _allow_many_files()
    findings, is_limited = asyncio.run(put_through(few=few))
    if not is_limited:
        click.secho("The system sets no limit of memory here: what is resident is measured alone.", fg="yellow")
    for title, found in findings.items():
        click.secho(title, bold=True)
        for name, figure in found.figures.items():
            click.echo(f"  {name}: {figure}")
        for fault in found.faults:
            click.secho(f"  FAULT: {fault}", fg="red")
    if is_written and not few:
        _RESULTS.write_text(json.dumps(_results(findings, is_limited=is_limited), indent=2) + "\n", encoding="utf-8")
    sys.exit(any(found.faults for found in findings.values()))


async def put_through(*, few: bool) -> tuple[dict[str, Findings], bool]:
    """What each load showed, by its title, and whether the system kept the process within the memory of a pod."""
    findings: dict[str, Findings] = {}
    async with serving(*LIMITS) as served:
        for scenario in SCENARIOS:
            clients = scenario.few if few else scenario.clients
            findings[f"{clients:,} {scenario.title}"] = await load(served.address, scenario, clients)
        is_limited = served.is_limited
    clients = 8 if few else _STOPPED_CLIENTS
    findings[f"{clients} ask, and the process gets SIGTERM"] = await stop_under_load(clients, clients // 8)
    return findings, is_limited


async def load(address: Address, scenario: Scenario, clients: int) -> Findings:
    """What one load showed; files and tasks have to be as before."""
    before = await facts(address)
    found = await scenario.run(address, clients)
    await _leaves_nothing(address, before, found)
    return found


async def _leaves_nothing(address: Address, before: dict[str, Any], found: Findings) -> None:
    """Demands that files and tasks are as before; closed connections take a moment to be gone."""
    for _ in range(100):
        after = await facts(address)
        if after["files"] <= before["files"] and after["tasks"] <= before["tasks"]:
            break
        await asyncio.sleep(0.05)
    files, tasks = after["files"] - before["files"], after["tasks"] - before["tasks"]
    found.figures["open files left"] = files
    found.figures["tasks left"] = tasks
    found.figures["memory, MB"] = f"{before['memory'] / 1e6:.1f} before, {after['memory'] / 1e6:.1f} after"
    found.demand(files <= 0, f"{files} files were left open")
    found.demand(tasks <= 0, f"{tasks} tasks were left")


def _results(findings: dict[str, Findings], *, is_limited: bool) -> dict[str, Any]:
    load = os.getloadavg()
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{os.cpu_count()} processors with a load of {load[0]:.1f}, {platform.system()}, "
        f"Python {platform.python_version()}",
        "most_memory": MOST_MEMORY if is_limited else None,
        "loads": {title: {"figures": found.figures, "faults": found.faults} for title, found in findings.items()},
    }


def _allow_many_files() -> None:
    least, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(least, min(most, 8192)), most))


if __name__ == "__main__":
    main()
