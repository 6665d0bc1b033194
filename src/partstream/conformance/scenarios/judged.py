"""The promises that scenarios judge, in groups, and what tells whether a scenario was provoked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.devtools.conformance.scripts import Call, Echo, Ending, Say, Script, ScriptedAnswer, Think
from partstream.lm.messages import Tool
from partstream.lm.parts import ThinkingPart

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.devtools.conformance.transcript import Answer

__all__ = [
    "CALLS",
    "CANCELLED",
    "DATA",
    "ENDED",
    "FAILED",
    "LIMA",
    "OSLO",
    "STREAM",
    "TEXT",
    "THINKING",
    "TOOLS",
    "called",
    "has_calls",
    "has_parts",
    "has_rounds",
    "has_text",
    "has_thinking",
    "said",
]

ENDED: Final = (
    "stream.nothing-after-completion",
    "stream.ends-once",
    "stream.ends",
    "stream.visible-part",
    "part.known-class",
    "part.no-tool-result",
)
"""What every answer keeps, whether the provider rejects it or not."""
STREAM: Final = (*ENDED, "stream.resolves")
TEXT: Final = ("text.string-value", "text.utf-8", "text.complete")
THINKING: Final = ("thinking.string-value", "thinking.string-id", "thinking.json-metadata")
CALLS: Final = (
    "tool-call.non-empty-call-id",
    "tool-call.non-empty-name",
    "tool-call.known-tool",
    "tool-call.object-input",
    "tool-call.json-input",
    "tool-call.atomic",
    "tool-call.unique-call-id",
    "tool-call.namespaced-call-id",
    "tool-call.complete",
)
DATA: Final = ("data.bytes", "data.media-type", "usage.as-reported")
CANCELLED: Final = ("cancellation.nothing-after", "cancellation.resolves", "stream.ends")
FAILED: Final = ("failure.language-model-error", "failure.rejects", "stream.ends-once", "stream.ends")

_CITY: Final = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS: Final = (
    Tool("get_weather", "Says the weather in a city.", _CITY),
    Tool("get_time", "Says the time in a city.", _CITY),
)
"""The tools of the kit's requests."""

OSLO: Final = Call("get_weather", {"city": "Oslo"})
LIMA: Final = Call("get_time", {"city": "Lima"})


def said(*blocks: Say | Think | Call | Echo, ending: Ending = Ending.DONE, fault: str = "") -> Script:
    """A script of one answer."""
    return Script((ScriptedAnswer(blocks, ending, fault),))


def called(*calls: Call) -> str:
    """The directive to the scripted model of the kit that has it make calls."""
    texts = (f'call:{call.name}{{"city": "{call.arguments.get("city", "Oslo")}"}}' for call in calls)
    return " ".join(("scenario:tools", *texts))


def has_parts(answers: list[Answer]) -> str:
    """Whether anything came."""
    return "" if any(answer.parts_before_cancel for answer in answers) else "nothing came before it was cancelled"


def has_text(answers: list[Answer]) -> str:
    """Whether an answer has text."""
    return "" if any(answer.text for answer in answers) else "no text came"


def has_thinking(answers: list[Answer]) -> str:
    """Whether an answer has thinking."""
    found = any(isinstance(part, ThinkingPart) for answer in answers for part in answer.parts)
    return "" if found else "the model did not think"


def has_calls(count: int) -> Callable[[list[Answer]], str]:
    """Whether an answer has so many calls."""

    def provoked(answers: list[Answer]) -> str:
        most = max((len(answer.calls) for answer in answers), default=0)
        return "" if most >= count else f"the model made {most} calls in one answer, expected {count}"

    return provoked


def has_rounds(count: int) -> Callable[[list[Answer]], str]:
    """Whether so many answers have calls."""

    def provoked(answers: list[Answer]) -> str:
        rounds = sum(bool(answer.calls) for answer in answers)
        return "" if rounds >= count else f"the model called a tool in {rounds} answers, expected {count}"

    return provoked
