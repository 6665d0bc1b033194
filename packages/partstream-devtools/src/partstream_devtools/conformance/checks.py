"""The checks: one row for each requirement, from the transcripts of a scenario to the places where it is broken.

A requirement is a rule of the contract (:data:`partstream.lm.contract.RULES`) or one that the kit adds, because no
stream of parts shows it: the kit sees both sides of the target. :func:`judge_answer` feeds the events of a recorded
answer to a :class:`partstream.lm.contract.ContractChecker`; :data:`CHECKS` has the function of each other requirement.
A check that finds nothing to judge raises :class:`NotJudged` with the reason, so that silence never counts as kept.
What the script of a scenario says decides the order and the completeness of parts. A limit of time or a connection that
breaks is blamed on the environment, unless the model server is the kit's own.

Nothing here drives a target or prints. :data:`HINTS` and :data:`REQUIREMENTS` are the words for people, and a
requirement set names the checks that count.
"""

from __future__ import annotations
import json
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.codec.checks import dataclass, field
from partstream.codec.json_codec import loads
from partstream.errors import CallerError, LanguageModelError, UpstreamConnectionError, UpstreamTimeoutError
from partstream.lm.contract import RULE_HINTS, RULES, CheckMode, ContractChecker, Evidence, Hint, Level, Rule, Violation
from partstream.lm.parts import USAGE_MIME_TYPE, DataPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from partstream.runtime.progress import placed
from partstream_devtools.conformance.driver import Capabilities, Provocation, Request, RequestLimitError
from partstream_devtools.conformance.scripts import PIXEL, RESULT_WORD, USAGE, Action, Call, Echo, Ending, Say, Think
from partstream_devtools.conformance.transcript import Answer, Transcript, TranscriptEventKind
from partstream_devtools.testing.directives import parse_choices

if TYPE_CHECKING:
    from partstream.lm.provider import LanguageModelChatInformation, LanguageModelChatProvider
    from partstream_devtools.conformance.scripts import Script, ScriptedAnswer


# ---- Answers ----


@dataclass(frozen=True, slots=True)
class Breach:
    """A broken requirement: what the target did, with the indices, from 0, of the answer and of its part.

    `at_ms` is in milliseconds since the request. `is_environment` blames a limit of time or a connection, not the
    target.
    """

    detail: str
    answer: int | None = None
    index: int | None = None
    at_ms: float | None = None
    is_environment: bool = False


_SUBJECTS: dict[str, type] = {
    "text": TextPart,
    "thinking": ThinkingPart,
    "tool-call": ToolCallPart,
    "data": DataPart,
    "part": object,
}
"""The class of parts that the rules of a subject are about."""


@dataclass(frozen=True, slots=True)
class AnswerJudgement:
    """What the contract says about one answer: the checker that has seen all of it, and the findings in order."""

    answer: Answer
    script: ScriptedAnswer | None
    checker: ContractChecker
    broken: Sequence[tuple[Rule, Breach]]

    def findings(self, rule_id: str) -> list[Breach]:
        """The findings against one rule."""
        return [finding for rule, finding in self.broken if rule.id == rule_id]

    def shows(self, rule: Rule) -> bool:
        """Whether the answer holds what it takes to judge the rule: a rule about calls says nothing without a call."""
        if not self.checker.judges(rule):
            return False
        part_class = _SUBJECTS.get(rule.id.partition(".")[0])
        return part_class is None or any(isinstance(part, part_class) for part in self.answer.parts)


def judge_transcript(transcript: Transcript, namespace: str | None = None) -> list[AnswerJudgement]:
    """Judges every answer of a transcript; `namespace` is the prefix that the target declares for its call ids."""
    script = transcript.script
    return [
        judge_answer(answer, place, namespace, None if script is None else script.answer_to(answer.messages))
        for place, answer in enumerate(transcript.answers)
    ]


def judge_answer(
    answer: Answer,
    place: int = 0,
    namespace: str | None = None,
    script: ScriptedAnswer | None = None,
    *,
    knows_tools: bool = True,
) -> AnswerJudgement:
    """Judges one answer by all rules.

    Args:
        answer: The answer.
        place: Its index in its transcript.
        namespace: The prefix that the target has declared for its call ids, or None.
        script: What the model was to say, or None; with it, the order of the parts is judged.
        knows_tools: Whether the answer says which tools were offered; else the names of calls are not judged.
    """
    broken: list[tuple[Rule, Breach]] = []
    at_ms = 0.0

    def add(violation: Violation) -> None:
        broken.append((violation.rule, Breach(violation.detail, place, violation.index, at_ms)))

    tools = [tool.name for tool in answer.options.tools] if knows_tools else None
    checker = ContractChecker(tools, CheckMode.LENIENT, add, namespace=namespace)
    said_failure: LanguageModelError | None = None
    for event in answer.events:
        at_ms = event.at_ms
        match event.kind:
            case TranscriptEventKind.PART:
                checker.check(event.value, _position(event.value, script))
            case TranscriptEventKind.CANCELLED:
                checker.cancel()
            case TranscriptEventKind.FINISH:
                said_failure = getattr(event.value, "error", None)
            case TranscriptEventKind.REJECTED:
                checker.fail(event.value)
            case TranscriptEventKind.RESOLVED:
                if said_failure is not None:
                    detail = f"the response said that it failed ({type(said_failure).__name__}), and then resolved"
                    broken.append((RULES["stream.ends-once"], Breach(detail, place, None, at_ms)))
                checker.complete()
    # Where parts break rules themselves, an answer that shows nothing is their consequence.
    of_parts = any(rule.level is Level.MUST and finding.index is not None for rule, finding in broken)
    kept = tuple(row for row in broken if not (of_parts and row[0].id == "stream.visible-part"))
    return AnswerJudgement(answer, script, checker, kept)


def _position(part: Any, script: ScriptedAnswer | None) -> int | None:
    """The place of a part in the order of generation: that of the one block of the script that it can come from."""
    if script is None:
        return None
    places: list[int] = []
    if isinstance(part, ToolCallPart):
        called = Call(part.name, part.input)
        places = [place for place, block in enumerate(script.blocks) if block == called]
    elif isinstance(part, TextPart | ThinkingPart):
        kind = Say if isinstance(part, TextPart) else Think
        said: object = part.value  # a target may give what is no text
        text = said.strip() if isinstance(said, str) else ""
        holding = (isinstance(one, Echo) or (isinstance(one, kind) and text in one.text) for one in script.blocks)
        places = [place for place, holds in enumerate(holding) if text and holds]
    return places[0] if len(places) == 1 else None


# ---- Scenarios ----

ANY_WAY: Final = frozenset({Provocation.SANDWICH, Provocation.SCRIPTED, Provocation.DIRECTED})


@dataclass(frozen=True, slots=True)
class Scenario:
    """A conversation with a target.

    Attributes:
        slug: Its name; the same for ever.
        title: What happens, in a few words.
        script: What the model says, where it takes a script.
        request: What the conversation begins with.
        checks: The requirements that are judged, by id.
        actions: What the consumer does.
        needs: The names of the capabilities without which it is not applicable.
        ways: The ways by which it can be provoked.
        directive: What the prompt adds for a target that only gets the prompt, for the scripted model of the kit.
        provoked: Says why the answers do not show what the scenario is about, or an empty text if they do.
        copies: How many conversations run at the same time.
        asks_upstream: Whether a target that has a model server has to ask it.
    """

    slug: str
    title: str
    script: Script
    request: Request
    checks: tuple[str, ...]
    actions: tuple[Action, ...] = (Action("send"),)
    needs: frozenset[str] = frozenset()
    ways: frozenset[Provocation] = ANY_WAY
    directive: str = ""
    provoked: Callable[[list[Answer]], str] = field(default=lambda _: "")
    copies: int = 1
    asks_upstream: bool = True


ProbeFunction: TypeAlias = (
    "Callable[[LanguageModelChatProvider, LanguageModelChatInformation, float], Awaitable[Mapping[str, list[Breach]]]]"
)
"""Asks a provider something beside an answer, within so many seconds, and returns the findings by requirement."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A scenario without a conversation: the list of models, token counts.

    `ask` asks the provider and judges its reply; it raises :class:`NotJudged` where there is nothing to judge.
    """

    slug: str
    title: str
    checks: tuple[str, ...]
    ask: ProbeFunction
    is_of_parsers: bool = False


# ---- What a parser cannot show ----

_FAULTS: Final = frozenset({"split", "cut", "truncate"})
"""The faults that bytes can show without a connection."""

_NOT_JUDGED: Final[Mapping[str, str]] = {
    "request.": "a parser sends no request",
    "cancellation.": "a parser does not see cancellation",
    "failure.language-model-error": "a parser may raise any error",
    "failure.logged": "a parser may leave logging to its caller",
    "stream.visible-part": "a parser need not say that an answer shows nothing",
}
"""Why requirements are not judged, by the beginning of their ids."""


def unfit_for_parsers(row: Scenario | Probe) -> str:
    """Why a scenario cannot be shown to a parser; empty if it can."""
    if isinstance(row, Probe):
        return "" if row.is_of_parsers else "a parser lists no models and counts no tokens"
    if any("cancel" in action.name for action in row.actions):
        return "a parser does not see cancellation"
    faults = {choice.name for answer in row.script.answers for choice in parse_choices(answer.fault)}
    if faults - _FAULTS:
        return f"bytes alone do not show it: {', '.join(sorted(faults - _FAULTS))}"
    return ""


# ---- Checks ----


@dataclass(frozen=True, slots=True)
class Case:
    """The conversations of a scenario (several if they ran at the same time), with the judgement of each answer."""

    transcripts: Sequence[Transcript]
    judged: Sequence[Sequence[AnswerJudgement]]
    capabilities: Capabilities
    way: Provocation

    @classmethod
    def of(cls, transcripts: Sequence[Transcript], capabilities: Capabilities, way: Provocation) -> Case:
        """The conversations with a target of these capabilities, judged."""
        namespace = capabilities.call_id_namespace
        return cls(transcripts, [judge_transcript(one, namespace) for one in transcripts], capabilities, way)

    @property
    def answers(self) -> Iterator[tuple[int, AnswerJudgement]]:
        """Every answer, with its index in its transcript."""
        for judged in self.judged:
            yield from enumerate(judged)


class NotJudged(Exception):  # noqa: N818 - not an error: the reason why there is nothing to say
    """A check has nothing to judge; the message says why."""


Outcome: TypeAlias = "list[Breach]"
"""The findings of a check; none where the requirement is kept."""


def check(requirement_id: str, case: Case) -> Outcome:
    """The findings against one requirement.

    Raises:
        NotJudged: The transcripts do not hold what it takes to judge it.
    """
    reasons = (why for prefix, why in _NOT_JUDGED.items() if requirement_id.startswith(prefix))
    if case.way is Provocation.PARSER and (reason := next(reasons, "")):
        raise NotJudged(reason)
    if requirement_id not in RULES:
        return CHECKS[requirement_id](case)
    rule = RULES[requirement_id]
    findings = [finding for _, one in case.answers for finding in one.findings(requirement_id)]
    if rule.needs is Evidence.COMPLETION and any(one.answer.error is not None for _, one in case.answers):
        return findings  # a rejected response tells the person why there is nothing
    if not findings and not any(one.shows(rule) for _, one in case.answers):
        subject = requirement_id.partition(".")[0]
        raise NotJudged(f"needs {rule.needs}" if rule.needs is not None else f"no {subject} part came")
    return findings


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
                findings.append(Breach(what, place, None, end.at_ms, is_environment=not is_known))
    return findings


_OF_ENVIRONMENT: Final = (RequestLimitError, UpstreamConnectionError, UpstreamTimeoutError)
"""Errors that say nothing of the contract where the model server is not the kit's own."""


def _resolves(case: Case) -> Outcome:
    return [
        Breach(
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
        raise NotJudged("the model's answer is unknown")
    whole = [row for row in found if row[1].answer.error is None or row[2].ending is not Ending.DONE]
    if not whole:
        raise NotJudged("the answer was rejected")
    of_subject = {rule.id for rule in RULES.values() if rule.level is Level.MUST and rule.id.startswith(f"{subject}.")}
    kept = [row for row in whole if of_subject.isdisjoint(rule.id for rule, _ in row[1].broken)]
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
            differing = (n for n, (a, b) in enumerate(zip(wanted, got, strict=False)) if a != b)
            at = next(differing, min(len(wanted), len(got)))
            shown = slice(max(at - 10, 0), at + 30)
            what = f"the text differs at character {at}: {got[shown]!r}, the model said {wanted[shown]!r}"
            findings.append(Breach(what, place))
    return findings


def _calls_complete(case: Case) -> Outcome:
    findings = []
    for place, one, script in _scripted(case, "tool-call"):
        wanted = [(call.name, dict(call.arguments)) for call in script.calls]
        got = [(call.name, call.input) for call in one.answer.calls]
        lost = [call for call in wanted if call not in got]
        more = [call for call in got if call not in wanted]
        if lost:
            findings.append(Breach(f"the call {_shown(lost[0])} did not come; came: {_shown(got) or 'none'}", place))
        elif more or len(got) != len(wanted):
            findings.append(Breach(f"{len(got)} calls came, the model made {len(wanted)}: {_shown(got)}", place))
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
            findings.append(Breach(what, place, None, cancelled.at_ms))
    if not any(transcript.upstream for transcript in case.transcripts):
        raise NotJudged("needs both clocks: a target whose model server is the kit")
    return findings


def _stops_upstream(case: Case) -> Outcome:
    replies = [reply for transcript in case.transcripts for reply in transcript.upstream]
    if not replies:
        raise NotJudged("needs a target whose model server is the kit")
    return [
        Breach("the model server still sent, or held the connection open, after the answer was cancelled")
        for reply in replies
        if reply.outcome not in {"client_closed", "whole", "cut"}
    ]


def _rejects(case: Case) -> Outcome:
    return [
        Breach("the answer resolved as if it were whole", place, None, one.answer.end.at_ms)
        for place, one in case.answers
        if one.answer.end is not None and one.answer.end.kind is TranscriptEventKind.RESOLVED
    ]


_BEGIN: Final = 30
"""The characters that identify the beginning of a text of the kit."""


def _keeps_parts(case: Case) -> Outcome:
    findings = []
    for place, one in case.answers:
        begin = "" if one.script is None else one.script.text[:_BEGIN]
        if not one.answer.text:
            findings.append(Breach("the model had said text before it failed, and none of it came", place))
        elif begin and one.answer.text.count(begin) > 1:
            findings.append(Breach(f"the text before the failure came twice: it holds {begin!r} again", place))
    return findings


def _logged(case: Case) -> Outcome:
    rejected = [(place, one.answer) for place, one in case.answers if one.answer.error is not None]
    if not rejected:
        raise NotJudged("the answer was not rejected")
    return [
        Breach("nothing was logged, and the error that the answer was rejected with says nothing", place)
        for place, answer in rejected
        if not answer.has(TranscriptEventKind.LOGGED) and not str(answer.error)
    ]


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
        Breach(f"no request to the model holds the text {transcript.prompt!r}")
        for transcript in case.transcripts
        if not any(transcript.prompt in body for body in bodies)
    ]


def _tools_arrive(case: Case) -> Outcome:
    last = _bodies(case)[-1]
    names = {tool.name for _, one in case.answers for tool in one.answer.options.tools}
    return [Breach(f"the request to the model does not name the tool {name}") for name in names if name not in last]


def _images_arrive(case: Case) -> Outcome:
    picture = b64encode(PIXEL.data).decode()[:40]
    if any(picture in body for body in _bodies(case)):
        return []
    return [Breach("no request to the model holds the bytes of the image")]


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
        return [Breach(f"the last request to the model does not hold the result ({RESULT_WORD!r})")]
    return []


_COUNTS: Final = ("prompt_tokens", "completion_tokens", "total_tokens")


def _usage(case: Case) -> Outcome:
    """The usage comes as the data part that VS Code reads, or in the `Finish`, of which the host makes that part."""
    findings, seen = [], 0
    for place, one in case.answers:
        said = [
            _counts_in(part)
            for part in one.answer.parts
            if isinstance(part, DataPart) and part.mime_type == USAGE_MIME_TYPE
        ]
        if len(said) > 1:
            findings.append(Breach(f"{len(said)} parts with usage came", place))
        finish = one.answer.finish
        if not said and finish is not None and finish.usage is not None:
            usage = finish.usage
            counts = (usage.input_tokens, usage.output_tokens, usage.total_tokens)
            said = [dict(zip(_COUNTS, counts, strict=True))]
        seen += len(said)
        findings += [Breach(wrong, place) for counts in said if (wrong := _wrong_usage(counts, case.way))]
    if not seen:
        if case.capabilities.has("usage"):
            return [Breach("no usage came: neither a part with it, nor a `Finish`")]
        raise NotJudged("no usage came, and none is declared")
    return findings


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
                findings.append(Breach(f"the answer to {_mark(transcript.prompt)} holds {foreign[0]}", place))
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
"""What judges each requirement of the kit that a conversation shows. Probes judge the others."""


# ---- Requirements ----


@dataclass(frozen=True, slots=True)
class Requirement:
    """A requirement of a target: `id` is `<subject>.<name>`, `section` that of the contract, or `kit` for its own."""

    id: str
    text: str
    section: str = "kit"
    level: Level = Level.MUST


_KIT: Final[Mapping[str, Any]] = loads((files(__package__) / "kit_requirements.json").read_bytes())

KIT_REQUIREMENTS: Final[Mapping[str, Requirement]] = MappingProxyType(
    {
        one: Requirement(one, row["text"], row.get("section", "kit"), Level(row.get("level", Level.MUST)))
        for one, row in _KIT.items()
    }
)
"""The requirements that the kit adds, by id; the file leaves out what is as usual."""

REQUIREMENTS: Final[Mapping[str, Requirement]] = MappingProxyType(
    {rule.id: Requirement(rule.id, rule.text, rule.section, rule.level) for rule in RULES.values()}
    | dict(KIT_REQUIREMENTS)
)
"""All requirements by id: first the rules of the contract."""

HINTS: Final[Mapping[str, Hint]] = MappingProxyType(
    {**RULE_HINTS, **{one: Hint(row["seen"], tuple(row["causes"])) for one, row in _KIT.items()}}
)
"""The hint of every requirement, by its id."""


# ---- Requirement sets ----

CONTRACT_VERSION: Final = "1.0"
"""The version of the document that the rules are from."""

LATEST: Final = "1.0"
"""The name of the newest requirement set."""


def load(name: str = LATEST) -> frozenset[str]:
    """The ids of the checks that count, by the requirement set of that name; all others are shown and do not count.

    Raises:
        CallerError: There is none.
    """
    place = files("partstream_devtools.conformance").joinpath("requirements", f"{name}.json")
    if not place.is_file():
        raise CallerError(f"requirements: got {name!r}, expected {LATEST}")
    return frozenset(loads(place.read_bytes())["checks"])
