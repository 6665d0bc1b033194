"""Counts the checks of a report, for everything that sums it up: the badge, the summary, the matrix.

Works on the JSON of a report, so that a report that was kept counts like one that was just made.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from partstream.conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Tally", "counts", "tally_of"]


def counts(check: Mapping[str, Any]) -> bool:
    """Whether a failure of the check breaks the contract: it is of the requirement set, and no baseline expects it."""
    return bool(check.get("scored", True)) and not check.get("expected")


@dataclass(frozen=True, slots=True)
class Tally:
    """How many checks of a report have which verdict; checks that are not scored are left out.

    Attributes:
        verdicts: The number of checks by verdict; failures that the baseline expects are not among them.
        expected: The number of failures that the baseline expects.
        stale: The number of entries of the baseline that are not right any more.
    """

    verdicts: Mapping[Verdict, int]
    expected: int = 0
    stale: int = 0

    @property
    def passed(self) -> int:
        """The number of checks that passed; a warning passes, because it is about a SHOULD."""
        return self.verdicts.get(Verdict.PASSED, 0) + self.verdicts.get(Verdict.WARNING, 0)

    @property
    def judged(self) -> int:
        """The number of checks with a verdict about the target."""
        failed = (Verdict.FAILED, Verdict.UNTESTABLE, Verdict.ERROR)
        return self.passed + self.expected + sum(self.verdicts.get(one, 0) for one in failed)

    @property
    def not_applicable(self) -> int:
        """The number of checks of abilities that the target does not have."""
        return self.verdicts.get(Verdict.NOT_APPLICABLE, 0)

    @property
    def is_kept(self) -> bool:
        """Whether nothing counts against the target, and something was judged at all."""
        return self.judged > 0 and self.judged == self.passed + self.expected and not self.stale


def tally_of(report: Mapping[str, Any]) -> Tally:
    """The tally of a report's JSON."""
    scored = [check for check in report["checks"] if check.get("scored", True)]
    return Tally(_by_verdict(scored), sum(bool(one.get("expected")) for one in scored), len(report.get("stale", ())))


def _by_verdict(checks: Iterable[Mapping[str, Any]]) -> Counter[Verdict]:
    return Counter(Verdict(check["verdict"]) for check in checks if not check.get("expected"))
