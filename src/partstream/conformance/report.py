"""The report of a run: everything that happened, as values; prints nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

from partstream._version import __version__
from partstream.codec.redaction import Redactor
from partstream.conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.conformance.verdicts import CheckResult
    from partstream.devtools.conformance.driving import Capabilities, TargetDescription
    from partstream.devtools.conformance.transcript import Transcript

__all__ = ["REPORT_VERSION", "Report", "ReportCode"]

REPORT_VERSION: Final = "1"
"""Increases with every change that a reader of a kept report would misunderstand."""


class ReportCode(IntEnum):
    """The exit code of a run."""

    KEPT = 0
    BROKEN = 1
    NOT_USABLE = 2
    KIT_ERROR = 3


@dataclass(frozen=True, slots=True)
class Report:
    """What a run has found.

    Attributes:
        target: What was tested.
        capabilities: What it declares.
        ways: How it was driven.
        checks: The results, in the order of the scenarios.
        transcripts: The conversations by the name that results give.
        contract: The version of the contract.
        requirements: The name of the requirement set.
        environment: Facts about the machine and the programs, without secrets.
        date: When the run began, in ISO 8601; empty where it is not to be said.
        seconds: How long it took.
        notes: Sentences about the run for a person.
        stale: What is wrong with entries of the baseline that are not right any more, a sentence each.
        redactor: Removes the secrets of the run from the report as JSON.
    """

    target: TargetDescription
    capabilities: Capabilities
    ways: tuple[str, ...]
    checks: Sequence[CheckResult]
    transcripts: Mapping[str, Transcript]
    contract: str
    requirements: str
    environment: Mapping[str, str] = field(default_factory=dict)
    date: str = ""
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    redactor: Redactor = field(default_factory=Redactor)

    @property
    def counts(self) -> Counter[Verdict]:
        """How many checks that count have each verdict."""
        return Counter(check.verdict for check in self.checks if check.scored)

    @property
    def broken(self) -> list[CheckResult]:
        """The checks that break the contract."""
        return [check for check in self.checks if check.breaks]

    @property
    def exit_code(self) -> ReportCode:
        """0 if the contract is kept, 1 if it is broken or the baseline is stale, 3 if the kit itself failed."""
        if self.broken or self.stale:
            return ReportCode.BROKEN
        has_errors = any(check.verdict is Verdict.ERROR for check in self.checks)
        return ReportCode.KIT_ERROR if has_errors else ReportCode.KEPT

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values, without secrets."""
        said: dict[str, Any] = self.redactor.redact_values(self._to_json(), names=True)
        return said

    def _to_json(self) -> dict[str, Any]:
        return {
            "report": REPORT_VERSION,
            "kit": __version__,
            "contract": self.contract,
            "requirements": self.requirements,
            "date": self.date,
            "seconds": round(self.seconds, 2),
            "target": self.target.to_json(),
            "capabilities": self.capabilities.to_json(),
            "ways": list(self.ways),
            "environment": dict(self.environment),
            "notes": list(self.notes),
            "exit_code": int(self.exit_code),
            "counts": {verdict.value: self.counts[verdict] for verdict in Verdict},
            "stale": list(self.stale),
            "checks": [check.to_json() for check in self.checks],
            "transcripts": {name: transcript.to_json() for name, transcript in self.transcripts.items()},
        }
