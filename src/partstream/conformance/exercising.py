"""Has the conversations of an exercise with a target, and says which promises they break; generates nothing.

What judges a generated conversation: every rule of the contract, the promises that hold for any script, and that the
same answer brings the same parts: cut elsewhere, asked once more, or over another protocol.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from partstream.conformance.exercises import Relation
from partstream.conformance.generated_promises import SAME_PARTS
from partstream.devtools.conformance.checks import BrokenPromise, Case, NotJudged, check, judge_transcript
from partstream.devtools.conformance.driving import Request, drive, upstream_replies
from partstream.devtools.conformance.scenarios import TOOLS
from partstream.devtools.conformance.transcript import Transcript, TranscriptEventKind
from partstream.lm.contract import RULES
from partstream.lm.parts import USAGE_MIME_TYPE, DataPart

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from partstream.conformance.exercises import Exercise
    from partstream.devtools.conformance.targets import Tested
    from partstream.devtools.conformance.transcript import Answer

__all__ = ["GENERATED", "JUDGED", "Exercised", "judged_promises", "perform"]

GENERATED: Final = "generated"
"""The slug of the scenario of generated conversations."""

JUDGED: Final = (*RULES, "stream.ends", "text.complete", "tool-call.complete", *SAME_PARTS.values())
"""The promises that a generated conversation can break."""

_CUT: Final = "split=3"
_UPSTREAM_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class Exercised:
    """What an exercise has shown.

    Attributes:
        transcript: What happened.
        broken: The first finding against each promise that was broken, by its id; the environment's are left out.
        judged: The ids of the promises that the conversation said something about.
    """

    transcript: Transcript
    broken: Mapping[str, BrokenPromise]
    judged: frozenset[str] = frozenset()


async def perform(tested: Tested, exercise: Exercise, other: Tested | None = None) -> Exercised:
    """Has the conversations of an exercise and judges them.

    Args:
        tested: The target.
        exercise: What is said and done.
        other: The same target over another protocol, for exercises with that relation; None leaves them unrelated.
    """
    transcript = await _converse(tested, exercise)
    findings = judged_promises(tested, transcript)
    if transcript.script is not None:
        _compare_retries(transcript, findings)
        related = await _related(tested, exercise, other)
        if related is not None:
            fields = _WITHOUT_THINKING if exercise.relation is Relation.OTHER else _ALL_FIELDS
            pairs = zip(transcript.answers, related.answers, strict=False)
            for place, (one, another) in enumerate(pairs):
                _compare(one, another, place, fields, findings.setdefault(SAME_PARTS[exercise.relation], []))
    broken = {promise: of_target[0] for promise, found in findings.items() if (of_target := _of_target(found))}
    return Exercised(transcript, broken, frozenset(findings))


async def _related(tested: Tested, exercise: Exercise, other: Tested | None) -> Transcript | None:
    match exercise.relation:
        case Relation.AGAIN:
            return await _converse(tested, exercise)
        case Relation.CUT if tested.session.upstream is not None and exercise.script is not None:
            answers = tuple(replace(one, fault=f"{one.fault},{_CUT}".strip(",")) for one in exercise.script.answers)
            return await _converse(tested, replace(exercise, script=replace(exercise.script, answers=answers)))
        case Relation.OTHER if other is not None:
            return await _converse(other, exercise)
    return None


async def _converse(tested: Tested, exercise: Exercise) -> Transcript:
    upstream, began = tested.session.upstream, time.monotonic()
    provider = tested.session.provider(exercise.script)
    before = 0 if upstream is None or not upstream.requests else upstream.requests[-1].number
    transcript = Transcript(GENERATED, exercise.moves, exercise.script, exercise.prompt)
    request = Request(exercise.prompt, tools=TOOLS if tested.capabilities.tool_calling else ())
    transcript.answers = await drive(provider, tested.model, request, exercise.moves, tested.limits, upstream)
    if upstream is not None:
        with suppress(TimeoutError):
            await upstream.until(lambda: upstream.open_streams == 0, _UPSTREAM_SECONDS)
        transcript.upstream = upstream_replies(upstream, before, began)
    return transcript


# ---- what is judged ----


def judged_promises(tested: Tested, transcript: Transcript) -> dict[str, list[BrokenPromise]]:
    """The findings against each promise that a conversation says something about."""
    judged = judge_transcript(transcript, tested.capabilities.call_id_namespace)
    case = Case([transcript], [judged], tested.capabilities, tested.way)
    findings: dict[str, list[BrokenPromise]] = {}
    for promise in JUDGED:
        if promise not in SAME_PARTS.values():
            with suppress(NotJudged):
                findings[promise] = check(promise, case)
    return findings


def _of_target(findings: Iterable[BrokenPromise]) -> list[BrokenPromise]:
    return [finding for finding in findings if not finding.is_environment]


# ---- the same parts ----

_WITHOUT_THINKING: Final = ("text", "calls")
"""What every protocol has a place for; not every one has thinking."""
_VERBS: Final = {"calls": "differ", "data": "differ"}
_ALL_FIELDS: Final = (*_WITHOUT_THINKING, "thinking", "data", "end")


def _compare_retries(transcript: Transcript, findings: dict[str, list[BrokenPromise]]) -> None:
    """Compares each answer with the one before it to the same request."""
    answers = transcript.answers
    for place in range(1, len(answers)):
        if answers[place].messages == answers[place - 1].messages:
            found = findings.setdefault(SAME_PARTS[Relation.AGAIN], [])
            _compare(answers[place - 1], answers[place], place, _ALL_FIELDS, found)


def _compare(one: Answer, other: Answer, place: int, fields: tuple[str, ...], found: list[BrokenPromise]) -> None:
    difference = _difference(one, other, place, fields)
    if difference is not None:
        found.append(difference)


def _difference(one: Answer, other: Answer, place: int, fields: tuple[str, ...]) -> BrokenPromise | None:
    if one.has(TranscriptEventKind.CANCELLED) or other.has(TranscriptEventKind.CANCELLED):
        return None  # where it is cancelled depends on the speed of both
    if one.has(TranscriptEventKind.UNFINISHED) or other.has(TranscriptEventKind.UNFINISHED):
        return None
    first, second = _shape(one), _shape(other)
    for field in fields:
        if first[field] != second[field]:
            said = f"first {_shown(first[field])}, then {_shown(second[field])}"
            return BrokenPromise(f"the {field} {_VERBS.get(field, 'differs')}: {said}", place)
    return None


def _shape(answer: Answer) -> dict[str, Any]:
    """What an answer says, whatever pieces it came in and whatever ids its calls have."""
    end = answer.end
    data = [part for part in answer.parts if isinstance(part, DataPart) and part.mime_type != USAGE_MIME_TYPE]
    return {
        "text": answer.text,
        "thinking": answer.thinking,
        "calls": [(call.name, call.input) for call in answer.calls],
        "data": [(part.mime_type, part.data) for part in data],
        "end": None if end is None else end.kind.value,
    }


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:120]}..."
