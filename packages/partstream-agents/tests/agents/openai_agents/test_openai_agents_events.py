"""The events of a run of the OpenAI Agents SDK as outputs, without a run: objects with the fields that are read."""

from types import SimpleNamespace
from typing import Any

import pytest

from partstream.errors import LanguageModelError, ToolArgumentsError
from partstream.lm.inner_activity import InnerCall, InnerResult
from partstream.lm.outputs import Finish, Outcome, Unmapped
from partstream.lm.parts import TextPart, ThinkingPart, ToolCallPart, UnifiedFinishReason, Usage
from partstream_agents.adapter import (
    AgentFile,
    Approval,
    ApprovalAsked,
    ExternalCalls,
    Handover,
    KeptState,
    ResultObject,
    StepUsage,
)
from partstream_agents.openai_agents import RunEnd, RunEvents
from rows import one_test_for


def raw(kind: str, **fields: Any) -> SimpleNamespace:
    return SimpleNamespace(type="raw_response_event", data={"type": kind, **fields})


def response(*output: dict[str, Any], usage: tuple[int, int] | None = (10, 5), status: str = "completed") -> list[Any]:
    """A whole response, as a server that sends no deltas says it."""
    told = None if usage is None else {"input_tokens": usage[0], "output_tokens": usage[1], "total_tokens": sum(usage)}
    body = {"id": "resp_1", "model": "m", "status": status, "output": list(output), "usage": told}
    items = [
        raw(f"response.output_item.{step}", output_index=index, item=item)
        for index, item in enumerate(output)
        for step in ("added", "done")
    ]
    return [raw("response.created", response={"id": "resp_1"}), *items, raw(f"response.{status}", response=body)]


def message(text: str, number: int = 1) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": content}


def call(call_id: str, name: str, arguments: str = "{}") -> dict[str, Any]:
    return {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": name, "arguments": arguments}


def item(name: str, raw_item: Any, **fields: Any) -> SimpleNamespace:
    told = SimpleNamespace(raw_item=raw_item, **fields)
    return SimpleNamespace(type="run_item_stream_event", name=name, item=told)


def agent(name: str, output_type: Any = None) -> SimpleNamespace:
    new = SimpleNamespace(name=name, output_type=output_type)
    return SimpleNamespace(type="agent_updated_stream_event", new_agent=new)


def read(events: RunEvents, *given: Any) -> list[Any]:
    return [output for event in given for output in events.read(event)]


def interruption(raw_item: dict[str, Any]) -> SimpleNamespace:
    return SimpleNamespace(raw_item=raw_item)


def kinds(outputs: list[Any]) -> list[type]:
    return [type(output) for output in outputs]


def test_the_text_of_each_inner_response_is_text_and_the_finish_is_that_of_the_last() -> None:
    events = RunEvents()
    outputs = read(events, agent("A"), *response(message("One")), *response(message("Two")))
    outputs += events.end(RunEnd(final_output="Two"))
    assert [output.value for output in outputs if isinstance(output, TextPart)] == ["One", "\n\n", "Two"]
    assert kinds(outputs).count(Finish) == 1
    assert (outputs[-1].outcome, outputs[-1].reason.unified) == (Outcome.COMPLETED, UnifiedFinishReason.STOP)
    assert outputs[-1].response_id == "resp_1"


def test_a_call_of_the_agents_own_is_shown_when_it_is_called_and_never_a_tool_call_part() -> None:
    events = RunEvents(external={"read_file"})
    asked = call("c1", "lookup", '{"word": "x"}')
    outputs = read(events, *response(asked), item("tool_called", asked))
    outputs += read(events, item("tool_output", {"call_id": "c1"}, output=["found"]))
    assert outputs == [InnerCall("c1", "lookup", {"word": "x"}, 1), InnerResult("c1", "lookup", ["found"], False, 1)]


def test_a_call_that_may_want_to_be_allowed_is_shown_once_it_has_run() -> None:
    events = RunEvents(asking={"delete"})
    asked = call("c1", "delete")
    assert read(events, *response(asked), item("tool_called", asked)) == []
    shown = read(events, item("tool_output", {"call_id": "c1"}, output="gone"))
    assert shown == [InnerCall("c1", "delete", {}, 1), InnerResult("c1", "delete", "gone", False, 1)]


def test_calls_for_the_host_come_at_the_end_once_each_in_the_models_order() -> None:
    events = RunEvents(external={"read_file", "edit_file"})
    first, second = call("c1", "read_file", '{"path": "a"}'), call("c2", "edit_file")
    outputs = read(events, *response(first, second), item("tool_called", first), item("tool_called", second))
    assert not [output for output in outputs if isinstance(output, ToolCallPart | InnerCall)]
    stopped = (interruption(second), interruption(first), interruption(second))
    ended = events.end(RunEnd(stopped, state={"some": "state"}))
    calls = (ToolCallPart("c1", "read_file", {"path": "a"}), ToolCallPart("c2", "edit_file", {}))
    assert ended[1:3] == [ExternalCalls(calls), KeptState({"some": "state"})]
    assert ended[-1].reason.unified is UnifiedFinishReason.TOOL_CALLS


def test_calls_for_the_host_and_calls_that_want_to_be_allowed_are_told_apart() -> None:
    events = RunEvents(external={"read_file"}, asking={"delete"})
    stopped = (interruption(call("c1", "read_file")), interruption(call("c2", "delete", '{"path": "a"}')))
    ended = events.end(RunEnd(stopped))
    assert ended[:2] == [
        ExternalCalls((ToolCallPart("c1", "read_file", {}),)),
        ApprovalAsked((Approval("c2", "delete", {"path": "a"}),)),
    ]


def test_of_two_calls_with_one_id_that_want_to_be_allowed_both_are_asked_for() -> None:
    events = RunEvents(asking={"delete"})
    paths = ("a", "b")
    ended = events.end(RunEnd(tuple(interruption(call("c1", "delete", f'{{"path": "{one}"}}')) for one in paths)))
    assert ended[0] == ApprovalAsked(tuple(Approval("c1", "delete", {"path": one}) for one in paths))


def test_a_call_for_the_host_whose_arguments_are_cut_is_an_error_that_names_it() -> None:
    events = RunEvents(external={"read_file"})
    with pytest.raises(ToolArgumentsError) as caught:
        events.end(RunEnd((interruption(call("c1", "read_file", '{"path": ')),)))
    assert (caught.value.call_id, caught.value.name) == ("c1", "read_file")


def test_the_state_of_thinking_stays_in_the_run() -> None:
    thought = {"type": "summary_text", "text": "Hm."}
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [thought], "encrypted_content": "sealed"}
    outputs = read(RunEvents(), *response(reasoning, message("Hello")))
    assert [output for output in outputs if isinstance(output, ThinkingPart)] == [ThinkingPart("Hm.", "rs_1")]


@one_test_for(
    ("raw_item", "shown"),
    [
        (
            {"type": "mcp_call", "id": "m1", "name": "ask", "arguments": '{"q": 1}', "output": "answer"},
            [InnerCall("m1", "ask", {"q": 1}, 0), InnerResult("m1", "ask", "answer", False, 0)],
        ),
        (
            {"type": "mcp_call", "id": "m1", "name": "ask", "arguments": "{}", "error": "it broke"},
            [InnerCall("m1", "ask", {}, 0), InnerResult("m1", "ask", "it broke", True, 0)],
        ),
        (
            {"type": "web_search_call", "id": "w1", "action": {"type": "search", "query": "agents"}},
            [InnerCall("w1", "web_search", {"type": "search", "query": "agents"}, 0)],
        ),
        ({"type": "code_interpreter_call", "id": "i1", "code": "1"}, [InnerCall("i1", "code_interpreter", "1", 0)]),
        ({"type": "file_search_call", "id": "f1", "queries": ["a"]}, [InnerCall("f1", "file_search", ["a"], 0)]),
    ],
    ids=lambda value: value["type"] if isinstance(value, dict) else "",
)  # fmt: skip
def test_a_tool_that_the_models_provider_runs_is_inner_activity(raw_item: dict[str, Any], shown: list[Any]) -> None:
    assert read(RunEvents(), item("tool_called", raw_item)) == shown


@pytest.mark.parametrize("said", ["iVBORw0KGgo=", "iVBORw0KGgo", "iVBORw\r\n0KGgo=", "iVBO Rw0KGgo="])
def test_an_image_of_the_answer_is_a_file(said: str) -> None:
    picture = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": said}
    outputs = read(RunEvents(), *response(picture), item("tool_called", picture))
    assert outputs == [InnerCall("ig_1", "image_generation", {}, 1), AgentFile(b"\x89PNG\r\n\x1a\n", "image/png")]


def test_the_progress_of_a_tool_that_the_models_provider_runs_is_said_once() -> None:
    search = {"type": "web_search_call", "id": "w1", "action": {"type": "search", "query": "agents"}}
    progress = raw("response.web_search_call.searching", item_id="w1", output_index=0)
    begin, *rest = response(search)
    assert kinds(read(RunEvents(), begin, progress, *rest, item("tool_called", search))) == [InnerCall]


def test_another_agent_that_goes_on_is_a_handover_and_the_first_is_none() -> None:
    assert read(RunEvents(), agent("Triage"), agent("Billing")) == [Handover("Billing")]


class _Place:
    pass


def test_the_text_of_an_agent_with_an_output_of_its_own_is_held_and_given_as_the_object() -> None:
    events = RunEvents()
    assert read(events, agent("A", _Place), *response(message('{"city": "Paris"}'))) == []
    assert events.end(RunEnd(final_output={"city": "Paris"}))[0] == ResultObject({"city": "Paris"})


def test_held_text_that_is_not_the_result_is_text_after_all() -> None:
    events = RunEvents()
    read(events, agent("A", _Place), *response(message("I look first.")))
    assert read(events, raw("response.created", response={"id": "resp_2"}))[0] == TextPart("I look first.")


@pytest.mark.parametrize(
    ("said", "result", "shown"),
    [
        ((), "The tool's own words", ["The tool's own words"]),
        ((message("Hello"),), "Hello", []),
        ((message("I look."), call("c1", "lookup")), "found", ["\n\n", "found"]),
        ((), None, []),
    ],
    ids=["said by no response", "said by the last response", "said by a tool at which the run stops", "nothing"],
)
def test_a_result_that_no_response_said_is_text(said: tuple[Any, ...], result: str | None, shown: list[str]) -> None:
    events = RunEvents()
    read(events, agent("A"), *response(*said))
    ended = events.end(RunEnd(final_output=result))
    assert [output.value for output in ended if isinstance(output, TextPart)] == shown


def test_the_tokens_of_agents_below_come_before_those_of_the_last_request() -> None:
    events = RunEvents()
    outputs = read(events, *response(message("One"), usage=(10, 5)), *response(message("Two"), usage=(30, 4)))
    counted = [Usage(10, 5, 15), Usage(900, 90, 990), Usage(30, 4, 34)]
    outputs += events.end(RunEnd(final_output="Two", usages=counted))
    told = [output.usage.input_tokens for output in outputs if isinstance(output, StepUsage)]
    assert told == [10, 900, 30]


def test_the_tokens_that_no_event_says_are_those_that_the_sdk_has_counted() -> None:
    events = RunEvents()
    read(events, *response(message("One"), usage=None))
    ended = events.end(RunEnd(final_output="One", usages=[Usage(10, 5, 15)]))
    assert [output.usage for output in ended if isinstance(output, StepUsage)] == [Usage(10, 5, 15)]


def test_an_answer_that_a_limit_has_cut_keeps_its_text_and_is_no_error() -> None:
    events = RunEvents()
    [text] = read(events, *response(message("Half an ans"), status="incomplete"))
    assert text == TextPart("Half an ans")
    ended = events.break_off(RuntimeError("response.incomplete"))
    assert ended[-1].outcome is Outcome.INCOMPLETE


def test_what_the_server_says_of_its_failure_is_the_error_and_the_sdks_exception_its_cause() -> None:
    events, raised = RunEvents(), RuntimeError("response.failed")
    failure = {"code": "server_error", "message": "out of cards"}
    read(events, raw("response.failed", response={"id": "r", "status": "failed", "error": failure, "output": []}))
    with pytest.raises(LanguageModelError, match="out of cards") as caught:
        events.break_off(raised)
    assert caught.value.__cause__ is raised


def test_an_exception_of_the_run_goes_on_where_the_server_said_nothing() -> None:
    raised = RuntimeError("too many turns")
    with pytest.raises(RuntimeError) as caught:
        RunEvents().break_off(raised)
    assert caught.value is raised


@pytest.mark.parametrize("event", [SimpleNamespace(type="tea_time"), item("tea_time", {})], ids=["an event", "an item"])
def test_what_nobody_knows_is_counted(event: Any) -> None:
    [output] = RunEvents().read(event)
    assert isinstance(output, Unmapped)
    assert output.type == "tea_time"
