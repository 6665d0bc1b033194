"""Judges recorded answers by the rules of the contract; drives nothing and prints nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from partstream.devtools.conformance.scripts import Call, Echo, Say, Think
from partstream.devtools.conformance.transcript import TranscriptEventKind
from partstream.lm.contract import RULES, CheckMode, ContractChecker, Level
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.devtools.conformance.scripts import Block, Script, ScriptedAnswer
    from partstream.devtools.conformance.transcript import Answer, Transcript
    from partstream.errors import LanguageModelError
    from partstream.lm.contract import Rule, Violation

__all__ = ["AnswerJudgement", "BrokenPromise", "judge_answer", "judge_transcript"]


@dataclass(frozen=True, slots=True)
class BrokenPromise:
    """A broken promise.

    Attributes:
        detail: What the target did.
        answer: The index of the answer in the transcript, from 0, or None.
        index: The index of the part in the answer, from 0, or None.
        at_ms: When, in milliseconds since the request, or None.
        is_environment: Whether a limit of time or a connection is to blame rather than the target.
    """

    detail: str
    answer: int | None = None
    index: int | None = None
    at_ms: float | None = None
    is_environment: bool = False


@dataclass(frozen=True, slots=True)
class AnswerJudgement:
    """What the contract says of one answer.

    Attributes:
        answer: The answer.
        script: What the model was to say, or None.
        checker: The checker that has seen the whole answer.
        broken: The findings by rule, in order.
    """

    answer: Answer
    script: ScriptedAnswer | None
    checker: ContractChecker
    broken: Sequence[tuple[Rule, BrokenPromise]]

    def findings(self, rule_id: str) -> list[BrokenPromise]:
        """The findings against one rule."""
        return [finding for rule, finding in self.broken if rule.id == rule_id]

    def breaks_subject(self, subject: str) -> bool:
        """Whether a MUST of a subject is broken, such as `tool-call`."""
        return any(rule.level is Level.MUST and rule.id.startswith(f"{subject}.") for rule, _ in self.broken)

    def shows(self, rule: Rule) -> bool:
        """Whether the answer holds what it takes to judge the rule: a rule about calls says nothing without a call."""
        if not self.checker.judges(rule):
            return False
        part_class = _SUBJECTS.get(rule.id.partition(".")[0])
        return part_class is None or any(isinstance(part, part_class) for part in self.answer.parts)


_SUBJECTS: dict[str, type] = {
    "text": TextPart,
    "thinking": ThinkingPart,
    "tool-call": ToolCallPart,
    "data": DataPart,
    "part": object,
}
"""The class of parts that the rules of a subject speak of."""


def judge_transcript(transcript: Transcript, namespace: str | None = None) -> list[AnswerJudgement]:
    """Judges every answer of a transcript.

    Args:
        transcript: The transcript.
        namespace: The prefix that the target has declared for its call ids, or None.
    """
    return [
        judge_answer(answer, place, namespace, _script_of(answer, transcript.script))
        for place, answer in enumerate(transcript.answers)
    ]


def judge_answer(
    answer: Answer, place: int = 0, namespace: str | None = None, script: ScriptedAnswer | None = None
) -> AnswerJudgement:
    """Judges one answer by all rules.

    Args:
        answer: The answer.
        place: Its index in its transcript.
        namespace: The prefix that the target has declared for its call ids, or None.
        script: What the model was to say, or None: with it, the order of the parts can be judged.
    """
    broken: list[tuple[Rule, BrokenPromise]] = []
    at_ms = 0.0

    def add(violation: Violation) -> None:
        broken.append((violation.rule, BrokenPromise(violation.detail, place, violation.index, at_ms)))

    tools = [tool.name for tool in answer.options.tools]
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
                    broken.append((RULES["stream.ends-once"], BrokenPromise(detail, place, None, at_ms)))
                checker.complete()
    return AnswerJudgement(answer, script, checker, tuple(_without_consequences(broken)))


def _without_consequences(broken: list[tuple[Rule, BrokenPromise]]) -> list[tuple[Rule, BrokenPromise]]:
    """The findings without that of an answer in which nothing can be seen because its parts break rules themselves."""
    of_parts = any(rule.level is Level.MUST and finding.index is not None for rule, finding in broken)
    return [row for row in broken if not (of_parts and row[0].id == "stream.visible-part")]


def _script_of(answer: Answer, script: Script | None) -> ScriptedAnswer | None:
    return None if script is None else script.answer_to(answer.messages)


def _position(part: Any, script: ScriptedAnswer | None) -> int | None:
    """The place of a part in the order of generation: that of the one block of the script that it can come from."""
    if script is None:
        return None
    places: list[int] = []
    if isinstance(part, ToolCallPart):
        called = Call(part.name, part.input)
        places = [place for place, block in enumerate(script.blocks) if block == called]
    elif isinstance(part, TextPart | ThinkingPart):
        kind, text = Say if isinstance(part, TextPart) else Think, _text_of(part)
        places = [place for place, block in enumerate(script.blocks) if text and _holds(block, kind, text)]
    return places[0] if len(places) == 1 else None


def _holds(block: Block, kind: type[Say | Think], text: str) -> bool:
    return isinstance(block, Echo) or (isinstance(block, kind) and text in block.text)


def _text_of(part: Any) -> str:
    """The text of a part without spaces around it; empty for a value that is no string."""
    return part.value.strip() if isinstance(part.value, str) else ""
