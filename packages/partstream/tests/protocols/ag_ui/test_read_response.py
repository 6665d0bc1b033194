"""What the events of a run mean."""

from typing import Any

import pytest

from partstream import DataPart, TextPart, ThinkingPart, ToolCallPart
from partstream.codec.json_codec import loads
from partstream.conversation.provider_state import ITEMS
from partstream.errors import ToolArgumentsError, TruncatedStreamError, UpstreamFailureError
from partstream.lm.inner_activity import ACTIVITY_MIME_TYPE
from partstream.lm.outputs import Finish, Outcome, StreamOutput, ThinkingMode, Unmapped
from partstream.lm.parts import UnifiedFinishReason, Usage
from partstream.protocols.ag_ui.read_response import EVENTS
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.recognition import NamedEvent, ProtocolMatcher
from protocols.ag_ui.events import END, START, called, read, result, run_of, said, thought
from rows import one_test_for


def text(outputs: list[StreamOutput]) -> str:
    return "".join(one.value for one in outputs if isinstance(one, TextPart))


def thinking(outputs: list[StreamOutput]) -> str:
    return "".join(one.value for one in outputs if isinstance(one, ThinkingPart))


def calls(outputs: list[StreamOutput]) -> list[tuple[str, str, Any]]:
    return [(one.call_id, one.name, dict(one.input)) for one in outputs if isinstance(one, ToolCallPart)]


def counted(outputs: list[StreamOutput]) -> list[str]:
    return [one.type for one in outputs if isinstance(one, Unmapped)]


def activity(outputs: list[StreamOutput]) -> list[Any]:
    return [loads(one.data) for one in outputs if isinstance(one, DataPart) and one.mime_type == ACTIVITY_MIME_TYPE]


def items(outputs: list[StreamOutput]) -> list[Any]:
    listed = [one.metadata[ITEMS] for one in outputs if isinstance(one, ThinkingPart) and one.metadata]
    return listed[-1] if listed else []


def finish(outputs: list[StreamOutput]) -> Finish:
    last = outputs[-1]
    assert isinstance(last, Finish)
    assert sum(isinstance(one, Finish) for one in outputs) == 1
    return last


# ---- what is said ----

SAID: dict[str, tuple[list[dict[str, Any]], str]] = {
    "a message": (said("Hello"), "Hello"),
    "a message of chunks": (
        [
            {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "role": "assistant", "delta": "Hel"},
            {"type": "TEXT_MESSAGE_CHUNK", "delta": "lo"},
        ],
        "Hello",
    ),
    "a content that nothing has opened": ([{"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Hi"}], "Hi"),
    "an empty delta": ([*said(""), *said("Hi", "m2")], "Hi"),
    "two messages": ([*said("One."), *said("Two.", "m2")], "One.\n\nTwo."),
    "two messages of chunks": (
        [
            {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "One."},
            {"type": "TEXT_MESSAGE_CHUNK", "messageId": "n", "delta": "Two."},
        ],
        "One.\n\nTwo.",
    ),
    "a message around its thinking": ([*said("One "), *thought("Hm."), *said("two.", "m2")], "One two."),
    "a message around an own call": (
        [*said("I look."), *called("c", "f"), result("c", "x"), *said("So.", "m2")],
        "I look.\n\nSo.",
    ),
    "a message of the user": ([*said("Echo", "m0", role="user"), *said("Hi")], "Hi"),
    "a message of a sub-agent": ([*said("Inner.", "m0", subagentRunId="s"), *said("Outer.")], "Outer."),
    "an older thought": (
        [
            {"type": "THINKING_START"},
            {"type": "THINKING_TEXT_MESSAGE_START"},
            {"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "Hm."},
            {"type": "THINKING_TEXT_MESSAGE_END"},
            {"type": "THINKING_END"},
            *said("Hi"),
        ],
        "Hi",
    ),
}


@one_test_for(("events", "expected"), SAID.values(), ids=SAID)
def test_messages_of_the_agent_are_its_text(events: list[dict[str, Any]], expected: str) -> None:
    outputs = run_of(*events)
    assert text(outputs) == expected
    assert finish(outputs).outcome is Outcome.COMPLETED


@pytest.mark.parametrize(
    "events",
    [
        SAID["an older thought"][0][:-3],
        thought("Hm."),
        [{"type": "REASONING_MESSAGE_CHUNK", "messageId": "r", "delta": "Hm."}],
    ],
    ids=["older", "reasoning", "chunk"],
)
def test_reasoning_is_thinking_in_every_version(events: list[dict[str, Any]]) -> None:
    assert thinking(run_of(*events, *said("Hi"))) == "Hm."
    assert (
        thinking(
            run_of(
                *events,
                *said("Hi"),
            )
        )
        == "Hm."
    )
    assert thinking(read(START, *events, *said("Hi"), END, thinking=ThinkingMode.OFF)) == ""


def test_what_sub_agents_say_is_thinking_with_a_line_that_names_them() -> None:
    started = {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "Billing agent"}
    failed = {"type": "SUBAGENT_ERROR", "subagentRunId": "s", "message": "no account"}
    outputs = run_of(started, *said("Looking.", "m0", subagentRunId="s"), failed, *said("Sorry."))
    assert thinking(outputs) == "Handed over to Billing agent\nLooking.Billing agent failed: no account\n"
    assert text(outputs) == "Sorry."


# ---- what is done ----


def test_a_call_without_a_result_is_external_and_one_with_a_result_is_never_a_call() -> None:
    events = [
        *called("inner", "search", '{"query": "agents"}'),
        *called("outer", "read_file", '{"path": "a.py"}'),
        result("inner", '["one", "two", "three"]'),
    ]
    outputs = run_of(*said("Both."), *events)
    assert calls(outputs) == [("outer", "read_file", {"path": "a.py"})]
    assert thinking(outputs) == 'Called search(query="agents")\n-> 3 results, 23 bytes\n'
    assert activity(outputs) == [
        {"type": "call", "callId": "inner", "name": "search", "step": 1, "arguments": {"query": "agents"}},
        {
            "type": "result",
            "callId": "inner",
            "name": "search",
            "step": 1,
            "isError": False,
            "content": ["one", "two", "three"],
        },
    ]
    assert finish(outputs).reason is not None
    assert finish(outputs).reason.unified is UnifiedFinishReason.TOOL_CALLS


def test_no_external_call_goes_out_before_the_run_is_over() -> None:
    outputs = read(START, *called("c", "read_file"))
    assert calls(outputs) == []
    assert isinstance(finish(outputs).error, TruncatedStreamError)
    assert counted(outputs) == ["TOOL_CALL_START read_file (of a run that broke off)"]


CALLED: dict[str, tuple[list[dict[str, Any]], list[tuple[str, str, Any]]]] = {
    "in the model's order": ([*called("b", "g"), *called("a", "f")], [("b", "g", {}), ("a", "f", {})]),
    "without arguments": (called("a", "f", ""), [("a", "f", {})]),
    "in chunks": (
        [
            {"type": "TOOL_CALL_CHUNK", "toolCallId": "a", "toolCallName": "f", "delta": '{"x"'},
            {"type": "TOOL_CALL_CHUNK", "delta": ": 1}"},
        ],
        [("a", "f", {"x": 1})],
    ),
    "twice": (
        [*called("a", "f"), {"type": "TOOL_CALL_START", "toolCallId": "a", "toolCallName": "f"}],
        [("a", "f", {})],
    ),
    "with text behind it": ([*called("a", "f"), *said("So.")], [("a", "f", {})]),
}


@one_test_for(("events", "expected"), CALLED.values(), ids=CALLED)
def test_external_calls_go_out_whole_and_once(events: list[dict[str, Any]], expected: list[Any]) -> None:
    assert calls(run_of(*events)) == expected


def test_the_calls_that_the_agent_names_are_the_external_ones() -> None:
    outcome = {"type": "success", "pendingToolCallIds": ["b"]}
    outputs = run_of(*called("a", "lost"), *called("b", "read_file"), outcome=outcome)
    assert [name for _, name, _ in calls(outputs)] == ["read_file"]
    assert counted(outputs) == ["TOOL_CALL_START lost (without a result)"]


@pytest.mark.parametrize("arguments", ['{"path": ', "[1]", "null"])
def test_an_external_call_whose_arguments_are_no_object_is_an_error(arguments: str) -> None:
    outputs = run_of(*said("Hi"), *called("a", "f", arguments))
    assert isinstance(finish(outputs).error, ToolArgumentsError)
    assert not calls(outputs)


def test_a_snapshot_gives_the_calls_that_did_not_stream_or_lost_their_arguments() -> None:
    function = {"name": "read_file", "arguments": '{"path": "a.py"}'}
    messages = [
        {"id": "0", "role": "assistant", "toolCalls": [{"id": "before", "function": function}]},
        {"id": "1", "role": "user", "content": "Hi"},
        {"id": "2", "role": "assistant", "toolCalls": [{"id": "over", "function": function}]},
        {"id": "3", "role": "tool", "toolCallId": "over", "content": "x"},
        {"id": "4", "role": "assistant", "toolCalls": [{"id": name, "function": function} for name in ("a", "b")]},
    ]
    outputs = run_of(*called("a", "read_file", 'h": "a.py"}'), {"type": "MESSAGES_SNAPSHOT", "messages": messages})
    assert calls(outputs) == [(name, "read_file", {"path": "a.py"}) for name in ("a", "b")]


def test_an_inner_call_may_have_any_arguments() -> None:
    outputs = run_of(*called("a", "f", "{broken"), result("a", ""), *said("Hi"))
    assert thinking(outputs) == "Called f({broken)\n-> nothing\n"


def test_a_result_of_an_earlier_run_is_shown_and_goes_back() -> None:
    outputs = run_of(result("before", "deleted"), *said("Done."))
    assert thinking(outputs) == "-> 7 bytes\n"
    assert items(outputs) == [
        {"type": "ag-ui", "message": {"role": "tool", "id": "of-before", "toolCallId": "before", "content": "deleted"}}
    ]


def test_what_has_no_part_is_counted_once_for_each_name() -> None:
    events = [
        {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1}},
        {"type": "STATE_DELTA", "delta": []},
        {"type": "STATE_DELTA", "delta": []},
        {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "PLAN", "content": {}},
        {"type": "CUSTOM", "name": "progress", "value": 1},
        {"type": "RAW", "source": "openai", "event": {}},
        {"type": "STEP_STARTED", "stepName": "model"},
        {"type": "STEP_FINISHED", "stepName": "model"},
        {"type": "NEW_IN_2_0"},
    ]
    assert counted(run_of(*events, *said("Hi"))) == [
        "STATE_SNAPSHOT",
        "STATE_DELTA",
        "ACTIVITY_SNAPSHOT PLAN",
        "CUSTOM progress",
        "RAW openai",
        "NEW_IN_2_0",
    ]


# ---- how it ends ----


def test_an_interrupt_is_a_question_and_its_call_stays_with_the_agent() -> None:
    interrupt = {"id": "int-1", "reason": "tool_call", "toolCallId": "d", "message": "Really?"}
    events = [*said("I clean up."), *called("d", "delete_file", '{"path": "a.py"}')]
    outputs = run_of(*events, outcome={"type": "interrupt", "interrupts": [interrupt]})
    assert calls(outputs) == []
    assert text(outputs) == (
        'I clean up.\n\nReally?\n\nThe agent wants to run `delete_file(path="a.py")`.\n\n'
        "Reply *yes* to allow it. Any other reply refuses it."
    )
    call, interrupted = items(outputs)
    assert call["toolCallId"] == "d", "it stays in a marker that is too small for all"
    assert call["call"] == {"id": "d", "name": "delete_file", "arguments": '{"path": "a.py"}'}
    assert interrupted["interrupted"] == {
        "threadId": "t",
        "interrupts": [{"id": "int-1", "toolCallId": "d", "reason": "tool_call"}],
    }
    assert finish(outputs).reason is not None
    assert (finish(outputs).outcome, finish(outputs).reason.raw) == (Outcome.COMPLETED, "interrupt")


QUESTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "words": ({"reason": "input_required", "message": "Which city?"}, "Which city?"),
    "no message": ({"reason": "acme:pause"}, "The agent waits for an answer: acme:pause."),
    "one field": (
        {"reason": "x", "message": "How?", "responseSchema": {"type": "object", "properties": {"size": {}}}},
        "How?\n\nReply with `size`.",
    ),
    "several fields": (
        {"reason": "x", "message": "How?", "responseSchema": {"type": "object", "properties": {"a": {}, "b": {}}}},
        "How?\n\nReply with a JSON object of `a` and `b`.",
    ),
    "a choice": (
        {"reason": "x", "message": "Which?", "responseSchema": {"enum": ["red", "blue"]}},
        "Which?\n\nReply with one of `red`, `blue`.",
    ),
}


@one_test_for(("interrupt", "expected"), QUESTIONS.values(), ids=QUESTIONS)
def test_a_question_says_how_to_answer_it(interrupt: dict[str, Any], expected: str) -> None:
    assert text(run_of(outcome={"type": "interrupt", "interrupts": [{"id": "i", **interrupt}]})) == expected


GRAPHS: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "a text": ("Really?", "Really?", {}),
    "a question": ('{"question": "Delete a?"}', "Delete a?", {}),
    "any object": ('{"step": 3}', '```json\n{"step":3}\n```', {}),
    "approvals": (
        '{"action_requests": [{"name": "delete_file", "args": {"path": "a"}}]}',
        'The agent wants to run `delete_file(path="a")`.\n\nReply *yes* to allow it. Any other reply refuses it.',
        {"decisions": 1},
    ),
}


@pytest.mark.parametrize(("value", "expected", "kept"), GRAPHS.values(), ids=GRAPHS)
def test_an_interrupt_of_a_graph_comes_as_a_custom_event(value: Any, expected: str, kept: dict[str, Any]) -> None:
    event = {"type": "CUSTOM", "name": "on_interrupt", "value": value, "rawEvent": {"id": "i-1"}}
    outputs = run_of(*called("d", "delete_file"), event)
    assert not calls(outputs), "the call is the graph's to run"
    assert text(outputs) == expected
    assert items(outputs)[-1]["interrupted"] == {
        "threadId": "t",
        "interrupts": [{"id": "i-1", "reason": "langgraph:interrupt", **kept}],
    }


def test_a_cancelled_run_is_cut_and_hands_out_no_call() -> None:
    outputs = run_of(*said("Hel"), *called("a", "f"), outcome={"type": "cancelled"})
    assert not calls(outputs)
    end = finish(outputs)
    assert end.reason is not None
    assert (end.outcome, end.reason.unified, end.error) == (Outcome.INCOMPLETE, UnifiedFinishReason.OTHER, None)


def test_an_error_of_the_run_is_the_error_of_the_answer_with_its_tokens() -> None:
    usage = [{"model": "m", "inputTokens": 3, "outputTokens": 1}]
    outputs = read(START, *said("Hel"), {"type": "RUN_ERROR", "message": "It broke.", "code": "E1", "usage": usage})
    error = finish(outputs).error
    assert isinstance(error, UpstreamFailureError)
    assert (error.provider_message, error.provider_code) == ("It broke.", "E1")
    assert finish(outputs).usage == Usage(3, 1, 4, raw={"usage": usage})


def test_the_tokens_of_all_models_are_added_and_one_model_is_named() -> None:
    usage = [
        {"model": "m", "inputTokens": 10, "outputTokens": 5, "cachedInputTokens": 4},
        {"model": "n", "inputTokens": 20, "outputTokens": 6, "reasoningTokens": 2, "totalTokens": 26},
    ]
    end = finish(run_of(*said("Hi"), usage=usage))
    assert end.usage is not None
    assert (end.usage.input_tokens, end.usage.output_tokens, end.usage.cached_tokens) == (30, 11, 4)
    assert end.model is None
    assert finish(run_of(*said("Hi"), usage=usage[:1])).model == "m"


def test_the_window_is_filled_by_no_more_than_a_request_of_the_run() -> None:
    usage = [{"inputTokens": 61, "outputTokens": 9}]
    events = [*called("a", "f"), result("a", "1"), *called("b", "f"), result("b", "2"), *said("Hi")]
    end = finish(run_of(*events, usage=usage))
    assert end.usage is not None
    assert (end.usage.input_tokens, end.usage.context_tokens) == (61, 21)
    assert finish(run_of(*said("Hi"), usage=usage)).usage == Usage(61, 9, 70, raw={"usage": usage})


LAST_WORDS: dict[str, tuple[list[dict[str, Any]], dict[str, Any], str]] = {
    "its result": ([], {"result": "42"}, "42"),
    "a result that is an object": ([], {"result": {"city": "Paris"}}, '```json\n{"city":"Paris"}\n```'),
    "its snapshot": (
        [
            {
                "type": "MESSAGES_SNAPSHOT",
                "messages": [
                    {"id": "1", "role": "assistant", "content": "before"},
                    {"id": "2", "role": "user", "content": "Hi"},
                    {"id": "3", "role": "assistant", "content": "Hello"},
                ],
            }
        ],
        {},
        "Hello",
    ),
    "its sub-agent": (said("From below.", subagentRunId="s"), {}, "From below."),
    "its last tool": ([*called("a", "f"), result("a", "returned")], {}, "returned"),
    "its output tool": (
        [*called("a", "final_result", '{"city": "Paris"}'), result("a", "Final result processed.")],
        {},
        '```json\n{"city":"Paris"}\n```',
    ),
}


@one_test_for(("events", "end", "expected"), LAST_WORDS.values(), ids=LAST_WORDS)
def test_a_run_without_text_shows(events: list[dict[str, Any]], end: dict[str, Any], expected: str) -> None:
    assert text(run_of(*events, **end)) == expected
    assert text(run_of(*events, *said("Text wins.", "m9"), **end)) == "Text wins."


# ---- what goes back ----


def test_reasoning_goes_back_with_its_value_also_one_that_comes_late() -> None:
    value = {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "r1", "encryptedValue": "sealed"}
    message = {"role": "reasoning", "id": "r1", "content": "Hm."}
    early, late = run_of(*thought("Hm."), value, *said("Hi")), run_of(*thought("Hm."), *said("Hi"), value)
    assert items(early) == [{"type": "ag-ui", "message": {**message, "encryptedValue": "sealed"}}]
    assert items(late) == [
        {"type": "ag-ui", "message": message},
        {"type": "ag-ui", "entity": "r1", "encryptedValue": "sealed"},
    ]


def test_items_go_out_before_the_text_that_they_stand_before() -> None:
    outputs = run_of(*said("One."), *called("a", "f"), result("a", "x"), *said("Two.", "m2"))
    kinds = [
        type(one).__name__
        for one in outputs
        if isinstance(one, TextPart) or (isinstance(one, ThinkingPart) and one.metadata)
    ]
    assert kinds == ["TextPart", "ThinkingPart", "TextPart"]


def test_a_long_result_is_cut_on_its_way_back_and_says_so() -> None:
    outputs = run_of(*called("a", "f"), result("a", "x" * 50_000), *said("Hi"))
    content = items(outputs)[1]["message"]["content"]
    assert len(content) < 9_000
    assert content.endswith("42,000 more characters were cut]")
    assert activity(outputs)[1]["content"] == "x" * 50_000, "programs get all of it"


def test_hosts_without_thinking_parts_get_no_items() -> None:
    events = [START, *thought("Hm."), *called("a", "f"), result("a", "x"), *said("Hi"), END]
    assert items(read(*events, thinking=ThinkingMode.TEXT)) == []


# ---- whose events they are ----


@one_test_for("kind", EVENTS)
def test_every_event_is_surely_of_this_protocol_and_of_no_other(kind: str) -> None:
    found = ProtocolMatcher([*PROTOCOLS.values()]).add(NamedEvent("", {"type": kind}))
    assert found is PROTOCOLS["ag-ui"]
