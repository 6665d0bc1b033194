"""What judges each promise: functions from the transcripts of a scenario to findings; one row a promise."""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeGuard

from partstream.conformance.judging import BrokenPromise
from partstream.conformance.parser_limits import not_of_parsers
from partstream.devtools.conformance.driving import Capability, Provocation, RequestLimitError
from partstream.devtools.conformance.scripts import PIXEL, RESULT_WORD, USAGE, Ending
from partstream.devtools.conformance.transcript import TranscriptEventKind
from partstream.errors import UpstreamConnectionError, UpstreamTimeoutError
from partstream.lm.contract import RULES, Evidence
from partstream.lm.parts import USAGE_MIME_TYPE, DataPart, TextPart, ToolResultPart
from partstream.runtime.progress import placed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from partstream.conformance.judging import AnswerJudgement
    from partstream.devtools.conformance.driving import Capabilities
    from partstream.devtools.conformance.scripts import ScriptedAnswer
    from partstream.devtools.conformance.transcript import Transcript

__all__ = ["CHECKS", "Case", "NotJudged", "Outcome", "check"]


@dataclass(frozen=True, slots=True)
class Case:
    """What a check judges.

    Attributes:
        transcripts: The conversations of the scenario: one, or several that ran at the same time.
        judged: What the contract says of each answer, by transcript.
        capabilities: What the target has declared.
        way: How the target was driven.
    """

    transcripts: Sequence[Transcript]
    judged: Sequence[Sequence[AnswerJudgement]]
    capabilities: Capabilities
    way: Provocation

    @property
    def answers(self) -> Iterator[tuple[int, AnswerJudgement]]:
        """Every answer, with its index in its transcript."""
        for judged in self.judged:
            yield from enumerate(judged)


class NotJudged(Exception):  # noqa: N818 - not an error: the reason why there is nothing to say
    """A check has nothing to judge; the message says why."""


Outcome: TypeAlias = "list[BrokenPromise]"
"""The findings of a check; none where the promise is kept."""


def check(promise_id: str, case: Case) -> Outcome:
    """The findings against one promise.

    Raises:
        NotJudged: The transcripts do not hold what it takes to judge it.
    """
    if case.way is Provocation.PARSER and (reason := not_of_parsers(promise_id)):
        raise NotJudged(reason)
    if promise_id in RULES:
        return _rule(promise_id, case)
    return CHECKS[promise_id](case)


def _rule(rule_id: str, case: Case) -> Outcome:
    findings = [finding for _, one in case.answers for finding in one.findings(rule_id)]
    rule = RULES[rule_id]
    if rule.needs is Evidence.COMPLETION and any(one.answer.error is not None for _, one in case.answers):
        return findings  # a response that is rejected tells the person why there is nothing
    if not findings and not any(one.shows(rule) for _, one in case.answers):
        subject = rule_id.partition(".")[0]
        raise NotJudged(f"needs {rule.needs}" if rule.needs is not None else f"no {subject} part came")
    return findings


# ---- what the kit adds ----


def _ends(case: Case) -> Outcome:
    findings = []
    for transcript in case.transcripts:
        over = all(reply.outcome is not None for reply in transcript.upstream)
        for place, answer in enumerate(transcript.answers):
            end = answer.end
            if end is not None and end.kind is TranscriptEventKind.UNFINISHED:
                is_known = case.way in {Provocation.SCRIPTED, Provocation.PARSER} or (
                    bool(transcript.upstream) and over
                )
                what = f"no end within {end.at_ms / 1000:.1f} seconds"
                findings.append(BrokenPromise(what, place, None, end.at_ms, is_environment=not is_known))
    return findings


_OF_ENVIRONMENT: Final = (RequestLimitError, UpstreamConnectionError, UpstreamTimeoutError)
"""Errors that say nothing of the contract where the model server is not the kit's own."""


def _resolves(case: Case) -> Outcome:
    return [
        BrokenPromise(
            f"the answer was rejected with {placed(one.answer.error)}",
            place,
            None,
            one.answer.end.at_ms,
            is_environment=case.way is Provocation.DIRECTED and isinstance(one.answer.error, _OF_ENVIRONMENT),
        )
        for place, one in case.answers
        if one.answer.error is not None
        and one.answer.end is not None
        and not one.answer.has(TranscriptEventKind.CANCELLED)
    ]


def _scripted(case: Case, subject: str) -> list[tuple[int, AnswerJudgement, ScriptedAnswer]]:
    """The answers that are to be what their script says.

    Raises:
        NotJudged: There is none.
    """
    found = [
        (place, one, one.script)
        for place, one in case.answers
        if one.script is not None and not one.script.is_cut and not one.answer.has(TranscriptEventKind.CANCELLED)
    ]
    if not found:
        raise NotJudged("nobody knows what the model said")
    whole = [row for row in found if row[1].answer.error is None or row[2].ending is not Ending.DONE]
    if not whole:
        raise NotJudged("the answer was rejected")
    kept = [row for row in whole if not row[1].breaks_subject(subject)]
    if not kept:
        raise NotJudged(f"the parts break other rules of {subject}")
    return kept


def _text_complete(case: Case) -> Outcome:
    findings = []
    for place, one, script in _scripted(case, "text"):
        parts = script.parts(one.answer.messages)
        wanted = "".join(part.value for part in parts if isinstance(part, TextPart))
        got = one.answer.text.encode(errors="ignore").decode()
        if got.strip() != wanted.strip() and not one.findings("stream.generation-order"):
            findings.append(BrokenPromise(_difference(wanted, got), place))
    return findings


def _difference(wanted: str, got: str) -> str:
    at = next((n for n, (a, b) in enumerate(zip(wanted, got, strict=False)) if a != b), min(len(wanted), len(got)))
    shown = slice(max(at - 10, 0), at + 30)
    return f"the text differs at character {at}: {got[shown]!r}, the model said {wanted[shown]!r}"


def _calls_complete(case: Case) -> Outcome:
    findings = []
    for place, one, script in _scripted(case, "tool-call"):
        wanted = [(call.name, dict(call.arguments)) for call in script.calls]
        got = [(call.name, call.input) for call in one.answer.calls]
        lost = [call for call in wanted if call not in got]
        more = [call for call in got if call not in wanted]
        if lost:
            findings.append(
                BrokenPromise(f"the call {_shown(lost[0])} did not come; came: {_shown(got) or 'none'}", place)
            )
        elif more or len(got) != len(wanted):
            findings.append(BrokenPromise(f"{len(got)} calls came, the model made {len(wanted)}: {_shown(got)}", place))
    return findings


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 160 else f"{text[:160]}..."


def _as_received(case: Case) -> Outcome:
    findings = []
    for place, one in case.answers:
        cancelled = next((event for event in one.answer.events if event.kind is TranscriptEventKind.CANCELLED), None)
        if cancelled is None:
            continue
        if not any(isinstance(part, TextPart) and part.value for part in one.answer.parts_before_cancel):
            what = f"the model server had sent half of the text, and {cancelled.at_ms / 1000:.1f} s later none was out"
            findings.append(BrokenPromise(what, place, None, cancelled.at_ms))
    if not _replies(case):
        raise NotJudged("needs both clocks: a target whose model server is the kit")
    return findings


def _stops_upstream(case: Case) -> Outcome:
    replies = _replies(case)
    if not replies:
        raise NotJudged("needs a target whose model server is the kit")
    return [
        BrokenPromise("the model server still sent, or held the connection open, after the answer was cancelled")
        for reply in replies
        if reply["outcome"] not in {"client_closed", "whole", "cut"}
    ]


def _rejects(case: Case) -> Outcome:
    return [
        BrokenPromise("the answer resolved as if it were whole", place, None, one.answer.end.at_ms)
        for place, one in case.answers
        if one.answer.end is not None and one.answer.end.kind is TranscriptEventKind.RESOLVED
    ]


def _keeps_parts(case: Case) -> Outcome:
    findings = []
    for place, one in case.answers:
        begin = "" if one.script is None else one.script.text[:_BEGIN]
        if not one.answer.text:
            findings.append(BrokenPromise("the model had said text before it failed, and none of it came", place))
        elif begin and one.answer.text.count(begin) > 1:
            findings.append(
                BrokenPromise(f"the text before the failure came twice: {begin!r} stands in it again", place)
            )
    return findings


_BEGIN: Final = 30
"""So many characters tell where a text of the kit begins."""


def _logged(case: Case) -> Outcome:
    rejected = [(place, one.answer) for place, one in case.answers if one.answer.error is not None]
    if not rejected:
        raise NotJudged("the answer was not rejected")
    return [
        BrokenPromise("nothing was logged, and the error that the answer was rejected with says nothing", place)
        for place, answer in rejected
        if not answer.has(TranscriptEventKind.LOGGED) and not str(answer.error)
    ]


def _replies(case: Case) -> list[dict[str, Any]]:
    return [reply.to_json() for transcript in case.transcripts for reply in transcript.upstream]


def _bodies(case: Case) -> list[str]:
    """What the scripted upstream was sent, request by request.

    Raises:
        NotJudged: There is no scripted upstream, or nothing was sent to it.
    """
    bodies = [
        json.dumps(reply.body, ensure_ascii=False) for transcript in case.transcripts for reply in transcript.upstream
    ]
    if not bodies:
        raise NotJudged("needs a target whose model server is the kit")
    return bodies


def _text_arrives(case: Case) -> Outcome:
    bodies = _bodies(case)
    return [
        BrokenPromise(f"no request to the model holds the text {transcript.prompt!r}")
        for transcript in case.transcripts
        if not any(transcript.prompt in body for body in bodies)
    ]


def _tools_arrive(case: Case) -> Outcome:
    last = _bodies(case)[-1]
    names = {tool.name for _, one in case.answers for tool in one.answer.options.tools}
    return [
        BrokenPromise(f"the request to the model does not name the tool {name}") for name in names if name not in last
    ]


def _images_arrive(case: Case) -> Outcome:
    picture = b64encode(PIXEL.data).decode()[:40]
    if any(picture in body for body in _bodies(case)):
        return []
    return [BrokenPromise("no request to the model holds the bytes of the image")]


def _results_arrive(case: Case) -> Outcome:
    results = [
        part
        for _, one in case.answers
        for message in one.answer.messages
        for part in message.content
        if isinstance(part, ToolResultPart)
    ]
    if not results:
        raise NotJudged("the model called no tool, so there was no result")
    with_text = any(isinstance(content, TextPart) for part in results for content in part.content)
    if with_text and RESULT_WORD not in _bodies(case)[-1]:
        return [BrokenPromise(f"the last request to the model does not hold the result ({RESULT_WORD!r})")]
    return []


def _usage(case: Case) -> Outcome:
    """The usage comes as the data part that VS Code reads, or in the `Finish`, of which the host makes that part."""
    findings, seen = [], 0
    for place, one in case.answers:
        said = [_counts_in(part) for part in one.answer.parts if _is_usage(part)]
        if len(said) > 1:
            findings.append(BrokenPromise(f"{len(said)} parts with usage came", place))
        finish = one.answer.finish
        if not said and finish is not None and finish.usage is not None:
            usage = finish.usage
            counts = (usage.input_tokens, usage.output_tokens, usage.total_tokens)
            said = [dict(zip(_COUNTS, counts, strict=True))]
        seen += len(said)
        findings += [BrokenPromise(wrong, place) for counts in said if (wrong := _wrong_usage(counts, case.way))]
    if not seen:
        if case.capabilities.has(Capability.USAGE):
            return [BrokenPromise("no usage came: neither a part with it, nor a `Finish`")]
        raise NotJudged("no usage came, and none is declared")
    return findings


_COUNTS: Final = ("prompt_tokens", "completion_tokens", "total_tokens")


def _is_usage(part: object) -> TypeGuard[DataPart]:
    return isinstance(part, DataPart) and part.mime_type == USAGE_MIME_TYPE


def _counts_in(part: DataPart) -> Mapping[str, object]:
    """The counts of a usage part; none where it holds no object of JSON."""
    try:
        said = json.loads(part.data)
    except (ValueError, TypeError):
        return {}
    return said if isinstance(said, dict) else {}


def _wrong_usage(said: Mapping[str, object], way: Provocation) -> str:
    wrong = [name for name in _COUNTS if not isinstance(count := said.get(name), int) or count <= 0]
    if wrong:
        return f"the usage has no count above 0 in {', '.join(wrong)}, although the server reported them"
    reported = dict(zip(_COUNTS, (USAGE.input_tokens, USAGE.output_tokens, USAGE.total_tokens), strict=True))
    got = {name: said[name] for name in _COUNTS}
    if way in {Provocation.SANDWICH, Provocation.PARSER} and got != reported:
        return f"the usage is {_shown(got)}, the server reported {_shown(reported)}"
    return ""


def _no_mixing(case: Case) -> Outcome:
    findings = []
    for transcript in case.transcripts:
        others = [other.prompt for other in case.transcripts if other is not transcript]
        for place, answer in enumerate(transcript.answers):
            foreign = [word for word in map(_mark, others) if word in answer.text]
            if foreign:
                findings.append(BrokenPromise(f"the answer to {_mark(transcript.prompt)} holds {foreign[0]}", place))
    return findings


def _mark(prompt: str) -> str:
    """The word that tells a request from the others: the last one of its prompt."""
    return prompt.rsplit(" ", 1)[-1]


CHECKS: Final[Mapping[str, Callable[[Case], Outcome]]] = {
    "stream.ends": _ends,
    "stream.resolves": _resolves,
    "text.complete": _text_complete,
    "text.as-received": _as_received,
    "tool-call.complete": _calls_complete,
    "usage.as-reported": _usage,
    "failure.rejects": _rejects,
    "failure.keeps-parts": _keeps_parts,
    "failure.logged": _logged,
    "cancellation.stops-upstream": _stops_upstream,
    "request.text-arrives": _text_arrives,
    "request.tools-arrive": _tools_arrive,
    "request.images-arrive": _images_arrive,
    "request.results-arrive": _results_arrive,
    "concurrency.no-mixing": _no_mixing,
}
"""What judges each promise of the kit that a conversation shows. Probes judge the others."""
