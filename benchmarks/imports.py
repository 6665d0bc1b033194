"""Measures what `import partstream` costs a program that starts, and which other packages it pulls in."""

from __future__ import annotations
import json
import subprocess
import sys
import time
from statistics import median
from typing import Any

from benchmarks.competitors import ROOT

__all__ = ["import_time"]

_LIST_PACKAGES = (
    "import sys; before = set(sys.modules); import partstream, json; "
    "names = {name.partition('.')[0] for name in set(sys.modules) - before}; "
    "print(json.dumps(sorted(names - set(sys.stdlib_module_names) - {'partstream'})))"
)


def import_time(rounds: int) -> dict[str, Any]:
    """Medians in milliseconds: the import alone as `-X importtime` says it, a process that imports, and one that does
    not; and the packages from outside the standard library that were loaded."""
    samples: dict[str, list[float]] = {"import": [], "process": [], "bare_process": []}
    for _ in range(rounds):
        samples["import"].append(_cumulative())
        samples["process"].append(_whole("import partstream"))
        samples["bare_process"].append(_whole("pass"))
    packages = json.loads(_run("-c", _LIST_PACKAGES).stdout)
    return {name: median(measured) for name, measured in samples.items()} | {"packages": packages}


def _cumulative() -> float:
    rows = _run("-X", "importtime", "-c", "import partstream").stderr.splitlines()
    row = next(row for row in reversed(rows) if row.rpartition("|")[2].strip() == "partstream")
    return int(row.split("|")[1]) / 1000


def _whole(statement: str) -> float:
    start = time.perf_counter()
    _run("-c", statement)
    return (time.perf_counter() - start) * 1000


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, check=True, capture_output=True, text=True)
