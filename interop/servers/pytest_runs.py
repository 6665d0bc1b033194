"""Runs tests of our own with another Python or other packages than ours, and reads what pytest reports."""

from __future__ import annotations
import os
import subprocess
from typing import TYPE_CHECKING

from interop.servers.environments import ROOT
from interop.servers.results import Seen, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from xml.etree import ElementTree as ET

__all__ = ["BrokenRunError", "outcome", "report_of"]


class BrokenRunError(Exception):
    """The tests did not run; the message is the last that pytest said."""


def report_of(
    python: Path,
    arguments: Sequence[str],
    report: Path,
    longest: float,
    more: Mapping[str, str] | None = None,
    log: Path | None = None,
) -> str:
    """Runs tests, and returns the report of pytest in the form of JUnit.

    Args:
        python: The interpreter that runs them.
        arguments: The arguments of pytest.
        report: Where pytest may write.
        longest: Seconds that they may take.
        more: Variables beside our own.
        log: Where pytest's output goes, for a person who follows it; beside the report without it.

    Raises:
        BrokenRunError: The tests did not run, or took too long.
    """
    command = [python, "-m", "pytest", "-p", "no:cacheprovider", *arguments, f"--junitxml={report}"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("VIRTUAL_ENV", "PYTEST_"))}
    environment = {**kept, **(more or {})}
    log = log or report.with_suffix(".log")
    try:
        with log.open("wb") as output:
            run = subprocess.run(
                command,
                cwd=ROOT,
                env=environment,
                check=False,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=longest,
            )
    except subprocess.TimeoutExpired as error:
        raise BrokenRunError(f"the tests took longer than {longest:g} s") from error
    if run.returncode not in {0, 1} or not report.exists():
        last = ["it gave no output", *log.read_text(encoding="utf-8", errors="replace").strip().splitlines()][-1]
        raise BrokenRunError(f"pytest ended with code {run.returncode}: {last}")
    return report.read_text(encoding="utf-8")


def outcome(case: ET.Element) -> Seen:
    """How one test of a report went.

    Args:
        case: Its element `testcase`.
    """
    for kind, verdict in (("failure", Verdict.FAILS), ("error", Verdict.FAILS), ("skipped", Verdict.NOT_TRIED)):
        found = case.find(kind)
        if found is not None:
            return Seen(verdict, found.get("message", "").split("\n", 1)[0])
    return Seen(Verdict.WORKS, "passed")
