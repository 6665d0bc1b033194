"""The scenarios of tools: calls, their arguments, their results, and rounds of them."""

from __future__ import annotations

from typing import Final

from partstream.conformance.scenarios.judged import (
    CALLS,
    LIMA,
    OSLO,
    STREAM,
    TEXT,
    TOOLS,
    called,
    has_calls,
    has_rounds,
    has_text,
    said,
)
from partstream.devtools.conformance.checks import PLAYED, Scenario
from partstream.devtools.conformance.driving import Capability, Request
from partstream.devtools.conformance.scripts import Call, Say, Script, ScriptedAnswer, Think, read_moves
from partstream.lm.messages import ChatMessage, Tool
from partstream.lm.parts import TextPart, ToolCallPart, ToolResultPart

__all__ = ["TOOL_SCENARIOS"]

_NEEDS: Final = frozenset({Capability.TOOLS})
_WEATHER: Final = "What is the weather in Oslo? Call the tool get_weather with the city Oslo."
_REPORT: Final = ScriptedAnswer((Say("It has seventeen degrees in Oslo."),))
_ONE_ROUND: Final = Script((ScriptedAnswer((Say("Let me look."), OSLO)), _REPORT))
_THREE_ROUNDS: Final = Script(
    (ScriptedAnswer((OSLO,)), ScriptedAnswer((Say("And now the time."), LIMA)), ScriptedAnswer((OSLO,)), _REPORT)
)
_NESTED: Final = Call(
    "save",
    {
        "path": "Größe/東京 🚀.txt",
        "lines": ["", 'a "quoted" line\n', "tab\t"],
        "options": {"deep": {"er": [1, 2.5, True, None]}, "empty": {}},
    },
)
_SAVE: Final = Tool(
    "save",
    "Saves lines to a file.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "lines": {"type": "array", "items": {"type": "string"}},
            "options": {"type": "object"},
        },
    },
)
_LIST: Final = Tool("list_files", "Lists all files.", {"type": "object", "properties": {}})


def _result(kind: str, title: str) -> Scenario:
    return Scenario(
        f"tool-result-{kind}",
        title,
        _ONE_ROUND,
        Request(_WEATHER, tools=TOOLS),
        read_moves("send", f"answer_calls {kind}", "send"),
        (*STREAM, "text.complete", "request.results-arrive"),
        needs=_NEEDS,
        directive=called(OSLO),
        provoked=has_calls(1),
    )


def _history() -> tuple[ChatMessage, ...]:
    """A conversation in which the model called a tool that the request no longer has."""
    return (
        ChatMessage.user("What is the price of tea?"),
        ChatMessage.assistant([TextPart("I look it up."), ToolCallPart("old_1", "removed_tool", {"of": "tea"})]),
        ChatMessage.user([ToolResultPart("old_1", [TextPart("Tea costs seventeen.")])]),
        ChatMessage.assistant("Tea costs seventeen."),
    )


TOOL_SCENARIOS: Final = (
    Scenario(
        "one-call",
        "A text, then one call",
        said(Say("Let me look."), OSLO),
        Request(_WEATHER, tools=TOOLS),
        read_moves("send"),
        (*STREAM, *CALLS, "request.tools-arrive"),
        needs=_NEEDS,
        directive=called(OSLO),
        provoked=has_calls(1),
    ),
    Scenario(
        "two-calls",
        "Thinking, a text, then two calls at once",
        said(Think("I need both facts."), Say("Let me look that up."), OSLO, LIMA),
        Request("What is the weather in Oslo, and the time in Lima? Call both tools at once.", tools=TOOLS),
        read_moves("send"),
        ("stream.generation-order", *STREAM, *CALLS),
        needs=frozenset({Capability.TOOLS, Capability.PARALLEL_CALLS}),
        directive=called(OSLO, LIMA),
        provoked=has_calls(2),
    ),
    Scenario(
        "call-arguments",
        "Calls with nested, empty and unusual arguments",
        said(_NESTED, Call("list_files", {})),
        Request("Save the file, and list all files.", tools=(_SAVE, _LIST)),
        read_moves("send"),
        (*STREAM, *CALLS),
        needs=frozenset({Capability.TOOLS, Capability.PARALLEL_CALLS}),
        ways=PLAYED,
        provoked=has_calls(2),
    ),
    Scenario(
        "unknown-tool-in-history",
        "The conversation holds a call of a tool that the request does not have",
        Script((ScriptedAnswer((Say("Tea still costs the same."),)),)),
        Request("And now?", history=_history(), tools=TOOLS),
        read_moves("send"),
        (*STREAM, *TEXT, "request.text-arrives"),
        needs=_NEEDS,
        directive="scenario:text",
        provoked=has_text,
    ),
    _result("text", "A call, its result as text, and the answer to it"),
    _result("image", "A call, its result with an image, and the answer to it"),
    _result("error", "A call, its failure, and the answer to it"),
    _result("empty", "A call, an empty result, and the answer to it"),
    Scenario(
        "tool-loop",
        "Three rounds of calls, as an agent makes them",
        _THREE_ROUNDS,
        Request(_WEATHER, tools=TOOLS),
        read_moves("send", "answer_calls", "send", "answer_calls", "send", "answer_calls", "send"),
        (*STREAM, *CALLS, "text.complete", "request.results-arrive"),
        needs=_NEEDS,
        ways=PLAYED,
        provoked=has_rounds(3),
    ),
)
"""The scenarios of tools."""
