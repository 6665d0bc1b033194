"""An exercise: what the model says and what the consumer does, as one value that a failure is made of.

An exercise is generated, performed, made smaller and replayed; it is plain data, JSON in a file, and knows no target.
What judges its conversation: every rule of the contract, the requirements that hold for any script, and that the same
answer brings the same parts when its bytes are cut elsewhere, when it is asked once more, and over another protocol. No
requirement set counts these last requirements yet.

Shrinking works on values alone. The shrinking of Hypothesis replays its own choices and gives up with an error where a
target does not answer alike twice. This one only asks whether the smaller exercise still fails, within a limit of time
and of tries, so it shrinks a fixed scenario and a kept failure just as well, and a flaky target costs tries, not the
result.
"""

from __future__ import annotations
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import dataclass, replace
from partstream.errors import CallerError
from partstream.lm.contract import RULES
from partstream.lm.parts import USAGE_MIME_TYPE, DataPart
from partstream_devtools.conformance import checks
from partstream_devtools.conformance.driver import Request
from partstream_devtools.conformance.scenarios import TOOLS
from partstream_devtools.conformance.scripts import Action, Call, Echo, Script
from partstream_devtools.conformance.transcript import Answer, Transcript, TranscriptEventKind
from partstream_devtools.testing.scripted_model import pieces

if TYPE_CHECKING:
    from partstream_devtools.conformance.targets import Tested

# ---- Exercises ----

DEFAULT_PROMPT = "Go on."
"""What the user of a generated conversation says."""


class Relation(StrEnum):
    """Another conversation that has to bring the same parts."""

    NONE = "none"
    CUT = "cut"
    """The same, with the bytes of the model server cut everywhere."""
    AGAIN = "again"
    """The same once more, in a new conversation."""
    OTHER = "other"
    """The same over another protocol."""


@dataclass(frozen=True, slots=True)
class Exercise:
    """One conversation before it happens.

    Attributes:
        actions: What the consumer does.
        script: What the model says, or None for a target that cannot be given a script.
        prompt: What the user says.
        relation: The other conversation that has to bring the same parts.
    """

    actions: tuple[Action, ...]
    script: Script | None
    prompt: str = DEFAULT_PROMPT
    relation: Relation = Relation.NONE

    @property
    def size(self) -> int:
        """How much a reader has to follow: actions, and events and faults of the upstream."""
        answers = () if self.script is None else self.script.answers
        blocks = (block for answer in answers for block in answer.blocks)
        events = sum(1 if isinstance(block, Call | Echo) else len(pieces(block.text)) for block in blocks)
        faults = sum(len([*filter(None, answer.fault.split(","))]) for answer in answers)
        return len(self.actions) + events + faults

    def to_json(self) -> dict[str, Any]:
        """The exercise as JSON values, in the fields of a transcript."""
        return {
            "prompt": self.prompt,
            "script": None if self.script is None else self.script.to_json(),
            "moves": [str(action) for action in self.actions],
            "relation": self.relation.value,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Exercise:
        """Reads an exercise from a transcript or from :meth:`to_json`.

        Raises:
            CallerError: The value holds no exercise; the message says what is wrong with it.
        """
        actions, script, prompt = value.get("moves"), value.get("script"), value.get("prompt", DEFAULT_PROMPT)
        if not isinstance(actions, list) or not all(isinstance(one, str) for one in actions):
            raise CallerError(f"moves: got {str(actions)[:80]}, expected a list of texts such as 'send'")
        if not isinstance(prompt, str):
            raise CallerError(f"prompt: got {str(prompt)[:80]}, expected a text")
        if script is not None and not isinstance(script, dict):
            raise CallerError(f"script: got {str(script)[:80]}, expected an object or null")
        relation = value.get("relation", Relation.NONE.value)
        if relation not in {one.value for one in Relation}:
            raise CallerError(f"relation: got {str(relation)[:80]!r}, expected one of {', '.join(Relation)}")
        played = None if script is None else Script.from_json(script)
        return cls(tuple(map(Action.read, actions)), played, prompt, Relation(relation))


# ---- The requirements of generated conversations ----

SAME_PARTS: Final[Mapping[Relation, str]] = MappingProxyType(
    {
        Relation.CUT: "stream.same-when-cut",
        Relation.AGAIN: "stream.same-again",
        Relation.OTHER: "stream.same-over-protocols",
    }
)
"""The requirement that each relation is about."""

# ---- Performing ----

GENERATED: Final = "generated"
"""The slug of the scenario of generated conversations."""

JUDGED: Final = (*RULES, "stream.ends", "text.complete", "tool-call.complete", *SAME_PARTS.values())
"""The requirements that a generated conversation can break."""

_CUT: Final = "split=3"


@dataclass(frozen=True, slots=True)
class Exercised:
    """What an exercise has shown: the first finding against each broken requirement, and the judged requirements."""

    transcript: Transcript
    broken: Mapping[str, checks.Breach]
    judged: frozenset[str] = frozenset()


async def perform(tested: Tested, exercise: Exercise, other: Tested | None = None) -> Exercised:
    """Has the conversations of an exercise and judges them.

    `other` is the same target over another protocol, for exercises with that relation; None leaves them unrelated.
    """
    transcript = await _converse(tested, exercise)
    findings = judged_requirements(tested, transcript)
    if transcript.script is not None:
        # Each answer is compared with the one before it to the same request.
        answers = transcript.answers
        for place in range(1, len(answers)):
            if answers[place].messages == answers[place - 1].messages:
                found = findings.setdefault(SAME_PARTS[Relation.AGAIN], [])
                _compare(answers[place - 1], answers[place], place, _ALL_FIELDS, found)
        related = await _related(tested, exercise, other)
        if related is not None:
            fields = _WITHOUT_THINKING if exercise.relation is Relation.OTHER else _ALL_FIELDS
            pairs = zip(transcript.answers, related.answers, strict=False)
            for place, (one, another) in enumerate(pairs):
                _compare(one, another, place, fields, findings.setdefault(SAME_PARTS[exercise.relation], []))
    of_target = {
        requirement: [one for one in found if not one.is_environment] for requirement, found in findings.items()
    }
    broken = {requirement: found[0] for requirement, found in of_target.items() if found}
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
    transcript = Transcript(GENERATED, exercise.actions, exercise.script, exercise.prompt)
    request = Request(exercise.prompt, tools=TOOLS if tested.capabilities.tool_calling else ())
    await tested.converse([transcript], request)
    return transcript


def judged_requirements(tested: Tested, transcript: Transcript) -> dict[str, list[checks.Breach]]:
    """The findings against each requirement that a conversation says something about."""
    case = checks.Case.of([transcript], tested.capabilities, tested.way)
    findings: dict[str, list[checks.Breach]] = {}
    for requirement in JUDGED:
        if requirement not in SAME_PARTS.values():
            with suppress(checks.NotJudged):
                findings[requirement] = checks.check(requirement, case)
    return findings


# ---- The same parts ----

_WITHOUT_THINKING: Final = ("text", "calls")
"""What every protocol has a place for; not every one has thinking."""
_VERBS: Final = {"calls": "differ", "data": "differ"}
_ALL_FIELDS: Final = (*_WITHOUT_THINKING, "thinking", "data", "end")


def _compare(one: Answer, other: Answer, place: int, fields: tuple[str, ...], found: list[checks.Breach]) -> None:
    """Adds the first field in which two answers differ; where one is cancelled depends on the speed of both."""
    incomparable = (TranscriptEventKind.CANCELLED, TranscriptEventKind.UNFINISHED)
    if any(answer.has(kind) for answer in (one, other) for kind in incomparable):
        return
    first, second = _shape(one), _shape(other)
    differing = next((field for field in fields if first[field] != second[field]), None)
    if differing is not None:
        said = f"first {_shown(first[differing])}, then {_shown(second[differing])}"
        found.append(checks.Breach(f"the {differing} {_VERBS.get(differing, 'differs')}: {said}", place))


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


# ---- Shrinking ----

MOST_TRIES: Final = 400
"""The most exercises that are tried for one failure."""

_PLAINEST: Final = "a"


async def shrink(
    exercise: Exercise,
    still_fails: Callable[[Exercise], Awaitable[bool]],
    *,
    has_time: Callable[[], bool] = lambda: True,
    most_tries: int = MOST_TRIES,
) -> Exercise:
    """The smallest exercise found that still fails, within so many tries and as long as `has_time` holds."""
    seen = {_key(exercise)}
    tries = 0
    progressed = True
    while progressed:
        progressed = False
        for candidate in smaller_exercises(exercise):
            if _key(candidate) in seen:
                continue
            if tries >= most_tries or not has_time():
                return exercise
            seen.add(_key(candidate))
            tries += 1
            if await still_fails(candidate):
                exercise, progressed = candidate, True
                break
    return exercise


def smaller_exercises(exercise: Exercise) -> Iterator[Exercise]:
    """Exercises with less in them, those with much less first: each has one smaller value in its JSON."""
    said = exercise.to_json()
    for name in ("moves", "script", "prompt", "relation"):
        for smaller in _smaller_values(name, said[name]):
            try:
                made = Exercise.from_json({**said, name: smaller})
            except CallerError:  # such as a block without its kind
                continue
            if made.actions:
                yield made


def _key(exercise: Exercise) -> str:
    return str(exercise.to_json())


def _without_some(items: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """The items without halves, quarters ... and single ones, from the end: what comes first leads to the rest."""
    size = len(items)
    while size > 0:
        for end in range(len(items), 0, -size):
            yield (*items[: max(end - size, 0)], *items[end:])
        size //= 2


def _smaller_values(name: str, value: Any) -> Iterator[Any]:
    """Smaller values than that of a field."""
    if isinstance(value, dict):
        yield from map(dict, _without_some([*value.items()]))
        for key, item in value.items():
            yield from ({**value, key: smaller} for smaller in _smaller_values(key, item))
    elif isinstance(value, list):
        yield from map(list, _without_some(value))
        for place, item in enumerate(value):
            yield from ([*value[:place], smaller, *value[place + 1 :]] for smaller in _smaller_values(name, item))
    elif isinstance(value, str):
        yield from _SMALLER_TEXTS.get(name, _smaller_texts)(value)


def _smaller_texts(text: str) -> Iterator[str]:
    """Fewer words, then a plainer one."""
    words = pieces(text)
    yield from map("".join, _without_some(words))
    if len(words) == 1 and text != _PLAINEST:
        yield _PLAINEST
        yield text[: len(text) // 2]


def _plainer_moves(move: str) -> Iterator[str]:
    *before, last = move.split(" ")
    if last.isdecimal():
        for lower in dict.fromkeys((0, int(last) // 2, int(last) - 1)):
            if 0 <= lower < int(last):
                yield " ".join((*before, str(lower)))
    elif before:
        yield " ".join(before)


_SMALLER_TEXTS: Final[Mapping[str, Callable[[str], Iterable[str]]]] = {
    "moves": _plainer_moves,
    "say": lambda text: filter(None, _smaller_texts(text)),  # an empty text is another one
    "think": lambda text: filter(None, _smaller_texts(text)),
    "call": lambda _: (),
    "ending": lambda _: (),
    "fault": lambda faults: map(",".join, _without_some(faults.split(","))),
    "prompt": lambda _: (_PLAINEST,),
    "relation": lambda _: (Relation.NONE.value,),
}
"""Smaller texts of the fields of an exercise; those of all other fields are arguments of a call."""
