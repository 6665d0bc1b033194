"""Events of LangGraph as outputs, as they were recorded, without a framework's loop."""

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from partstream import FinishReason, ToolCallPart, UnifiedFinishReason
from partstream.lm.inner_activity import InnerCall, InnerResult
from partstream.lm.outputs import Finish, Outcome, Unmapped
from partstream.lm.parts import TextPart, ThinkingPart
from partstream_agents.adapter import ApprovalAsked, Decision, ExternalCalls, Handover, Question, StepUsage
from partstream_agents.langchain.events import PLACEHOLDER, GraphEvents, asked_of, has_placeholder, resume_values
from partstream_agents.langchain.messages import finish_reason_of
from rows import one_test_for

MODEL = {"langgraph_node": "model"}


def said(kind: str = "AIMessageChunk", **fields: Any) -> Any:
    """A message of a model, with the fields that are read."""
    defaults: dict[str, Any] = {
        "type": kind,
        "id": "m1",
        "content": "",
        "additional_kwargs": {},
        "tool_calls": [],
        "tool_call_chunks": [],
        "usage_metadata": None,
        "response_metadata": {},
        "content_blocks": [],
    }
    return SimpleNamespace(**{**defaults, **fields})


def result(call_id: str, content: Any, **fields: Any) -> Any:
    """A message of a tool."""
    return SimpleNamespace(
        **{"type": "tool", "id": f"t-{call_id}", "tool_call_id": call_id, "content": content, "name": None, **fields}
    )


def call(call_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": call_id, "name": name, "args": arguments, "type": "tool_call"}


def event(mode: str, data: Any, namespace: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"type": mode, "ns": namespace, "data": data}


def run(events: list[Any], **reader: Any) -> list[Any]:
    graph = GraphEvents(**reader)
    return [output for one in events for output in graph.read(one)] + graph.end()


STEP = [
    ("values", {"messages": []}),
    ("messages", (said(content_blocks=[{"type": "reasoning", "reasoning": "Hm."}], content=[1]), MODEL)),
    ("messages", (said(content="I search."), MODEL)),
    ("messages", (said(usage_metadata={"input_tokens": 5, "output_tokens": 3}, chunk_position="last"), MODEL)),
    ("updates", {"model": {"messages": [said("ai", tool_calls=[call("c1", "search", q="x")])]}}),
    ("updates", {"tools": {"messages": [result("c1", "found", name="search")]}}),
    ("messages", (said(id="m2", content="Done."), MODEL)),
]
SHOWN = [ThinkingPart, TextPart, StepUsage, InnerCall, InnerResult, TextPart, Finish]


@pytest.mark.parametrize("is_old", [False, True], ids=["v2", "tuples"])
def test_a_run_reads_the_same_in_both_forms_of_events(is_old: bool):
    events = [((), mode, data) if is_old else event(mode, data) for mode, data in STEP]
    assert [type(one) for one in run(events)] == SHOWN


def test_a_message_that_comes_again_is_read_once():
    repeated = said("ai", id="m1", content="I search.", tool_calls=[call("c1", "search")])
    events = [
        event("values", {"messages": []}),
        event("messages", (said(content="I search."), MODEL)),
        event("messages", (repeated, MODEL)),
        event("updates", {"model": {"messages": [repeated]}}),
        event("updates", {"HumanInTheLoopMiddleware.after_model": {"messages": [repeated]}}),
    ]
    assert [type(one) for one in run(events)] == [TextPart, InnerCall, Finish]


def test_messages_that_the_run_begins_with_are_no_news():
    old = said("ai", id="old", content="before", tool_calls=[call("c0", "search")])
    events = [
        event("values", {"messages": [old, result("c0", "found")]}),
        event("messages", (old, MODEL)),
        event("updates", {"sub": {"messages": [old, result("c0", "found")]}}),
    ]
    assert [type(one) for one in run(events)] == [Finish]


def test_calls_of_the_host_come_out_once_at_the_end_in_the_models_order():
    calls = [call("c1", "read_file", path="a"), call("c2", "search"), call("c3", "edit_file", path="b")]
    events = [
        event("values", {"messages": []}),
        event("updates", {"model": {"messages": [said("ai", tool_calls=calls)]}}),
        event("updates", {"tools": {"messages": [result("c3", PLACEHOLDER)]}}),
        event("updates", {"tools": {"messages": [result("c2", "found"), result("c1", PLACEHOLDER)]}}),
        event("updates", {"tools": {"messages": [result("c1", PLACEHOLDER)]}}),
    ]
    outputs = run(events, host_tools=["read_file", "edit_file"])
    assert [type(one) for one in outputs] == [InnerCall, InnerResult, ExternalCalls, Finish]
    assert outputs[2].calls == (
        ToolCallPart("c1", "read_file", {"path": "a"}),
        ToolCallPart("c3", "edit_file", {"path": "b"}),
    )


def test_a_failed_result_is_one():
    events = [
        event("updates", {"model": {"messages": [said("ai", tool_calls=[call("c1", "search")])]}}),
        event("updates", {"tools": {"messages": [result("c1", [{"type": "text", "text": "no"}], status="error")]}}),
    ]
    assert run(events)[1] == InnerResult("c1", "search", "no", is_error=True, step=1)


@pytest.mark.parametrize(
    "odd", ["text", ("two", "values"), {"type": "debug", "ns": (), "data": {}}], ids=["text", "tuple", "mode"]
)
def test_what_is_not_understood_is_counted(odd: Any):
    assert [type(one) for one in run([odd])] == [Unmapped, Finish]


def test_an_update_without_messages_is_no_news():
    assert run([event("updates", {"node": None, "other": {"count": 1}, "__metadata__": {"cached": True}})]) == [
        Finish(Outcome.COMPLETED)
    ]


@one_test_for(
    ("metadata", "unified"),
    [
        ({"finish_reason": "stop"}, UnifiedFinishReason.STOP),
        ({"finish_reason": "STOP"}, UnifiedFinishReason.STOP),
        ({"stop_reason": "end_turn"}, UnifiedFinishReason.STOP),
        ({"finish_reason": "MAX_TOKENS"}, UnifiedFinishReason.LENGTH),
        ({"done_reason": "length"}, UnifiedFinishReason.LENGTH),
        ({"stop_reason": "tool_use"}, UnifiedFinishReason.TOOL_CALLS),
        ({"finish_reason": "SAFETY"}, UnifiedFinishReason.CONTENT_FILTER),
        ({"status": "completed"}, UnifiedFinishReason.STOP),
        ({"finish_reason": "eggs"}, UnifiedFinishReason.OTHER),
    ],
)
def test_reasons_of_all_packages_are_read(metadata: dict[str, str], unified: UnifiedFinishReason):
    [raw] = metadata.values()
    assert finish_reason_of(metadata) == FinishReason(unified, raw)


def test_a_response_that_is_incomplete_says_why():
    metadata = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    assert finish_reason_of(metadata) == FinishReason(UnifiedFinishReason.LENGTH, "max_output_tokens")


def test_what_says_that_an_agent_hands_back_is_a_handover_and_no_text():
    back = said(
        "ai",
        content="Transferring back to supervisor",
        tool_calls=[call("c1", "transfer_back_to_supervisor")],
        response_metadata={"__is_handoff_back": True},
    )
    returned = result("c1", "Successfully transferred back to supervisor", name="transfer_back_to_supervisor")
    events = [
        event("messages", (back, {"langgraph_node": "math"})),
        event("updates", {"math": {"messages": [back, returned]}}),
    ]
    assert run(events) == [Handover("supervisor"), Finish(Outcome.COMPLETED)]


def test_no_reason_is_none():
    assert finish_reason_of({"finish_reason": None, "model": "m"}) is None


# ---- interrupts ----


def interrupt_of(value: Any, interrupt_id: str = "i1") -> Any:
    return SimpleNamespace(value=value, id=interrupt_id)


def review(*decisions: str, **action: Any) -> dict[str, Any]:
    name = action.get("name", "delete")
    return {
        "action_requests": [{"name": name, "args": action.get("args", {}), "description": action.get("text", "")}],
        "review_configs": [{"action_name": name, "allowed_decisions": list(decisions)}],
    }


@one_test_for(
    ("allowed", "decision", "answer"),
    [
        (("approve", "reject"), Decision(True), {"type": "approve"}),
        (("approve", "reject"), Decision(False, "not now"), {"type": "reject", "message": "not now"}),
        (("approve", "reject"), Decision(False), {"type": "reject"}),
        (("approve", "respond"), Decision(False, "not now"), {"type": "respond", "message": "not now"}),
        (("approve",), None, {"type": "reject"}),
    ],
)
def test_a_decision_is_said_in_the_words_that_the_middleware_allows(allowed: Any, decision: Any, answer: Any):
    asked = asked_of([interrupt_of(review(*allowed))], GraphEvents().calls)
    assert isinstance(asked.output, ApprovalAsked)
    [approval] = asked.output.approvals
    decisions = {} if decision is None else {approval.call_id: decision}
    assert resume_values(asked.kept, decisions, None) == {"i1": {"decisions": [answer]}}


def test_a_tool_that_only_the_person_answers_is_a_question():
    asked = asked_of([interrupt_of(review("respond", text="Which colour?"))], GraphEvents().calls)
    assert asked.output == Question("Which colour?", "i1")
    assert resume_values(asked.kept, {}, "red") == {"i1": {"decisions": [{"type": "respond", "message": "red"}]}}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("Which colour?", "Which colour?"),
        ({"question": "Which colour?"}, "Which colour?"),
        ({"ask": "colour", "at": 1}, 'The agent asks:\n\n```json\n{\n  "ask": "colour",\n  "at": 1\n}\n```'),
        (object, "The agent asks: <class 'object'>"),
    ],
)
def test_a_question_is_text_or_a_block_of_code(value: Any, text: str):
    assert asked_of([interrupt_of(value)], GraphEvents().calls).output == Question(text, "i1")


def test_approvals_come_before_questions():
    interrupts = [interrupt_of("Which colour?", "i1"), interrupt_of(review("approve", "reject"), "i2")]
    asked = asked_of(interrupts, GraphEvents().calls)
    assert isinstance(asked.output, ApprovalAsked)
    assert [row["id"] for row in asked.kept] == ["i2"]


# ---- placeholders ----


@pytest.mark.parametrize(
    "content", [PLACEHOLDER, f"A summary: {PLACEHOLDER}!", [{"type": "text", "text": PLACEHOLDER}], [PLACEHOLDER]]
)
def test_a_placeholder_is_found_wherever_it_stands(content: Any):
    assert has_placeholder([said(), result("c1", content)])
    assert not has_placeholder([said(content="words"), result("c1", [{"type": "image", "url": "https://x"}])])


def test_reading_events_imports_no_framework():
    code = (
        "import sys, partstream_agents.langchain, partstream_agents.langchain.events\n"
        "assert not {'langchain', 'langchain_core', 'langgraph'} & set(sys.modules), 'a framework was imported'"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
