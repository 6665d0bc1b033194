"""The updates of a run of the Microsoft Agent Framework as outputs: every kind of content, without a run."""

from typing import Any, get_args

import pytest
from agent_framework import AgentResponseUpdate, Content
from agent_framework._types import ContentType

from partstream.errors import ToolArgumentsError, UpstreamFailureError
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
    Question,
    ResultObject,
    StepUsage,
)
from partstream_agents.agent_framework import RunEvents
from rows import one_test_for


def update(*contents: Content, role: str = "assistant", **fields: Any) -> AgentResponseUpdate:
    return AgentResponseUpdate(contents=list(contents), role=role, **fields)


def call(call_id: str, name: str, arguments: str | None = "{}", **fields: Any) -> Content:
    return Content.from_function_call(call_id, name, arguments=arguments, **fields)


def usage(entered: int, left: int) -> Content:
    return Content("usage", usage_details={"input_token_count": entered, "output_token_count": left})


def replacing(content: Content) -> Content:
    """The content as one that replaces what was said before, which Agent Framework 1.22 has brought."""
    content.merge_mode = "replace"
    return content


def result(call_id: str, value: Any, **fields: Any) -> AgentResponseUpdate:
    return update(Content.from_function_result(call_id, result=value, **fields), role="tool")


def read(events: RunEvents, *updates: AgentResponseUpdate) -> list[Any]:
    return [output for one in updates for output in events.read(one)]


def of(kind: type, outputs: list[Any]) -> list[Any]:
    return [output for output in outputs if isinstance(output, kind)]


def test_text_and_thinking_are_what_the_model_says() -> None:
    thought = Content.from_text_reasoning(id="t1", text="Hm.", protected_data="sealed")
    outputs = read(RunEvents(), update(thought), update(Content.from_text("Hello")))
    assert outputs == [ThinkingPart("Hm.", "t1"), TextPart("Hello")]


def test_pieces_of_a_call_are_one_call_whichever_id_they_have() -> None:
    events = RunEvents()
    pieces = [call("c1", "look", '{"wo'), call("c1", "", 'rd": '), call("", "", '"x"}')]
    assert read(events, *map(update, pieces)) == []
    assert read(events, update(usage(1, 1))) == [InnerCall("c1", "look", {"word": "x"}, 1)]


def test_calls_that_stream_side_by_side_are_told_apart_by_their_ids() -> None:
    events = RunEvents()
    pieces = [call("c1", "look", '{"a"'), call("c2", "find", '{"b"'), call("c1", "", ": 1}"), call("c2", "", ": 2}")]
    outputs = read(events, *map(update, pieces), update(finish_reason="tool_calls"))
    assert outputs == [InnerCall("c1", "look", {"a": 1}, 1), InnerCall("c2", "find", {"b": 2}, 1)]


def test_an_external_call_that_the_framework_says_twice_is_handed_out_once() -> None:
    events = RunEvents(external={"read_file"})
    outputs = read(
        events,
        update(call("c2", "read_file", '{"path": "a"}')),
        update(call("c1", "look")),
        update(call("c2", "read_file", None)),
        result("c1", "found"),
    )
    assert outputs == [InnerCall("c1", "look", {}, 1), InnerResult("c1", "look", "found", False, 1)]
    ended = events.end(lambda: {"some": "state"})
    assert ended[:2] == [ExternalCalls((ToolCallPart("c2", "read_file", {"path": "a"}),)), KeptState({"some": "state"})]
    assert ended[-1].reason.unified is UnifiedFinishReason.TOOL_CALLS


def test_external_calls_come_in_the_models_order() -> None:
    events = RunEvents(external={"read_file", "edit_file"})
    read(events, update(call("c2", "edit_file")), update(call("c1", "read_file")))
    [calls] = of(ExternalCalls, events.end())
    assert [one.call_id for one in calls.calls] == ["c2", "c1"]


def test_an_external_call_whose_arguments_are_cut_is_an_error_that_names_it() -> None:
    events = RunEvents(external={"read_file"})
    read(events, update(call("c1", "read_file", '{"path": ')))
    with pytest.raises(ToolArgumentsError) as caught:
        events.end()
    assert (caught.value.call_id, caught.value.name) == ("c1", "read_file")


def test_no_call_of_a_step_is_shown_before_one_of_them_is_allowed() -> None:
    """The framework runs none of them before."""
    events = RunEvents(asking={"delete"})
    asked = call("c2", "delete", '{"path": "a"}', id="af-2")
    request = Content.from_function_approval_request("af-2", asked)
    assert read(events, update(call("c1", "look")), update(asked), update(usage(1, 1)), update(request)) == []
    ended = events.end()
    assert of(ApprovalAsked, ended) == [ApprovalAsked((Approval("c2", "delete", {"path": "a"}),))]
    later = RunEvents(asking={"delete"})
    later.tools.expect(events.tools.open_calls)
    assert read(later, result("c1", "found"), result("c2", "gone")) == [
        InnerCall("c1", "look", {}, 1),
        InnerResult("c1", "look", "found", False, 1),
        InnerCall("c2", "delete", {"path": "a"}, 1),
        InnerResult("c2", "delete", "gone", False, 1),
    ]


def test_what_the_host_returned_is_no_result_of_the_agents_own() -> None:
    events = RunEvents(external={"read_file"})
    assert read(events, update(call("c1", "read_file")), result("c1", "content")) == []


def test_a_tool_that_failed_says_so() -> None:
    events = RunEvents()
    outputs = read(events, update(call("c1", "look")), result("c1", "Error: it broke", exception="it broke"))
    assert outputs[-1] == InnerResult("c1", "look", "Error: it broke", True, 1)


def test_a_step_begins_where_the_assistant_speaks_again_after_a_tool() -> None:
    events = RunEvents()
    outputs = read(
        events,
        update(call("c1", "look"), usage(10, 5)),
        result("c1", "found"),
        update(call("c2", "look"), usage(30, 4)),
        result("c2", "found"),
        update(Content.from_text("Done.")),
    )
    assert [one.step for one in of(InnerCall, outputs)] == [1, 2]
    assert [one.usage for one in of(StepUsage, outputs)] == [Usage(10, 5), Usage(30, 4)]


@pytest.mark.parametrize(
    ("told", "steps"),
    [
        ([usage(10, 5), usage(30, 4)], [(10, 5), (30, 4)]),
        ([usage(10, 5), replacing(usage(40, 9))], [(10, 5), (30, 4)]),
        ([replacing(usage(10, 5)), replacing(usage(40, 9))], [(10, 5), (30, 4)]),
    ],
    ids=["of each request", "the sum from the second request on", "the sum, in contents that replace"],
)
def test_the_tokens_of_a_step_are_those_of_its_request(told: list[Content], steps: list[tuple[int, int]]) -> None:
    events = RunEvents()
    outputs = read(
        events, update(call("c1", "look"), told[0]), result("c1", "x"), update(Content.from_text("y"), told[1])
    )
    outputs += events.end()
    assert [(one.usage.input_tokens, one.usage.output_tokens) for one in of(StepUsage, outputs)] == steps


def test_pieces_of_the_usage_of_one_request_add_up() -> None:
    events = RunEvents()
    read(events, update(usage(10, 1)), update(Content("usage", usage_details={"output_token_count": 4})))
    assert of(StepUsage, events.end()) == [StepUsage(Usage(10, 5))]


def test_the_text_of_each_step_is_a_paragraph() -> None:
    events = RunEvents()
    first = update(Content.from_text("I look."), call("c1", "look"), usage(10, 5))
    outputs = read(events, first, result("c1", "found"), *(update(Content.from_text(one)) for one in ("It is ", "x.")))
    assert "".join(one.value for one in of(TextPart, outputs)) == "I look.\n\nIt is x."


def test_text_that_comes_whole_once_more_is_shown_once() -> None:
    whole = replacing(Content.from_text("Hello you"))
    assert read(RunEvents(), update(Content.from_text("Hello")), update(whole)) == [TextPart("Hello"), TextPart(" you")]


def test_a_source_is_a_link_behind_the_text_once() -> None:
    cited: Any = [{"type": "citation", "title": "Docs", "url": "https://example.com/docs"}]
    content = Content.from_text("See the docs", annotations=cited)
    again = Content.from_text(" again.", annotations=cited)
    outputs = read(RunEvents(), update(content), update(again))
    assert "".join(one.value for one in outputs) == "See the docs ([Docs](https://example.com/docs)) again."


@pytest.mark.parametrize(
    ("said", "ended"),
    [('{"city": "Paris"}', ResultObject({"city": "Paris"})), ("Not JSON", TextPart("Not JSON"))],
    ids=["JSON", "another text"],
)
def test_the_answer_of_an_agent_with_a_form_is_an_object(said: str, ended: Any) -> None:
    events = RunEvents(is_structured=True)
    assert read(events, update(Content.from_text(said))) == []
    assert events.end()[0] == ended


@pytest.mark.parametrize(
    ("reason", "outcome", "unified"),
    [
        ("stop", Outcome.COMPLETED, UnifiedFinishReason.STOP),
        ("length", Outcome.INCOMPLETE, UnifiedFinishReason.LENGTH),
        ("content_filter", Outcome.INCOMPLETE, UnifiedFinishReason.CONTENT_FILTER),
        ("new_reason", Outcome.COMPLETED, UnifiedFinishReason.OTHER),
    ],
)
def test_the_finish_says_why_the_model_stopped(reason: Any, outcome: Outcome, unified: UnifiedFinishReason) -> None:
    events = RunEvents()
    read(events, update(Content.from_text("Hi"), finish_reason=reason, response_id="r1"))
    finish = events.end()[-1]
    assert isinstance(finish, Finish)
    assert finish.reason is not None
    assert (finish.outcome, finish.reason.unified, finish.response_id) == (outcome, unified, "r1")


def test_another_author_is_a_handover_and_the_first_is_none() -> None:
    text = Content.from_text
    outputs = read(
        RunEvents(),
        update(text("a"), author_name="Triage", finish_reason="stop"),
        update(text("b"), author_name="Billing"),
    )
    assert outputs == [TextPart("a"), Handover("Billing"), TextPart("\n\n"), TextPart("b")]


PNG = b"\x89PNG\r\n\x1a\n"
CONTENTS: dict[str, tuple[Content, list[Any]]] = {
    "data": (Content.from_data(PNG, "image/png"), [AgentFile(PNG, "image/png")]),
    "uri": (
        Content.from_uri("https://example.com/a.pdf", media_type="application/pdf"),
        [TextPart("\n\n[a.pdf](https://example.com/a.pdf)\n\n")],
    ),
    "code_interpreter_tool_call": (
        Content.from_code_interpreter_tool_call(call_id="c", inputs=[Content.from_text("1 + 1")]),
        [InnerCall("c", "code_interpreter", {"inputs": ["1 + 1"]}, 1)],
    ),
    "code_interpreter_tool_result": (
        Content.from_code_interpreter_tool_result(
            call_id="c", outputs=[Content.from_text("2"), Content.from_data(PNG, "image/png")]
        ),
        [InnerResult("c", "code_interpreter", ["2", "(image/png)"], False, 1), AgentFile(PNG, "image/png")],
    ),
    "image_generation_tool_call": (
        Content.from_image_generation_tool_call(image_id="i"),
        [InnerCall("i", "image_generation", {}, 1)],
    ),
    "image_generation_tool_result": (
        Content.from_image_generation_tool_result(image_id="i", outputs=Content.from_data(PNG, "image/png")),
        [InnerResult("i", "image_generation", "(image/png)", False, 1), AgentFile(PNG, "image/png")],
    ),
    "mcp_server_tool_call": (
        Content.from_mcp_server_tool_call("m", "ask", arguments='{"q": 1}'),
        [InnerCall("m", "ask", {"q": 1}, 1)],
    ),
    "mcp_server_tool_result": (
        Content.from_mcp_server_tool_result("m", output="answer"),
        [InnerResult("m", "mcp", "answer", False, 1)],
    ),
    "shell_tool_call": (
        Content.from_shell_tool_call(call_id="s", commands=["ls"]),
        [InnerCall("s", "shell", {"commands": ["ls"]}, 1)],
    ),
    "shell_command_output": (
        Content.from_shell_command_output(stdout="a.py", exit_code=1),
        [InnerResult("", "shell", "a.py", True, 1)],
    ),
    "hosted_file": (Content.from_hosted_file("file_1"), [Unmapped("hosted_file", {"type": "hosted_file"})]),
}


@one_test_for("kind", CONTENTS)
def test_a_content_of_each_kind_is_what_a_person_needs_of_it(kind: str) -> None:
    content, outputs = CONTENTS[kind]
    assert content.type == kind
    assert read(RunEvents(), update(content)) == outputs


def test_a_call_that_the_models_provider_runs_is_inner_activity_also_with_a_name_of_the_hosts() -> None:
    events = RunEvents(external={"read_file"})
    assert read(events, update(call("c1", "read_file", informational_only=True))) == [
        InnerCall("c1", "read_file", {}, 1)
    ]
    assert of(ExternalCalls, events.end()) == []


def test_a_request_for_consent_ends_the_answer_with_its_link() -> None:
    events = RunEvents()
    read(events, update(Content.from_oauth_consent_request("https://example.com/consent")))
    [question] = of(Question, events.end())
    assert "(https://example.com/consent)" in question.text


def test_an_error_in_the_stream_is_the_error_of_the_answer() -> None:
    with pytest.raises(UpstreamFailureError, match="out of cards"):
        RunEvents().read(update(Content.from_error(message="out of cards", error_code="busy")))


@one_test_for("kind", get_args(ContentType))
def test_an_empty_content_of_any_kind_breaks_nothing(kind: Any) -> None:
    fields: dict[str, Any] = {"function_call": call("c", "look")} if kind == "function_approval_request" else {}
    events = RunEvents()
    try:
        read(events, update(Content(kind, **fields)))
    except UpstreamFailureError:
        assert kind == "error"
        return
    assert isinstance(events.end()[-1], Finish)
