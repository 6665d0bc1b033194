"""Events of pydantic-ai become outputs, whatever order and version they come in; no framework is needed for it."""

from types import SimpleNamespace as Of
from typing import Any

from partstream import TextPart, ThinkingPart
from partstream.errors import TruncatedStreamError
from partstream.lm.outputs import Finish, Outcome, Unmapped
from partstream.lm.parts import UnifiedFinishReason
from partstream_agents import AgentFile, InnerCall, InnerResult, ResultObject, StepBegun, StepUsage
from partstream_agents.pydantic_ai import EventReader
from rows import one_test_for


def text(content: str) -> Any:
    return Of(part_kind="text", content=content)


def call(name: str = "search", args: Any = '{"query": "x"}', call_id: str = "c1", kind: str = "tool-call") -> Any:
    return Of(part_kind=kind, tool_name=name, args=args, tool_call_id=call_id)


def returned(name: str = "search", content: Any = "found", call_id: str = "c1", **more: Any) -> Any:
    return Of(part_kind="tool-return", tool_name=name, content=content, tool_call_id=call_id, **more)


def start(index: int, part: Any, previous: str | None = None) -> Any:
    return Of(event_kind="part_start", index=index, part=part, previous_part_kind=previous)


def delta(index: int, kind: str, content: str | None) -> Any:
    return Of(event_kind="part_delta", index=index, delta=Of(part_delta_kind=kind, content_delta=content))


def end(index: int, part: Any) -> Any:
    return Of(event_kind="part_end", index=index, part=part)


def event(kind: str, part: Any) -> Any:
    return Of(event_kind=kind, part=part)


def usage(given: int, answered: int, **more: Any) -> Any:
    counts = {"cache_read_tokens": 0, "cache_write_tokens": 0, "details": {}, **more}
    return Of(input_tokens=given, output_tokens=answered, **counts)


def response(reason: str | None = "stop", *, tokens: Any = None, server: str | None = None, said: Any = None) -> Any:
    return Of(
        parts=[text("x")],
        provider_name=server,
        provider_details=said,
        kind="response",
        usage=tokens or usage(10, 5),
        finish_reason=reason,
        provider_response_id="r1",
        model_name="small",
    )


def result(output: Any, *responses: Any) -> Any:
    messages = [Of(kind="request"), *responses]
    ended = Of(output=output, all_messages=lambda: messages, new_messages=lambda: messages)
    return Of(event_kind="agent_run_result", result=ended)


def read(*events: Any, reader: EventReader | None = None) -> list[Any]:
    reader = reader or EventReader()
    outputs = [*(output for one in events for output in reader.read(one)), *reader.end()]
    return [output for output in outputs if not isinstance(output, StepBegun)]


def said(outputs: list[Any]) -> str:
    return "".join(output.value for output in outputs if isinstance(output, TextPart))


def test_an_answer_with_thinking_text_and_both_kinds_of_calls_comes_in_the_order_of_its_events():
    reader = EventReader(external=["read_file"])
    thinking = Of(part_kind="thinking", content="hm", id=None, signature=None, provider_name=None)
    signed = Of(part_kind="thinking", content="hm hm", id=None, signature="signed", provider_name="one")
    outputs = read(
        start(0, thinking),
        delta(0, "thinking", " hm"),
        delta(0, "thinking", None),
        end(0, signed),
        start(1, text("Let me "), "thinking"),
        Of(event_kind="final_result"),
        delta(1, "text", "see."),
        end(1, text("Let me see.")),
        start(2, call(args='{"que'), "text"),
        delta(2, "tool_call", None),
        end(2, call()),
        start(3, call("read_file", "{}", "e1"), "tool-call"),
        end(3, call("read_file", "{}", "e1")),
        event("function_tool_call", call()),
        event("function_tool_result", returned()),
        event("function_tool_call", call("read_file", "{}", "e1")),
        Of(event_kind="deferred_tool_requests"),
        reader=reader,
    )
    kept = {"content": "hm hm", "id": None, "signature": "signed", "provider_name": "one"}
    assert outputs == [
        ThinkingPart("hm"),
        ThinkingPart(" hm"),
        ThinkingPart("", None, {"partstream.pydantic-ai": kept}),
        TextPart("Let me "),
        TextPart("see."),
        InnerCall("c1", "search", {"query": "x"}, 1),
        InnerResult("c1", "search", "found", is_error=False, step=1),
    ]


def test_a_step_is_an_answer_of_the_model_and_its_text_a_paragraph_of_its_own():
    outputs = read(
        start(0, text("I search.")),
        end(0, text("I search.")),
        event("function_tool_call", call()),
        event("function_tool_result", returned()),
        start(0, text("Found.")),
        event("function_tool_call", call(call_id="c2")),
    )
    assert said(outputs) == "I search.\n\nFound."
    assert [output.step for output in outputs if isinstance(output, InnerCall)] == [1, 2]


def test_each_answer_of_the_model_begins_a_step():
    reader = EventReader()
    events = [start(0, text("a")), start(1, text("b"), "text"), start(0, text("c"))]
    begun = [one.step for event in events for one in reader.read(event) if isinstance(one, StepBegun)]
    assert begun == [1, 2]


@one_test_for(
    ("events", "expected"),
    [
        ([start(0, text("ab")), start(0, text("abc"), "text")], "abc"),
        ([start(0, text("ab")), start(0, text("x"), "text"), end(0, text("xy"))], "ab\n\nxy"),
        ([start(0, text("")), delta(0, "text", ""), end(0, text("all"))], "all"),
        ([start(0, text("one")), start(1, text("two"), "text"), end(1, text("two"))], "onetwo"),
        ([start(0, text("bad")), end(0, text("bad")), start(0, text("good"))], "bad\n\ngood"),
    ],
    ids=["a start that goes on", "a start that says something else", "nothing before the end", "two texts", "a retry"],
)
def test_a_text_is_said_once_whatever_replaces_it(events: list[Any], expected: str):
    assert said(read(*events)) == expected


def test_a_call_that_wants_to_be_allowed_is_shown_when_it_has_run():
    reader = EventReader(asking=["delete"])
    assert reader.read(event("function_tool_call", call("delete"))) == []
    outputs = reader.read(event("function_tool_result", returned("delete")))
    assert [type(output) for output in outputs] == [InnerCall, InnerResult]


def test_calls_that_others_have_answered_are_no_activity_of_the_agent():
    reader = EventReader(external=["read_file"], answered=["e1", "d1"])
    for name, call_id in (("read_file", "new"), ("gone_tool", "e1"), ("delete", "d1")):
        assert reader.read(event("function_tool_call", call(name, call_id=call_id))) == []
        assert reader.read(event("function_tool_result", returned(name, call_id=call_id))) == []


@one_test_for(
    ("part", "is_error"),
    [
        (returned(), False),
        (returned(outcome="success"), False),
        (returned(outcome="failed"), True),
        (returned(outcome="retried"), True),
        (Of(part_kind="retry-prompt", tool_name="search", content="again", tool_call_id="c1"), True),
    ],
)
def test_a_result_says_whether_its_tool_failed(part: Any, is_error: bool):
    [output] = read(event("function_tool_result", part))
    assert output.is_error is is_error


@one_test_for(
    ("args", "arguments"),
    [({"a": 1}, {"a": 1}), ('{"a": 1}', {"a": 1}), (None, {}), ("", {}), ("[1]", "[1]"), ('{"a', '{"a')],
)
def test_arguments_are_an_object_or_what_came(args: Any, arguments: Any):
    [output] = read(event("function_tool_call", call(args=args)))
    assert output.arguments == arguments


def test_a_tool_that_the_server_of_the_model_runs_is_one_of_the_agent():
    native = call("web_search", kind="builtin-tool-call")
    back = Of(part_kind="builtin-tool-return", tool_name="web_search", content=[1], tool_call_id="c1")
    outputs = read(start(0, native), end(0, native), start(1, back, "builtin-tool-call"), end(1, back))
    assert outputs == [InnerCall("c1", "web_search", {"query": "x"}), InnerResult("c1", "web_search", [1])]


def test_a_file_comes_once_also_if_it_is_the_result():
    file = Of(data=b"png", media_type="image/png")
    part = Of(part_kind="file", content=file)
    outputs = read(start(0, part), end(0, part), result(file))
    assert outputs == [AgentFile(b"png", "image/png")]
    assert read(result(file)) == [AgentFile(b"png", "image/png")]


@one_test_for(
    ("unknown", "kind"),
    [
        (Of(event_kind="custom", name="progress"), "custom"),
        (Of(), "SimpleNamespace"),
        (start(0, Of(part_kind="hologram")), "part_start.hologram"),
        (delta(0, "hologram", "x"), "part_delta.hologram"),
        (end(0, Of(part_kind="hologram")), "part_end.hologram"),
    ],
)
def test_what_nobody_knows_is_counted_and_shown(unknown: Any, kind: str):
    [output] = read(unknown)
    assert isinstance(output, Unmapped)
    assert output.type == kind


@one_test_for(
    ("streamed", "output", "expected"),
    [
        ("Hello", "Hello", []),
        ("Hello ", "Hello", []),
        ("hello", "HELLO", [TextPart("\n\n"), TextPart("HELLO")]),
        ("", "by a tool", [TextPart("by a tool")]),
        ("", None, []),
        ('{"a": 1}', {"a": 1}, []),
        ('```json\n{"a": 1}\n```', {"a": 1}, []),
        ("Here it is", {"a": 1}, [ResultObject({"a": 1})]),
        ("3", 3, [ResultObject(3)]),
    ],
    ids=repr,
)
def test_a_result_adds_what_was_not_streamed(streamed: str, output: Any, expected: list[Any]):
    events = [start(0, text(streamed)), end(0, text(streamed))] if streamed else []
    outputs = read(*events, result(output))
    assert outputs[1 if streamed else 0 :] == expected


def test_each_request_says_its_own_tokens_and_the_last_one_how_it_ended():
    first = response("tool_call", tokens=usage(10, 5, cache_read_tokens=4, details={"reasoning_tokens": 3}))
    outputs = read(result("x", first, response("length", tokens=usage(20, 6))))[1:]
    assert [(one.usage.input_tokens, one.usage.output_tokens) for one in outputs if isinstance(one, StepUsage)] == [
        (10, 5),
        (20, 6),
    ]
    assert outputs[0].usage.cached_tokens == 4
    assert outputs[0].usage.reasoning_tokens == 3
    assert outputs[1].usage.cached_tokens is None, "the framework writes an unknown count as 0"
    finish = outputs[-1]
    assert isinstance(finish, Finish)
    assert (finish.outcome, finish.model, finish.response_id) == (Outcome.INCOMPLETE, "small", "r1")
    assert finish.reason is not None
    assert finish.reason.unified is UnifiedFinishReason.LENGTH


@one_test_for(
    ("raw", "outcome", "unified"),
    [
        ("stop", Outcome.COMPLETED, UnifiedFinishReason.STOP),
        ("content_filter", Outcome.INCOMPLETE, UnifiedFinishReason.CONTENT_FILTER),
        ("tool_call", Outcome.COMPLETED, UnifiedFinishReason.TOOL_CALLS),
        ("error", Outcome.COMPLETED, UnifiedFinishReason.ERROR),
        ("novel", Outcome.COMPLETED, UnifiedFinishReason.OTHER),
        (None, Outcome.COMPLETED, None),
    ],
)
def test_finish_reasons_are_unified(raw: str | None, outcome: Outcome, unified: UnifiedFinishReason | None):
    finish = read(result(None, response(raw)))[-1]
    assert finish.outcome is outcome
    assert (finish.reason and finish.reason.unified) == unified


def test_a_model_that_counts_no_tokens_has_said_nothing_of_them():
    assert not [one for one in read(result(None, response(tokens=usage(0, 0)))) if isinstance(one, StepUsage)]


@one_test_for(
    ("last", "is_cut"),
    [
        (response("stop", tokens=usage(0, 0), server="openai"), True),
        (response(None, tokens=usage(0, 0), server="openai", said={}), True),
        (response("stop", tokens=usage(0, 0), server="openai", said={"finish_reason": "stop"}), False),
        (response("stop", tokens=usage(9, 1), server="openai"), False),
        (response(None, tokens=usage(0, 0)), False),
    ],
    ids=["a reason that the framework invented", "no reason", "a reason of the server", "tokens", "no server"],
)
def test_an_answer_without_the_end_that_servers_say_broke_off(last: Any, is_cut: bool):
    finish = read(result("x", last))[-1]
    assert (finish.outcome is Outcome.TRUNCATED) == is_cut
    assert isinstance(finish.error, TruncatedStreamError) == is_cut


def test_a_run_that_broke_off_has_no_end():
    assert read(start(0, text("Hel"))) == [TextPart("Hel")]
