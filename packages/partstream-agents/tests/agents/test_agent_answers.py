"""What becomes of each output of a run, and how an answer ends."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from outputs_agent import Outputs
from pydantic import BaseModel
from scenarios import Chat

from partstream import (
    DataPart,
    Finish,
    LanguageModelError,
    Outcome,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    Unmapped,
    UpstreamHTTPError,
    Usage,
)
from partstream.lm.inner_activity import call_line, result_line
from partstream.lm.parts import STATEFUL_MARKER_MIME_TYPE, FinishReason, UnifiedFinishReason
from partstream_agents import (
    AgentFailedError,
    AgentFile,
    AgentSaidNothingError,
    ExternalCalls,
    FailureKind,
    Handover,
    InnerCall,
    InnerResult,
    Question,
    ResultObject,
    StepUsage,
    SubAgentText,
    as_model,
)
from rows import one_test_for

PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(8)
END = TextPart("End.")


def _answer(*outputs, fails=False, **options):
    return asyncio.run(Chat(as_model(Outputs(outputs), name="Agent", **options)).say("Hi", fails=fails))


@dataclass
class City:
    name: str
    people: int


class Town(BaseModel):
    name: str


RESULTS = {
    "a text": ("Plain.", "Plain."),
    "an object": ({"a": [1]}, '```json\n{\n  "a": [\n    1\n  ]\n}\n```'),
    "a dataclass": (City("Paris", 2), '```json\n{\n  "name": "Paris",\n  "people": 2\n}\n```'),
    "a model": (Town(name="Bonn"), '```json\n{\n  "name": "Bonn"\n}\n```'),
    "a number": (7, "```json\n7\n```"),
    "a text with a block": (["```"], '````json\n[\n  "```"\n]\n````'),
}


@one_test_for(("value", "text"), RESULTS.values(), ids=RESULTS)
def test_a_result_becomes_text(value, text):
    assert _answer(ResultObject(value)).text == text


def test_a_result_behind_text_is_a_paragraph_of_its_own():
    assert _answer(TextPart("See:"), ResultObject("this")).text == "See:\n\nthis"


LINES = {
    "no arguments": (InnerCall("1", "now", {}), "Called now()"),
    "arguments": (InnerCall("1", "find", {"query": "a b", "limit": 3}), 'Called find(query="a b", limit=3)'),
    "arguments as text": (InnerCall("1", "find", '{"query": 1}'), 'Called find({"query": 1})'),
    "long arguments": (InnerCall("1", "say", {"text": "x" * 900}), f'Called say(text="{"x" * 194}…)'),
    "arguments of several lines": (InnerCall("1", "say", "one\n two"), "Called say(one two)"),
    "other types": (InnerCall("1", "go", {"to": City("Bonn", 1)}), 'Called go(to={"name": "Bonn", "people": 1})'),
}


@one_test_for(("call", "line"), LINES.values(), ids=LINES)
def test_the_line_of_a_call(call, line):
    assert call_line(call) == line


RESULT_LINES = {
    "a text": (InnerResult("1", "f", "x" * 1200), "-> 1.2 kB"),
    "a list": (InnerResult("1", "f", ["a", "b", "c"]), "-> 3 results, 15 bytes"),
    "a list of one": (InnerResult("1", "f", ["a"]), "-> 1 result, 5 bytes"),
    "an object": (InnerResult("1", "f", {"a": 1}), "-> 8 bytes"),
    "nothing": (InnerResult("1", "f", None), "-> nothing"),
    "an empty text": (InnerResult("1", "f", ""), "-> nothing"),
    "a failure": (InnerResult("1", "f", "no such\nfile", is_error=True), "-> failed: no such file"),
    "what is no JSON": (InnerResult("1", "f", int), "-> 15 bytes"),
}


@one_test_for(("result", "line"), RESULT_LINES.values(), ids=RESULT_LINES)
def test_the_line_of_a_result(result, line):
    assert result_line(result) == line


def test_inner_work_stands_in_the_block_of_thinking_of_its_step_and_leaves_its_metadata():
    answer = _answer(
        ThinkingPart("Hm.", "thought-1", {"signature": "s"}),
        InnerCall("1", "find", {}, 1),
        StepUsage(Usage(1, 1)),
        InnerResult("1", "find", "x", step=1),
        ThinkingPart("So."),
        InnerCall("2", "find", {}, 2),
        Handover("Billing agent"),
        SubAgentText("billing", "I look."),
        END,
    )
    blocks = {}
    for part in answer.parts:
        if isinstance(part, ThinkingPart):
            blocks[part.id] = blocks.get(part.id, "") + part.value
    first, second = blocks
    assert first == "thought-1"
    assert second.startswith("activity-")
    assert second.endswith("-2")
    assert blocks[first] == "Hm.\n\nCalled find()\n\n-> 1 bytes\n\n"
    assert blocks[second] == "So.\n\nCalled find()\n\nHanded over to Billing agent\n\nI look."
    assert [part.metadata for part in answer.parts if isinstance(part, ThinkingPart) and part.metadata] == [
        {"signature": "s"}
    ]
    assert answer.text == "End."


def test_inner_work_as_text_stands_in_paragraphs_of_its_own():
    call, result = InnerCall("1", "find", {}), InnerResult("1", "find", "x")
    answer = _answer(TextPart("I look."), call, result, END, tools="text")
    assert answer.text == "I look.\n\n`Called find()`\n\n`-> 1 bytes`\n\nEnd."


def test_the_inspector_gets_calls_and_results_in_full_whatever_is_shown():
    call, result = InnerCall("1", "find", {"q": "x" * 900}, 2), InnerResult("1", "find", ["y" * 900], True, 2)
    for tools in ("thinking", "text", "off"):
        assert _answer(call, result, END, tools=tools).activity == [
            {"type": "call", "callId": "1", "name": "find", "step": 2, "arguments": {"q": "x" * 900}},
            {"type": "result", "callId": "1", "name": "find", "step": 2, "isError": True, "content": ["y" * 900]},
        ]


def test_what_is_too_long_even_for_programs_is_cut_and_says_so():
    [one] = _answer(InnerResult("1", "find", "x" * 1_000_000), END).activity
    assert one["isCut"] is True
    assert len(one["content"]) == 262_144


def test_a_file_is_data_that_a_host_shows():
    answer = _answer(AgentFile(PICTURE, "image/png"))
    assert DataPart(PICTURE, "image/png") in answer.parts
    assert answer.error is None


def test_the_usage_is_that_of_the_last_step():
    answer = _answer(StepUsage(Usage(100, 10)), StepUsage(Usage(150, 20)), END)
    answer.check((150, 20))
    assert answer.finish.usage == Usage(150, 20)


def test_calls_of_the_host_come_once_each_and_last_in_the_order_of_the_model():
    calls = (ToolCallPart("2", "edit_file", {}), ToolCallPart("1", "read_file", {}), ToolCallPart("2", "edit_file", {}))
    answer = _answer(ExternalCalls(calls), TextPart("I look."), Finish(Outcome.COMPLETED))
    assert [call.call_id for call in answer.calls] == ["2", "1"]
    assert isinstance(answer.parts[-1], ToolCallPart)
    assert answer.finish.reason.unified is UnifiedFinishReason.TOOL_CALLS


def test_a_call_of_no_tool_of_the_host_never_leaves_the_agent(caplog):
    calls = (ToolCallPart("1", "inner_tool", {}), ToolCallPart("2", "read_file", {}))
    with caplog.at_level("INFO", "partstream.agents"):
        assert [call.name for call in _answer(ExternalCalls(calls)).calls] == ["read_file"]
    assert "inner_tool" in caplog.text


def test_what_no_output_can_hold_is_counted_and_logged(caplog):
    with caplog.at_level("INFO", "partstream.agents"):
        _answer(Unmapped("new_event", {}), Unmapped("new_event", {}), END)
    assert "{'new_event': 2}" in caplog.text


EMPTY = {
    "nothing": (),
    "thinking alone": (ThinkingPart("Hm."),),
    "inner work alone": (InnerCall("1", "find", {}), InnerResult("1", "find", "x")),
    "white space": (TextPart(" \n"),),
    "a call of no tool of the host": (ExternalCalls((ToolCallPart("1", "inner_tool", {}),)),),
}


@one_test_for("outputs", EMPTY.values(), ids=EMPTY)
def test_an_answer_that_shows_nothing_is_an_error(outputs):
    reason = FinishReason(UnifiedFinishReason.LENGTH, "max_tokens")
    answer = _answer(*outputs, Finish(Outcome.INCOMPLETE, reason), fails=True)
    assert isinstance(answer.error, AgentSaidNothingError)
    assert "max_tokens" in str(answer.error)
    assert answer.finish.outcome is Outcome.FAILED


def test_an_answer_of_calls_that_nobody_can_run_names_them():
    answer = _answer(ExternalCalls((ToolCallPart("1", "made_up", {}),)), fails=True)
    assert isinstance(answer.error, AgentSaidNothingError)
    assert "only called unknown tools: 'made_up'" in str(answer.error)
    assert not answer.calls


def test_a_question_is_text_and_leaves_no_mark_where_nothing_is_kept():
    answer = _answer(Question("Which one?"))
    assert answer.text == "Which one?"
    assert not [part for part in answer.parts if getattr(part, "mime_type", "") == STATEFUL_MARKER_MIME_TYPE]


# ---- errors ----


class Stopped(Exception):  # noqa: N818 - as a framework calls it
    """An exception that the adapter's table names."""


class DerivedError(Stopped):
    """One that is named by its base class."""


class APIStatusError(Exception):
    """As the clients of model servers raise it."""

    status_code = 429


@one_test_for(
    ("error", "kind", "said"),
    [
        (Stopped("50 requests"), AgentFailedError, "50 requests"),
        (DerivedError("more"), AgentFailedError, "a limit of its run: more (outputs, DerivedError)"),
        (APIStatusError("spent"), UpstreamHTTPError, "HTTP 429: spent"),
        (ZeroDivisionError("in a tool"), ZeroDivisionError, "in a tool"),
        (LanguageModelError("ours"), LanguageModelError, "ours"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else None,
)
def test_an_exception_of_a_run_becomes_an_error_with_the_exception_as_its_cause(error, kind, said):
    answer = _answer(TextPart("Hel"), error, fails=True)
    assert answer.text == "Hel"
    assert isinstance(answer.error, kind)
    assert said in str(answer.error)
    assert error in (answer.error, answer.error.__cause__)


def test_a_key_of_the_environment_is_in_no_message(monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "sk-0123456789")
    answer = _answer(APIStatusError("https://host/v1?key=sk-0123456789 is refused"), fails=True)
    assert "sk-0123456789" not in str(answer.error)
    assert "https://host/v1?key=*** is refused" in str(answer.error)


def test_a_kind_of_failure_is_a_field():
    answer = _answer(Stopped("x"), fails=True)
    assert (answer.error.kind, answer.error.framework, answer.error.error_type) == (
        FailureKind.LIMIT,
        "outputs",
        "Stopped",
    )


def test_the_error_of_a_finish_ends_the_answer():
    answer = _answer(TextPart("Hel"), Finish(Outcome.FAILED, error=LanguageModelError("broke")), fails=True)
    assert str(answer.error) == "broke"
    assert answer.finish.error is answer.error


class _Stubborn(Outputs):
    """Swallows the cancellation of its run, as some frameworks do, and goes on."""

    async def run(self, agent, request):
        yield TextPart("First.")
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        yield TextPart("Late.")
        yield StepUsage(Usage(1, 2, 3))


def test_nothing_comes_after_a_cancellation_that_a_framework_swallows():
    chat = Chat(as_model(_Stubborn(), name="Agent"))
    answer = asyncio.run(chat.say("Hi", cancel_at=lambda part: isinstance(part, TextPart)))
    assert answer.text == "First."
