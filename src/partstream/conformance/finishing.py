"""What is done to a report when its run is over: further results, the baseline, and no secrets in it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from partstream.conformance.generated_results import GENERATED_CHECKS
from partstream.devtools.conformance.exercises import GENERATED
from partstream.devtools.conformance.scenarios import all_rows, check_ids

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.codec.redaction import Redactor
    from partstream.devtools.conformance.report import Baseline, CheckResult, Report

__all__ = ["all_checks", "with_baseline", "with_generated", "without_secrets"]


def all_checks() -> Mapping[str, tuple[str, ...]]:
    """The ids of all checks by scenario, with those of generated conversations."""
    return {**check_ids(all_rows()), GENERATED: GENERATED_CHECKS}


def with_generated(report: Report, generated: Report) -> Report:
    """The report of the fixed scenarios with the results of generated conversations behind its own."""
    return replace(
        report,
        checks=(*report.checks, *generated.checks),
        transcripts={**report.transcripts, **generated.transcripts},
        notes=(*report.notes, *generated.notes),
        seconds=report.seconds + generated.seconds,
    )


def with_baseline(report: Report, baseline: Baseline) -> Report:
    """The report with what the baseline expects marked, and with the entries that are stale."""
    checks = tuple(map(baseline.apply, report.checks))
    stale = tuple(one.reason for one in baseline.stale(report.checks, all_checks()))
    return replace(report, checks=checks, stale=stale)


def without_secrets(report: Report, redactor: Redactor) -> Report:
    """The report without secrets, for people and as JSON."""
    description = report.target
    return replace(
        report,
        target=replace(description, name=redactor.redact(description.name)),
        checks=tuple(_redacted(check, redactor) for check in report.checks),
        notes=tuple(map(redactor.redact, report.notes)),
        environment={name: redactor.redact(value) for name, value in report.environment.items()},
        redactor=redactor,
    )


def _redacted(check: CheckResult, redactor: Redactor) -> CheckResult:
    """The result with what a target or a command line says in it redacted."""
    return replace(check, got=redactor.redact(check.got), repeat=redactor.redact(check.repeat))
