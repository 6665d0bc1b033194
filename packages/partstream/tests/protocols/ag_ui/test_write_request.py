"""What an agent is asked: `RunAgentInput`, as the published models have it."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from conversation.samples import PNG
from partstream import ChatMessage, DataPart, RequestOptions, TextPart, ThinkingPart, Tool, ToolCallPart, ToolResultPart
from partstream.conversation.preparation import RequestSettings, ToolImages, prepare
from partstream.conversation.provider_state import ITEMS, ORIGIN, Origin
from partstream.lm.outputs import InboundRequest
from partstream.protocols.ag_ui.tool_calls import resume_entries
from partstream.protocols.ag_ui.write_request import NOT_RUN, WRITE_REQUEST, AGUISettings, Thread
from partstream.protocols.protocol import PROTOCOLS
from partstream.runtime.translation import write_question
from partstream.settings.kinds import ConfigurationError
from protocols.ag_ui.strict import check_request
from protocols.answers import requests
from rows import one_test_for
from upstream_settings import gateway_of

ORIGIN_OF_AGENT = Origin("u", "agent")
AGUI = PROTOCOLS["ag-ui"]


EMPTY = {"type": "object", "properties": {}}


def written(messages: Sequence[ChatMessage], options: RequestOptions = RequestOptions(), **changes: Any) -> Any:  # noqa: B008 - immutable
    prepared = prepare(ORIGIN_OF_AGENT, messages, options, RequestSettings(**changes))
    request = WRITE_REQUEST.write(prepared.request())
    check_request(dict(request.body))
    return request


def messages_of(*messages: ChatMessage, **changes: Any) -> list[dict[str, Any]]:
    """The messages without their ids."""
    said = written(messages, **changes).body["messages"]
    assert len({one["id"] for one in said}) == len(said)
    return [{name: value for name, value in one.items() if name != "id"} for one in said]


def carrying(*items: dict[str, Any]) -> ThinkingPart:
    """What VS Code gives back of an answer."""
    placed = [{"type": "ag-ui", "after": [0, 0], **item} for item in items]
    return ThinkingPart("", None, {ITEMS: placed, ORIGIN: ORIGIN_OF_AGENT.key})


def call(call_id: str, name: str, arguments: str = "{}") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


@given(asked=requests())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_every_request_is_one_that_the_published_models_know(asked: InboundRequest) -> None:
    check_request(dict(write_question(AGUI, asked).body))


def test_a_conversation_with_a_call_is_written_in_the_roles_of_the_wire() -> None:
    assert messages_of(
        ChatMessage.system("Be brief."),
        ChatMessage.user("Read a.py"),
        ChatMessage.assistant([TextPart("I look."), ToolCallPart("c", "read_file", {"path": "a.py"})]),
        ChatMessage.user([ToolResultPart("c", [TextPart("no such file")], is_error=True)]),
        ChatMessage.user("And b.py?"),
    ) == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Read a.py"},
        {"role": "assistant", "content": "I look.", "toolCalls": [call("c", "read_file", '{"path":"a.py"}')]},
        {"role": "tool", "toolCallId": "c", "content": "no such file", "error": "no such file"},
        {"role": "user", "content": "And b.py?"},
    ]


def test_files_are_parts_with_a_source_and_texts_alone_are_strings() -> None:
    [message] = messages_of(ChatMessage.user([TextPart("What is it?"), DataPart(PNG, "image/png")]))
    text, picture = message["content"]
    assert text == {"type": "text", "text": "What is it?"}
    assert picture["type"] == "image"
    assert (picture["source"]["type"], picture["source"]["mimeType"]) == ("data", "image/png")


def test_pictures_of_tools_follow_in_a_message_of_the_user_unless_a_person_says_otherwise() -> None:
    asked = [
        ChatMessage.user("Look"),
        ChatMessage.assistant([ToolCallPart("c", "look", {})]),
        ChatMessage.user([ToolResultPart("c", [DataPart(PNG, "image/png")])]),
    ]
    assert messages_of(*asked)[-1]["role"] == "user"
    [*_, result] = messages_of(*asked, tool_images=ToolImages.NATIVE)
    assert result["role"] == "tool"
    assert [part["type"] for part in result["content"]] == ["image"]


def test_messages_keep_their_ids_while_the_conversation_grows() -> None:
    first = written([ChatMessage.user("Hi")]).body
    second = written([ChatMessage.user("Hi"), ChatMessage.assistant("Hello"), ChatMessage.user("And?")]).body
    assert [one["id"] for one in second["messages"][:1]] == [one["id"] for one in first["messages"]]
    assert first["threadId"] != second["threadId"]


def test_a_conversation_keeps_its_thread_where_a_person_wants_it() -> None:
    own = AGUISettings(thread=Thread.CONVERSATION)
    first = written([ChatMessage.user("Hi")], own=own).body
    second = written([ChatMessage.user("Hi"), ChatMessage.assistant("Hello"), ChatMessage.user("And?")], own=own).body
    assert first["threadId"] == second["threadId"]


def test_each_sending_is_a_run_and_a_thread_of_its_own() -> None:
    request = written([ChatMessage.user("Hi")])
    assert WRITE_REQUEST.identify is not None
    sent = WRITE_REQUEST.identify(request, "abc").body
    assert (sent["threadId"], sent["runId"]) == ("thread_abc", "run_abc")
    kept = written([ChatMessage.user("Hi")], own=AGUISettings(thread=Thread.CONVERSATION))
    assert WRITE_REQUEST.identify(kept, "abc").body["threadId"] == kept.body["threadId"]


def test_the_path_names_the_model_where_a_person_says_so() -> None:
    assert (written([ChatMessage.user("Hi")]).path, written([ChatMessage.user("Hi")]).body["forwardedProps"]) == (
        "",
        {"model": "agent"},
    )
    request = written([ChatMessage.user("Hi")], own=AGUISettings(agent_path="/agents/{model}/run"))
    assert (request.path, request.body["forwardedProps"]) == ("/agents/agent/run", {})


def test_a_path_of_another_form_is_refused_with_what_was_expected() -> None:
    with pytest.raises(ConfigurationError, match="expected a path such as"):
        gateway_of({"baseUrl": "http://h", "protocol": "ag-ui", "request": {"agentPath": "https://other.example/x?y"}})


def test_options_are_passed_through_and_a_body_of_ones_own_adds_to_them() -> None:
    options = RequestOptions(
        [Tool("look_up", "Looks up.", {"type": "object"})],
        model_options={"temperature": 0, "max_tokens": 5, "_conversationId": "c", "tools": []},
        model_configuration={"reasoningEffort": "low"},
    )
    extra = {"forwardedProps": {"tenant": "acme"}, "state": {"board": []}}
    body = written([ChatMessage.user("Hi")], options, extra_body=extra).body
    assert body["forwardedProps"] == {
        "model": "agent",
        "temperature": 0,
        "maxOutputTokens": 5,
        "reasoningEffort": "low",
        "tenant": "acme",
    }
    assert body["state"] == {"board": []}
    assert body["tools"] == [{"name": "look_up", "description": "Looks up.", "parameters": EMPTY}]


# ---- what the agent did by itself ----

INNER = {"call": {"id": "i", "name": "search", "arguments": '{"q":1}'}, "parent": "m1"}
FOUND = {"message": {"role": "tool", "id": "of-i", "toolCallId": "i", "content": "found"}}


def test_an_own_call_and_an_external_one_of_a_batch_go_back_in_one_message() -> None:
    said = messages_of(
        ChatMessage.user("Both"),
        ChatMessage.assistant(
            [
                carrying(INNER, FOUND, {"toolCallId": "o", "parent": "m1", "encryptedValue": "kind"}),
                ToolCallPart("o", "read_file", {}),
            ]
        ),
        ChatMessage.user([ToolResultPart("o", [TextPart("read")])]),
    )
    assert said[1:] == [
        {
            "role": "assistant",
            "toolCalls": [call("i", "search", '{"q":1}'), {**call("o", "read_file"), "encryptedValue": "kind"}],
        },
        {"role": "tool", "toolCallId": "i", "content": "found"},
        {"role": "tool", "toolCallId": "o", "content": "read"},
    ]


def test_what_is_said_before_and_behind_an_own_call_are_two_messages() -> None:
    thought = {"message": {"role": "reasoning", "id": "r", "content": "Hm.", "encryptedValue": "sealed"}}
    inner, found = ({**one, "after": [0, 5]} for one in (INNER, FOUND))
    assert messages_of(
        ChatMessage.user("Go"),
        ChatMessage.assistant([carrying(thought, inner, found), TextPart("First"), TextPart("then")]),
        ChatMessage.user("Thanks"),
    ) == [
        {"role": "user", "content": "Go"},
        {"role": "reasoning", "content": "Hm.", "encryptedValue": "sealed"},
        {"role": "assistant", "content": "First", "toolCalls": [call("i", "search", '{"q":1}')]},
        {"role": "tool", "toolCallId": "i", "content": "found"},
        {"role": "assistant", "content": "then"},
        {"role": "user", "content": "Thanks"},
    ]


def test_an_own_call_without_a_result_gets_words_because_servers_refuse_it_alone() -> None:
    said = messages_of(
        ChatMessage.user("Go"), ChatMessage.assistant([carrying(INNER), TextPart("Hm")]), ChatMessage.user("So?")
    )
    assert [one.get("content") for one in said if one["role"] == "tool"] == [NOT_RUN]


# ---- answers to interrupts ----

DELETE = {"call": {"id": "d", "name": "delete_file", "arguments": "{}"}, "toolCallId": "d"}
ASKED = {
    "toolCallId": "",
    "interrupted": {"threadId": "t-1", "interrupts": [{"id": "int-d", "toolCallId": "d", "reason": "tool_call"}]},
}


def asking(*behind: ChatMessage) -> list[ChatMessage]:
    return [ChatMessage.user("Clean up"), ChatMessage.assistant([carrying(DELETE, ASKED), TextPart("May I?")]), *behind]


def test_the_reply_to_a_question_goes_into_resume_on_the_same_thread() -> None:
    body = written(asking(ChatMessage.user("Yes."))).body
    assert body["resume"] == [{"interruptId": "int-d", "status": "resolved", "payload": {"approved": True}}]
    assert body["threadId"] == "t-1"
    assert [one["role"] for one in body["messages"]] == ["user", "assistant"], "the call waits for its result"
    assert WRITE_REQUEST.identify is not None
    assert WRITE_REQUEST.identify(written(asking(ChatMessage.user("Yes."))), "abc").body["threadId"] == "t-1"


def test_an_answered_question_stands_in_later_turns_as_the_result_of_its_call() -> None:
    done = {"message": {"role": "tool", "id": "of-d", "toolCallId": "d", "content": "deleted"}}
    later = (
        ChatMessage.user("Yes."),
        ChatMessage.assistant([carrying(done), TextPart("Done.")]),
        ChatMessage.user("Fine"),
    )
    said = messages_of(*asking(*later))
    assert [one["role"] for one in said] == ["user", "assistant", "tool", "assistant", "user"]
    assert said[2]["content"] == "deleted"
    assert "resume" not in written(asking(*later)).body


def test_a_call_that_is_said_again_after_the_answer_stands_once() -> None:
    done = {"message": {"role": "tool", "id": "of-d", "toolCallId": "d", "content": "deleted"}}
    again = {"call": {"id": "d", "name": "delete_file", "arguments": "{}"}}
    answer = ChatMessage.assistant([carrying(again, done), TextPart("Done.")])
    said = messages_of(*asking(ChatMessage.user("Yes."), answer, ChatMessage.user("Fine")))
    assert [one["role"] for one in said] == ["user", "assistant", "tool", "assistant", "user"]
    assert said[2]["content"] == "deleted"


def test_a_question_that_nobody_answered_stops_nothing() -> None:
    later = (ChatMessage.user("What?"), ChatMessage.assistant("Something else."), ChatMessage.user("Fine"))
    said = messages_of(*asking(*later))
    assert [one["role"] for one in said] == ["user", "assistant", "tool", "user", "assistant", "user"]
    assert said[2]["content"] == NOT_RUN


APPROVAL = {"type": "object", "properties": {"approved": {"type": "boolean"}, "reason": {"type": "string"}}}
SIZE = {"type": "object", "properties": {"size": {"type": "integer"}}}
REPLIES: dict[str, tuple[dict[str, Any], str, Any]] = {
    "yes": ({"reason": "tool_call"}, "Yes!", {"approved": True}),
    "no": ({"reason": "tool_call"}, "no, not that", {"approved": False, "reason": "no, not that"}),
    "yes, but": ({"reason": "tool_call"}, "yes, but only b.py", {"approved": False, "reason": "yes, but only b.py"}),
    "no without a place for why": (
        {"reason": "x", "responseSchema": {"type": "object", "properties": {"approved": {}}}},
        "no",
        {"approved": False},
    ),
    "an approval as JSON": (
        {"reason": "tool_call", "responseSchema": APPROVAL},
        '{"approved": true, "editedArgs": {}}',
        {"approved": True, "editedArgs": {}},
    ),
    "a confirmation": ({"reason": "confirmation"}, "ok", True),
    "no confirmation": ({"reason": "confirmation"}, "hm", False),
    "a boolean": ({"reason": "x", "responseSchema": {"type": "boolean"}}, "yes", True),
    "words": ({"reason": "input_required"}, " Paris ", "Paris"),
    "a number": ({"reason": "x", "responseSchema": {"type": "integer"}}, "7", 7),
    "one field": ({"reason": "x", "responseSchema": SIZE}, "7", {"size": 7}),
    "an object": ({"reason": "x", "responseSchema": SIZE}, '{"size": 7}', {"size": 7}),
    "allowed actions": (
        {"reason": "x", "decisions": 2},
        "yes",
        {"decisions": [{"type": "approve"}, {"type": "approve"}]},
    ),
    "a refused action": (
        {"reason": "x", "decisions": 1},
        "not now",
        {"decisions": [{"type": "reject", "message": "not now"}]},
    ),
    "a choice": ({"reason": "x", "responseSchema": {"enum": ["Red", "Blue"]}}, "blue", "Blue"),
}


@one_test_for(("interrupt", "reply", "payload"), REPLIES.values(), ids=REPLIES)
def test_a_reply_has_the_form_that_the_interrupt_wants(interrupt: dict[str, Any], reply: str, payload: Any) -> None:
    entries = resume_entries({"interrupts": [{"id": "i", **interrupt}]}, reply)
    assert entries == [{"interruptId": "i", "status": "resolved", "payload": payload}]


def test_a_person_who_cancels_answers_every_interrupt_without_a_payload() -> None:
    entries = resume_entries({"interrupts": [{"id": "i"}, {"id": "j"}]}, "Cancel.")
    assert entries == [{"interruptId": name, "status": "cancelled"} for name in ("i", "j")]
