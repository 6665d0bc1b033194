"""Runs all simulations and keeps their figures: `python -m benchmarks.hub_simulation [--only NAME]`."""

from __future__ import annotations
import argparse
import json
from multiprocessing import Pool
from time import perf_counter
from typing import Any

from benchmarks.hub_simulation.page import RESULTS
from benchmarks.hub_simulation.routing import RoutingScenario, simulated_routing
from benchmarks.hub_simulation.scenarios import SCENARIOS, SWEEPS
from benchmarks.hub_simulation.series import kept_figures, kept_routing
from benchmarks.hub_simulation.simulation import simulated

_Job = tuple[str, str]


def _jobs() -> list[_Job]:
    sweeps = [(name, str(value)) for name, values in SWEEPS.items() for value in values]
    return [*(("scenarios", name) for name in SCENARIOS), *sweeps, ("routing", "routing")]


def _run(job: _Job) -> tuple[_Job, dict[str, Any], float]:
    group, name = job
    began = perf_counter()
    if group == "routing":
        return job, kept_routing(simulated_routing(RoutingScenario())), perf_counter() - began
    if group == "scenarios":
        return job, kept_figures(simulated(SCENARIOS[name]), with_series=True), perf_counter() - began
    values = {str(value): scenario for value, scenario in SWEEPS[group].items()}
    return job, kept_figures(simulated(values[name]), with_series=False), perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", help="run the simulations of this group, or this one, alone")
    parser.add_argument("--processes", type=int, default=2, help="how many run at a time")
    only = parser.parse_args()
    jobs = [job for job in _jobs() if not only.only or set(only.only) & set(job)]
    results: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    with Pool(only.processes) as pool:
        for (group, name), figures, seconds in pool.imap_unordered(_run, jobs):
            print(f"{group} {name}: {seconds:.0f} s", flush=True)
            if group == "routing":
                results[group] = figures
            else:
                results.setdefault(group, {})[name] = figures
    ordered = {group: results[group] for group in ("scenarios", *SWEEPS, "routing") if group in results}
    RESULTS.write_text(json.dumps(ordered, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
