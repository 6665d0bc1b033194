"""Judges the parts of a recorded answer by the contract: what was broken, at which part and event, and what helps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from partstream.lm.contract import RULE_HINTS, RULES, CheckMode, ContractChecker, Level, Violation, missing_evidence
from partstream.lm.outputs import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.devtools.inspector.reading import CompletedPart
    from partstream.devtools.inspector.shapes import VerdictView, ViolationView

__all__ = ["Judged", "judge", "unjudged"]


@dataclass(frozen=True, slots=True)
class Judged:
    """What the contract says of an answer.

    Attributes:
        violations: The first thousand violations, in order.
        verdict: How many rules were kept, broken, and so on.
    """

    violations: tuple[ViolationView, ...]
    verdict: VerdictView


def judge(
    parts: Sequence[CompletedPart],
    *,
    outcome: str,
    error: BaseException | None,
    tools: Sequence[str] | None,
    namespace: str | None,
    last_event: int | None,
) -> Judged:
    """Judges an answer.

    Args:
        parts: Its parts, as they were reported; those that break a rule too.
        outcome: How it ended; `cancelled` too.
        error: What it was rejected with, or None.
        tools: The names of the request's tools, or None where they are not known.
        namespace: The prefix of the provider's call ids, or None.
        last_event: The number of the event that ended the answer, for what its end breaks.
    """
    checker = ContractChecker(tools, CheckMode.LENIENT, namespace=namespace)
    for part in parts:
        checker.check(part.part)
    if outcome == "cancelled":
        checker.cancel()
        checker.complete()
    elif error is not None:
        checker.fail(error)
    else:
        checker.complete()
    classes = {type(part.part).__name__ for part in parts}
    lacking = partial(missing_evidence, has_end=outcome != Outcome.TRUNCATED, has_error=error is not None)
    is_judged = {rule.id: lacking(rule, checker, classes) is None for rule in RULES.values()}
    return Judged(tuple(_violation(one, parts, last_event) for one in checker.violations), _verdict(checker, is_judged))


def unjudged() -> Judged:
    """What the contract says of bytes that nobody can read: nothing."""
    return Judged((), {"kept": 0, "broken": 0, "warnings": 0, "notJudged": len(RULES)})


def _verdict(checker: ContractChecker, is_judged: Mapping[str, bool]) -> VerdictView:
    broken = warnings = not_judged = 0
    for rule in RULES.values():
        if checker.counts[rule.id]:
            broken += rule.level is Level.MUST
            warnings += rule.level is not Level.MUST
        else:
            not_judged += not is_judged[rule.id]
    kept = len(RULES) - broken - warnings - not_judged
    return {"kept": kept, "broken": broken, "warnings": warnings, "notJudged": not_judged}


def _violation(violation: Violation, parts: Sequence[CompletedPart], last_event: int | None) -> ViolationView:
    rule, hint = violation.rule, RULE_HINTS.get(violation.rule.id)
    return {
        "rule": rule.id,
        "level": rule.level.value,
        "section": rule.section,
        "promise": rule.text,
        "detail": violation.detail,
        "part": violation.index,
        "event": last_event if violation.index is None else _event_of(parts, violation.index),
        "seen": "" if hint is None else hint.seen,
        "hints": [] if hint is None else list(hint.causes),
        "url": "",
    }


def _event_of(parts: Sequence[CompletedPart], index: int) -> int | None:
    """The event that completed a part; that of the part before it, where a provider made the part itself."""
    before = (parts[place].event for place in range(index, -1, -1))
    return next((event for event in before if event is not None), None)
