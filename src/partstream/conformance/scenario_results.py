"""Makes the results of one scenario from what was recorded and found."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from partstream.devtools.conformance.checks import HINTS, PROMISES, Case, NotJudged, check, judge_transcript
from partstream.devtools.conformance.driving import Provocation
from partstream.devtools.conformance.report import Blame, CheckResult, Verdict
from partstream.devtools.conformance.scenarios import check_ids
from partstream.lm.contract import RULES, Level

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.devtools.conformance.checks import BrokenPromise
    from partstream.devtools.conformance.targets import Tested
    from partstream.devtools.conformance.transcript import Transcript

__all__ = ["ScenarioResults"]


class ScenarioResults:
    """Makes the results of one scenario."""

    def __init__(self, tested: Tested, slug: str, ids: Sequence[str]) -> None:
        self._tested = tested
        self._slug = slug
        self._ids = ids

    def all(self, verdict: Verdict, got: str, blame: Blame | None = None) -> list[CheckResult]:
        """The same verdict for every check."""
        return [self._result(one, verdict, got=got, blame=blame) for one in self._ids]

    def unprovoked(
        self, transcripts: Sequence[Transcript], why: str, milliseconds: float, *, has_promised: bool
    ) -> list[CheckResult]:
        """The results where the target did not show what the scenario is about: what it broke counts all the same.

        Args:
            transcripts: The conversations.
            why: Why they do not show it.
            milliseconds: How long they took.
            has_promised: Whether the target has declared what it did not show.
        """
        results = self.of_transcripts(transcripts, milliseconds)
        error = next((answer.error for one in transcripts for answer in one.answers if answer.error is not None), None)
        got = why if error is None else f"{why}: the answer was rejected with {error!r}"
        # One fault is one failure: the other checks of the scenario have nothing to judge because of it.
        is_told = any(one.verdict is Verdict.FAILED for one in results) or not has_promised
        of = Blame.ENVIRONMENT if self._tested.way is Provocation.DIRECTED else Blame.TARGET
        verdict, blame = (Verdict.NOT_JUDGED, None) if is_told else (Verdict.UNTESTABLE, of)
        return [
            one
            if one.verdict in {Verdict.FAILED, Verdict.WARNING}
            else replace(one, verdict=verdict, got=got, blame=blame, transcript=self._slug)
            for one in results
        ]

    def of_findings(self, found: Mapping[str, list[BrokenPromise]], milliseconds: float) -> list[CheckResult]:
        """The results of a probe."""
        return [self._judged(one, found.get(one.partition("/")[0], []), milliseconds, None) for one in self._ids]

    def of_transcripts(self, transcripts: Sequence[Transcript], milliseconds: float) -> list[CheckResult]:
        """The results of conversations, with the rules that were broken beside those of the scenario."""
        namespace = self._tested.capabilities.call_id_namespace
        judged = [judge_transcript(one, namespace) for one in transcripts]
        case = Case(transcripts, judged, self._tested.capabilities, self._tested.way)
        broken = {rule.id for answers in judged for answer in answers for rule, _ in answer.broken}
        others = [f"{one}/{self._slug}" for one in RULES if one in broken and f"{one}/{self._slug}" not in self._ids]
        is_whole = set(check_ids()[self._slug]) == set(self._ids)
        return [self._of(one, case, milliseconds) for one in (*self._ids, *(others if is_whole else ()))]

    def _of(self, check_id: str, case: Case, milliseconds: float) -> CheckResult:
        try:
            findings = check(check_id.partition("/")[0], case)
        except NotJudged as reason:
            return self._result(check_id, Verdict.NOT_JUDGED, got=str(reason), duration_ms=milliseconds)
        return self._judged(check_id, findings, milliseconds, self._slug)

    def _judged(
        self, check_id: str, findings: Sequence[BrokenPromise], milliseconds: float, transcript: str | None
    ) -> CheckResult:
        if not findings:
            return self._result(check_id, Verdict.PASSED, duration_ms=milliseconds, transcript=transcript)
        first = findings[0]
        promise = PROMISES[check_id.partition("/")[0]]
        verdict = Verdict.FAILED if promise.level is Level.MUST else Verdict.WARNING
        if first.is_environment:
            verdict = Verdict.UNTESTABLE
        return self._result(
            check_id,
            verdict,
            got=first.detail,
            blame=Blame.ENVIRONMENT if first.is_environment else Blame.TARGET,
            index=first.index,
            at_ms=first.at_ms,
            count=len(findings),
            answer=first.answer,
            duration_ms=milliseconds,
            transcript=transcript,
        )

    def _result(self, check_id: str, verdict: Verdict, **facts: Any) -> CheckResult:
        rule = check_id.partition("/")[0]
        promise = PROMISES[rule]
        has_failed = verdict in {Verdict.FAILED, Verdict.WARNING}
        return CheckResult(
            id=check_id,
            rule=rule,
            section=promise.section,
            level=promise.level.value,
            scenario=self._slug,
            verdict=verdict,
            promise=promise.text,
            scored=check_id in self._tested.scored or (rule in RULES and check_id not in self._ids),
            hints=HINTS[rule].causes if has_failed and rule in HINTS else (),
            repeat=f"partstream conformance {self._tested.target.description.name} {check_id}",
            **facts,
        )
