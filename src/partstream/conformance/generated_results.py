"""Runs what is generated and replays what was kept, as results of checks like those of the fixed scenarios."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from partstream.codec.redaction import Redactor
from partstream.conformance.fuzzing import Failure, FuzzSettings, fuzz
from partstream.conformance.kept_failures import read_failure, write_failure
from partstream.devtools.conformance.driving import Provocation
from partstream.devtools.conformance.exercises import GENERATED, JUDGED, hint_of, perform, promise_of
from partstream.devtools.conformance.report import Blame, CheckResult, Verdict
from partstream.lm.contract import Level

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from partstream.devtools.conformance.targets import Tested
    from partstream.devtools.conformance.transcript import Transcript

__all__ = ["GENERATED_CHECKS", "GeneratedResults", "facts_of_failure", "replayed", "searched"]

GENERATED_CHECKS = tuple(f"{promise}/{GENERATED}" for promise in JUDGED)
"""The ids of the checks of generated conversations."""

_REPETITIONS = 3


@dataclass(frozen=True, slots=True)
class GeneratedResults:
    """The results of generated conversations.

    Attributes:
        checks: A check for each promise.
        transcripts: The minimal transcripts by the name that the checks give.
        note: A sentence for a person: how many were tried, with which seed.
    """

    checks: tuple[CheckResult, ...]
    transcripts: Mapping[str, Transcript]
    note: str


async def searched(
    tested: Tested,
    settings: FuzzSettings,
    folder: Path,
    *,
    other: Tested | None = None,
    redactor: Redactor | None = None,
) -> GeneratedResults:
    """Looks for broken promises, and keeps the smallest failure of each in `folder`.

    A promise that nothing broke has passed if some conversation could have broken it, and is not judged otherwise.

    Raises:
        CallerError: Hypothesis is not installed.
        OSError: A file cannot be written.
    """
    began = time.monotonic()
    found = await fuzz(tested, settings, other)
    hides = redactor or Redactor()
    files = {one.promise: write_failure(folder, tested, one, hides) for one in found.failures.values()}
    milliseconds = (time.monotonic() - began) * 1000
    checks = tuple(
        _result(tested, promise, found.failures.get(promise), files.get(promise), milliseconds / len(JUDGED))
        if promise in found.judged
        else _not_judged(promise)
        for promise in JUDGED
    )
    transcripts = {_name(promise): one.exercised.transcript for promise, one in found.failures.items()}
    note = f"{found.tried} generated conversations were tried with the seed {settings.seed}."
    return GeneratedResults(checks, transcripts, note)


async def replayed(tested: Tested, path: Path, *, other: Tested | None = None) -> GeneratedResults:
    """Repeats a kept failure, three times; needs no Hypothesis.

    Raises:
        FailureFileError: The file cannot be read, or holds something else.
    """
    promise, exercise = read_failure(path)
    began = time.monotonic()
    failed, shown = 0, None
    for _ in range(_REPETITIONS):
        exercised = await perform(tested, exercise, other)
        failed += promise in exercised.broken
        if shown is None or promise in exercised.broken:
            shown = exercised
    milliseconds = (time.monotonic() - began) * 1000
    failure = None
    if shown is not None and failed:
        failure = Failure(promise, exercise, shown, exercise.size, failed, _REPETITIONS)
    transcripts = {} if shown is None else {_name(promise): shown.transcript}
    note = f"{path} was repeated {_REPETITIONS} times and broke its promise {failed} times."
    return GeneratedResults((_result(tested, promise, failure, path, milliseconds),), transcripts, note)


def _result(
    tested: Tested, promise_id: str, failure: Failure | None, path: Path | None, milliseconds: float
) -> CheckResult:
    if failure is None:
        return _check(promise_id, Verdict.PASSED, duration_ms=milliseconds)
    verdict = Verdict.FAILED if promise_of(promise_id).level is Level.MUST else Verdict.WARNING
    return _check(promise_id, verdict, duration_ms=milliseconds, **facts_of_failure(tested, failure, path))


def _not_judged(promise_id: str) -> CheckResult:
    return _check(promise_id, Verdict.NOT_JUDGED, got="no generated conversation says anything about it")


def _check(promise_id: str, verdict: Verdict, **facts: Any) -> CheckResult:
    promise = promise_of(promise_id)
    return CheckResult(
        id=f"{promise_id}/{GENERATED}",
        rule=promise_id,
        section=promise.section,
        level=promise.level.value,
        scenario=GENERATED,
        verdict=verdict,
        promise=promise.text,
        **facts,
    )


def facts_of_failure(tested: Tested, failure: Failure, path: Path | None) -> dict[str, Any]:
    """The fields of a result that tell of its smallest failure."""
    finding, hint = failure.finding, hint_of(failure.promise)
    before, after = failure.size_before, failure.exercise.size
    shrunk = f" (shrunk from {before} events to {after})" if after < before else ""
    return {
        "blame": Blame.TARGET,
        "got": f"{finding.detail}{shrunk}",
        "index": finding.index,
        "at_ms": finding.at_ms,
        "answer": finding.answer,
        "count": failure.failed,
        "transcript": _name(failure.promise),
        "minimal": None if path is None else str(path),
        "repeat": "" if path is None else shlex.join([*_target_words(tested), "--replay", str(path)]),
        "flaky": {"failed": failure.failed, "of": failure.repetitions} if failure.is_flaky else None,
        "hints": () if hint is None else hint.causes,
    }


def _target_words(tested: Tested) -> list[str]:
    """The command that tests the target over the same protocol."""
    description = tested.target.description
    words = ["partstream", "conformance", description.name]
    if tested.way is Provocation.PARSER:
        words.append("--parser")
    return words if description.protocol is None else [*words, "--protocol", description.protocol]


def _name(promise: str) -> str:
    return f"{GENERATED}-{promise}"
