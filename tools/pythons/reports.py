"""What a run of tests showed, in one line."""

from __future__ import annotations
from collections import Counter
from typing import Final
from xml.etree import ElementTree as ET

from interop.servers.pytest_runs import outcome
from interop.servers.results import Seen, Verdict

__all__ = ["ALL_TESTS", "seen_in"]

ALL_TESTS: Final = "all tests"
"""What is run if nothing else is said."""


def seen_in(report: str) -> Seen:
    """How many tests passed and were skipped, and which failed.

    Args:
        report: The report of pytest.
    """
    counts: Counter[Verdict] = Counter()
    failed: list[str] = []
    for case in ET.fromstring(report).iter("testcase"):  # noqa: S314 - our own pytest wrote it
        verdict = outcome(case).verdict
        counts[verdict] += 1
        if verdict is Verdict.FAILS:
            failed.append(f"{case.get('classname', '')}.{case.get('name', '')}")
    passed = f"{counts[Verdict.WORKS]:,} passed, {counts[Verdict.NOT_TRIED]:,} skipped"
    if failed:
        return Seen(Verdict.FAILS, f"{passed}, failed: {', '.join(sorted(failed))}")
    return Seen(Verdict.WORKS if counts[Verdict.WORKS] else Verdict.FAILS, passed)
