"""Runs the tests of an adapter in the environment of an edition of its framework, and reads what they showed."""

from __future__ import annotations
import re
from collections import Counter
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from interop.servers.environments import ROOT
from interop.servers.pytest_runs import outcome, report_of
from interop.servers.results import Seen, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from interop.frameworks.table import Framework

__all__ = ["OWN_TESTS", "scenarios", "seen_in", "tests_of"]

OWN_TESTS: Final = "its own tests"
"""What all other tests of an adapter are called together."""

_LONGEST: Final = 300
"""Seconds that the tests of one edition may take."""
_TABLES: Final = ("scenarios.py", "behaviours.py")
_TESTS: Final = ROOT / "packages/partstream-agents/tests/agents"
_ROW: Final = re.compile(r'^(?:@_row\(|    Behaviour\(\s*)"([^"]+)"', re.MULTILINE)
_PARAMETER: Final = re.compile(r"\[(?:[^:\]]+: )?(.+)\]$")


def tests_of(framework: Framework, edition: str, report: Path) -> str:
    """Runs the tests of a framework's adapter with one edition; returns the report of pytest in the form of JUnit.

    What the framework warns of is not Partstream's: in the main run of all tests, with the version that is installed
    there, warnings are errors. Here the tests try all that they can: many runs at once are 100.

    Args:
        framework: The framework.
        edition: The edition, which is installed.
        report: Where pytest may write.

    Raises:
        BrokenRunError: The tests did not run, or took too long.
    """
    python = framework.environment(edition).program("python")
    more = {"WHOLE_RUNS": "1"}
    return report_of(python, [str(framework.folder), "-q", "-W", "default"], report, _LONGEST, more)


def scenarios() -> Sequence[str]:
    """The scenarios and the behaviours that every framework's agents are asked for, in their order."""
    return [
        name
        for table in ("scenarios.py", "behaviours.py")
        for name in _ROW.findall((_TESTS / table).read_text(encoding="utf-8"))
    ]


def seen_in(report: str) -> Mapping[str, Seen]:
    """What the tests showed: a verdict for each scenario, and one for all other tests together.

    A test shows a scenario if that is its parameter. Of a framework with several kinds of agents, each kind has a test:
    the parameter begins with the kind and a colon, and a failure of one counts.

    Args:
        report: The report of pytest.
    """
    order = scenarios()
    seen: dict[str, Seen] = {}
    others: Counter[str] = Counter()
    failed: list[str] = []
    for case in ET.fromstring(report).iter("testcase"):  # noqa: S314 - our own pytest wrote it
        name, shown = case.get("name", ""), outcome(case)
        parameter = _PARAMETER.search(name)
        if parameter is not None and parameter[1] in order:
            earlier = seen.get(parameter[1])
            seen[parameter[1]] = earlier if earlier and earlier.verdict is Verdict.FAILS else shown
            continue
        others[shown.verdict] += 1
        if shown.verdict is Verdict.FAILS:
            failed.append(name)
    in_order = {scenario: seen[scenario] for scenario in order if scenario in seen}
    passed = f"{others[Verdict.WORKS]} passed"
    skipped = f", {others[Verdict.NOT_TRIED]} skipped" if others[Verdict.NOT_TRIED] else ""
    if failed:
        return {**in_order, OWN_TESTS: Seen(Verdict.FAILS, f"{passed}{skipped}, failed: {', '.join(failed)}")}
    return {**in_order, OWN_TESTS: Seen(Verdict.WORKS, passed + skipped)} if others else in_order
