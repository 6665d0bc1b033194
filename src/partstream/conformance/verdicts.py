"""What is said of one check: the verdict, who is to blame, and everything that a report shows of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Blame", "CheckResult", "Verdict"]


class Verdict(StrEnum):
    """What is said of one check."""

    PASSED = "passed"
    FAILED = "failed"
    WARNING = "warning"
    """A SHOULD is broken."""
    NOT_APPLICABLE = "not applicable"
    """The target does not declare the capability."""
    UNTESTABLE = "untestable"
    """The target declares the capability, and could not be made to show it: counts as failed."""
    NOT_JUDGED = "not judged"
    """The target cannot give the evidence that the check needs."""
    ERROR = "error"
    """The kit itself has failed."""


class Blame(StrEnum):
    """Whose fault a verdict is."""

    TARGET = "target"
    KIT = "kit"
    ENVIRONMENT = "environment"
    """A limit of time, a refused connection, a model without the ability: says nothing about the contract."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check.

    Attributes:
        id: `<rule>/<scenario>`; the same for ever.
        rule: The id of the rule or of the kit's own promise.
        section: The section of the document that states the promise; empty for a promise of the kit alone.
        level: `MUST` or `SHOULD`.
        scenario: The slug of the scenario.
        verdict: The verdict.
        promise: The promise as one sentence.
        blame: Who is to blame; None for a verdict that blames nobody.
        got: What happened instead, or why there is no verdict; empty for a check that passed.
        index: The index of the part that broke the promise, from 0, or None.
        at_ms: When that was, in milliseconds since the request, or None.
        count: How often the promise was broken.
        answer: The index of the answer in the transcript that broke the promise, from 0, or None.
        transcript: The name of the transcript in the report, or None.
        duration_ms: How long the scenario took, in milliseconds.
        scored: Whether the check is of the requirement set that counts.
        minimal: The file of the minimal transcript, or None.
        repeat: The command that repeats the check; empty where there is none.
        flaky: `{"failed": n, "of": m}` where repetitions of the same moves did not agree, or None.
        expected: Whether a baseline expects the failure.
    """

    id: str
    rule: str
    section: str
    level: str
    scenario: str
    verdict: Verdict
    promise: str
    blame: Blame | None = None
    got: str = ""
    index: int | None = None
    at_ms: float | None = None
    count: int = 0
    answer: int | None = None
    transcript: str | None = None
    duration_ms: float = 0.0
    scored: bool = True
    minimal: str | None = None
    repeat: str = ""
    flaky: Mapping[str, int] | None = None
    expected: bool = False
    hints: tuple[str, ...] = field(default=())

    @property
    def breaks(self) -> bool:
        """Whether the check breaks the contract: it counts, no baseline expects it, and its verdict is not green."""
        return self.scored and not self.expected and self.verdict in {Verdict.FAILED, Verdict.UNTESTABLE}

    def to_json(self) -> dict[str, Any]:
        """The result as JSON values; times are rounded to a tenth of a millisecond."""
        return {
            "id": self.id,
            "rule": self.rule,
            "section": self.section,
            "level": self.level,
            "scenario": self.scenario,
            "verdict": self.verdict.value,
            "blame": None if self.blame is None else self.blame.value,
            "index": self.index,
            "at_ms": None if self.at_ms is None else round(self.at_ms, 1),
            "promise": self.promise,
            "got": self.got,
            "count": self.count,
            "answer": self.answer,
            "hint": list(self.hints),
            "scored": self.scored,
            "expected": self.expected,
            "flaky": None if self.flaky is None else dict(self.flaky),
            "duration_ms": round(self.duration_ms, 1),
            "transcript": self.transcript,
            "minimal": self.minimal,
            "repeat": self.repeat,
        }
