"""The table of the fixed scenarios, in the order of reports."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from partstream.conformance.capabilities import Capability
from partstream.conformance.driving import Request
from partstream.conformance.moves import read_moves
from partstream.conformance.scenarios.scenario import Probe, Scenario
from partstream.conformance.scripts import Call, Echo, Ending, Say, Script, ScriptedAnswer, Think
from partstream.messages import ChatMessage, Tool
from partstream.parts import TextPart, ThinkingPart, ToolCallPart, ToolResultPart

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.conformance.transcript import Answer

__all__ = ["SCENARIOS", "TOOLS", "any_script"]

AnyScenario: TypeAlias = Scenario | Probe

_CITY: Final = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS: Final = (
    Tool("get_weather", "Says the weather in a city.", _CITY),
    Tool("get_time", "Says the time in a city.", _CITY),
)
"""The tools of the kit's requests."""

_OSLO: Final = Call("get_weather", {"city": "Oslo"})
_LIMA: Final = Call("get_time", {"city": "Lima"})
_CALLED: Final = 'scenario:tools call:get_weather{"city": "Oslo"}'
_SAID: Final = Say("The weather in Oslo is fine. Grüße, 你好, 👋 and good bye.")
_LONG: Final = Say("".join(f"word{number} " for number in range(600)) + "end.")

# ---- what is judged ----

_STREAM: Final = (
    "stream.nothing-after-completion",
    "stream.ends-once",
    "stream.ends",
    "stream.visible-part",
    "part.known-class",
    "part.no-tool-result",
)
_TEXT: Final = ("text.string-value", "text.utf-8", "text.complete")
_THINKING: Final = ("thinking.string-value", "thinking.string-id", "thinking.json-metadata")
_CALLS: Final = (
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
_DATA: Final = ("data.bytes", "data.media-type", "usage.as-reported")
_CANCELLED: Final = ("cancellation.nothing-after", "cancellation.resolves", "stream.ends")
_FAILED: Final = ("failure.language-model-error", "failure.rejects", "stream.ends-once", "stream.ends")


# ---- whether a scenario was provoked ----


def _has_text(answers: list[Answer]) -> str:
    return "" if any(answer.text for answer in answers) else "no text came"


def _has_thinking(answers: list[Answer]) -> str:
    found = any(isinstance(part, ThinkingPart) for answer in answers for part in answer.parts)
    return "" if found else "the model did not think"


def _has_calls(count: int) -> Callable[[list[Answer]], str]:
    def provoked(answers: list[Answer]) -> str:
        most = max((len(answer.calls) for answer in answers), default=0)
        return "" if most >= count else f"the model made {most} calls at once, expected {count}"

    return provoked


def _has_rounds(count: int) -> Callable[[list[Answer]], str]:
    def provoked(answers: list[Answer]) -> str:
        rounds = sum(bool(answer.calls) for answer in answers)
        return "" if rounds >= count else f"the model called a tool in {rounds} rounds, expected {count}"

    return provoked


# ---- rows ----


def _said(*blocks: Say | Think | Call | Echo, ending: Ending = Ending.DONE, fault: str = "") -> Script:
    return Script((ScriptedAnswer(blocks, ending, fault),))


def _history() -> tuple[ChatMessage, ...]:
    """A conversation in which the model called a tool that the request no longer has."""
    return (
        ChatMessage.user("What is the price of tea?"),
        ChatMessage.assistant([TextPart("I look it up."), ToolCallPart("old_1", "removed_tool", {"of": "tea"})]),
        ChatMessage.user([ToolResultPart("old_1", [TextPart("Tea costs seventeen.")])]),
        ChatMessage.assistant("Tea costs seventeen."),
    )


_ROWS: Final[tuple[AnyScenario, ...]] = (
    Scenario(
        "text",
        "A short text",
        _said(_SAID),
        Request("Say something kind about Oslo."),
        read_moves("send"),
        (*_STREAM, *_TEXT, *_DATA, "request.text-arrives"),
        directive="scenario:text",
        provoked=_has_text,
    ),
    Scenario(
        "two-calls",
        "Thinking, a text, then two calls at once",
        _said(Think("I need both facts."), Say("Let me look that up."), _OSLO, _LIMA),
        Request("What is the weather in Oslo, and the time in Lima? Call both tools at once.", tools=TOOLS),
        read_moves("send"),
        ("stream.generation-order", *_STREAM, *_CALLS, "request.tools-arrive"),
        needs=frozenset({Capability.TOOLS, Capability.PARALLEL_CALLS}),
        directive=f'{_CALLED} call:get_time{{"city": "Lima"}}',
        provoked=_has_calls(2),
    ),
    Scenario(
        "cancel-in-text",
        "Cancelled in the middle of a text, while the model server waits",
        _said(_LONG, fault="stall"),
        Request("Write a long story about Oslo."),
        read_moves("send", "cancel_after 2"),
        (*_CANCELLED, "text.as-received", "cancellation.stops-upstream"),
        directive="scenario:long=200 pace:20",
        provoked=_has_text,
    ),
)

SCENARIOS: Final[Mapping[str, AnyScenario]] = MappingProxyType({row.slug: row for row in _ROWS})
"""Every scenario by its slug."""


def any_script() -> Script:
    """A script for a target that needs one, whatever it is asked."""
    return next(row.script for row in _ROWS if isinstance(row, Scenario))
