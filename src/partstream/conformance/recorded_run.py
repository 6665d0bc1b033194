"""Tests a target with recorded exchanges: the kit is its model server and sends what a real one has sent.

Which promises the target keeps then is judged as in every conversation; what the model was to say is not known.
"""

from __future__ import annotations

import shlex
import time
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from partstream.devtools.bundles.exchange import asked_of, content_of
from partstream.devtools.bundles.recorded import recorded_outputs
from partstream.devtools.conformance.checks import BrokenPromise
from partstream.devtools.conformance.driving import Request, drive, upstream_replies
from partstream.devtools.conformance.exercises import hint_of, judged_promises, promise_of
from partstream.devtools.conformance.fuzzing import GeneratedResults
from partstream.devtools.conformance.report import Blame, CheckResult, Verdict
from partstream.devtools.conformance.scripts import Move
from partstream.devtools.conformance.transcript import Transcript, TranscriptEventKind
from partstream.devtools.recorded_stream import RecordingError
from partstream.errors import CallerError
from partstream.lm.contract import RULES, Level
from partstream.lm.outputs import Finish

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.devtools.bundles.exchange import RecordedExchange
    from partstream.devtools.conformance.checks import Promise
    from partstream.devtools.conformance.fuzzing import Opening
    from partstream.devtools.conformance.report import Report
    from partstream.devtools.conformance.targets import Tested
    from partstream.errors import LanguageModelError
    from partstream.lm.contract import Rule
    from partstream.lm.messages import Tool

__all__ = ["RECORDED", "replay_exchanges"]

RECORDED: Final = "recorded"
"""The slug of the scenario of recorded exchanges."""

_JUDGED: Final = (*RULES, "stream.ends", "stream.resolves", "failure.rejects")
"""The promises that an answer can break of which nobody knows what the model was to say."""
_PROMPT: Final = "Go on."
_NO_SERVER: Final = (
    "--replay: got a target that does not ask the kit's model server, expected one whose base URL the kit can set; "
    "`partstream check FILE` judges the recording itself"
)


async def replay_exchanges(opening: Opening, exchanges: Sequence[RecordedExchange], file: str, pace: float) -> Report:
    """Has a target answer once for each recorded answer, with its exchanges as what the model server sends.

    Args:
        opening: How the target is opened.
        exchanges: The exchanges; those of one answer have one number of the answer.
        file: What the recording is called.
        pace: How many times as fast as they were recorded; 0 for at once.

    Raises:
        UnusableTargetError: The target cannot be started.
        CallerError: It does not ask the kit's model server.
    """
    return await opening.use(lambda tested, _: _replayed(tested, exchanges, file, pace))


async def _replayed(tested: Tested, exchanges: Sequence[RecordedExchange], file: str, pace: float) -> GeneratedResults:
    upstream, began = tested.session.upstream, time.monotonic()
    if upstream is None:
        raise CallerError(_NO_SERVER)
    provider = tested.session.provider(None)
    answers = [tuple(group) for _, group in groupby(exchanges, attrgetter("answer"))]
    transcript = Transcript(RECORDED, (Move("send"),) * len(answers), None, _PROMPT)
    for group in answers:
        upstream.replay(group, pace)
        request = Request(_PROMPT, tools=_tools_of(group, tested))
        transcript.answers += await drive(provider, tested.model, request, (Move("send"),), tested.limits, upstream)
    upstream.replay(None)
    transcript.upstream = upstream_replies(upstream, 0, began)
    findings = {**judged_promises(tested, transcript), **_compare_ends(transcript, answers, file)}
    repeat = shlex.join(["partstream", "conformance", tested.target.description.name, "--replay", file])
    milliseconds = (time.monotonic() - began) * 1000 / len(_JUDGED)
    checks = tuple(_result(promise_of(one), findings.get(one), repeat, milliseconds) for one in _JUDGED)
    counts = f"{_count(len(answers), 'answer')}, of {_count(len(exchanges), 'exchange')} with a server"
    note = f"Recorded in {file} and replayed: {counts}."
    return GeneratedResults(checks, {RECORDED: transcript}, note)


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _tools_of(exchanges: Sequence[RecordedExchange], tested: Tested) -> tuple[Tool, ...]:
    """The tools that the recorded request offered."""
    request = exchanges[0].request
    if request is None or not tested.capabilities.tool_calling:
        return ()
    try:
        row = content_of(exchanges[0], "").protocol
    except RecordingError:
        return ()
    asked = None if row is None else asked_of(request, row)
    return () if asked is None else tuple(asked.options.tools)


def _compare_ends(
    transcript: Transcript, answers: Sequence[Sequence[RecordedExchange]], file: str
) -> dict[str, list[BrokenPromise]]:
    """The findings against what the end of an answer promises: it failed where the recorded one failed, else not."""
    findings: dict[str, list[BrokenPromise]] = {}
    for place, (answer, exchanges) in enumerate(zip(transcript.answers, answers, strict=True)):
        error = _recorded_error(exchanges[-1], file)
        promise, wrong = (
            ("stream.resolves", TranscriptEventKind.REJECTED)
            if error is None
            else ("failure.rejects", TranscriptEventKind.RESOLVED)
        )
        found = findings.setdefault(promise, [])
        end = answer.end
        if end is not None and end.kind is wrong:
            said = (
                f"it was rejected: {end.value}" if error is None else f"it resolved, though the answer failed: {error}"
            )
            found.append(BrokenPromise(said, place, None, end.at_ms))
    return findings


def _recorded_error(exchange: RecordedExchange, file: str) -> LanguageModelError | None:
    """The error that the recorded answer ended with; None for a whole one.

    Raises:
        CallerError: The recording cannot be read.
    """
    try:
        *_, last = recorded_outputs(exchange, file)
    except RecordingError as error:
        raise CallerError(f"--replay: {error}") from error
    return last.error if isinstance(last, Finish) else None


def _result(
    promise: Promise | Rule, found: list[BrokenPromise] | None, repeat: str, milliseconds: float
) -> CheckResult:
    facts: dict[str, Any] = {"verdict": Verdict.PASSED}
    if found is None:
        facts = {"verdict": Verdict.NOT_JUDGED, "got": "no recorded answer says anything about it"}
    elif found:
        facts = _facts_of(promise, found, repeat)
    return CheckResult(
        id=f"{promise.id}/{RECORDED}",
        rule=promise.id,
        section=promise.section,
        level=promise.level.value,
        scenario=RECORDED,
        promise=promise.text,
        duration_ms=milliseconds,
        **facts,
    )


def _facts_of(promise: Promise | Rule, found: list[BrokenPromise], repeat: str) -> dict[str, Any]:
    first = next((one for one in found if not one.is_environment), found[0])
    hint = hint_of(promise.id)
    failed = Verdict.FAILED if promise.level is Level.MUST else Verdict.WARNING
    return {
        "verdict": Verdict.NOT_JUDGED if first.is_environment else failed,
        "blame": Blame.ENVIRONMENT if first.is_environment else Blame.TARGET,
        "got": first.detail,
        "index": first.index,
        "at_ms": first.at_ms,
        "answer": first.answer,
        "count": len(found),
        "transcript": RECORDED,
        "repeat": repeat,
        "hints": () if hint is None else hint.causes,
    }
