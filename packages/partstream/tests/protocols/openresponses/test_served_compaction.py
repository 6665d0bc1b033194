"""Compaction: the model's summary, signed, in place of what it summarises, and accepted as input again."""

from collections.abc import Callable
from typing import Any

import pytest

from partstream.codec.json_codec import dumps
from partstream.conversation.provider_state import sign
from partstream.errors import InvalidRequestError
from partstream.lm.outputs import Finish, Outcome, Reply, StreamOutput
from partstream.lm.parts import DataPart, FinishReason, TextPart, ThinkingPart, UnifiedFinishReason, Usage
from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.openresponses.serve import READ_REQUEST, OpenResponsesWriter
from partstream.protocols.openresponses.stored_responses import sealed_summary
from partstream.protocols.serve import ResolvedReferences, ServedState
from protocols.openresponses.served import DONE, SECRET, call, message, output, request

[COMPACT] = OpenResponsesWriter.further
assert OpenResponsesWriter.state is not None
STATE: ServedState = OpenResponsesWriter.state

MODEL = {"model": request(input=[]).body["model"]}
CONVERSATION = [
    message("You are terse.", "developer"),
    message("What is the weather in Rome?"),
    call("c1"),
    output("c1"),
    message("It is 42 degrees.", "assistant"),
    message("Remember: slate."),
]


def compacted(items: Any, *outputs: StreamOutput, secret: bytes = SECRET) -> tuple[int, dict[str, Any]]:
    asked = COMPACT.reads.read(request(input=items, path=COMPACT.path))
    writer = COMPACT.writes(asked, Reply("1", 7, secret=secret))
    events = [event for one in (outputs or (TextPart("All of it."), DONE)) for event in writer.write(one)]
    status, document = COMPACT.writes.document(events)
    return status, dict(document)


def test_the_model_is_given_the_conversation_and_the_task_without_tools() -> None:
    asked = COMPACT.reads.read(request(input=CONVERSATION, instructions="Be exact.", prompt_cache_key="k"))
    texts = ["".join(part.value for part in one.content if isinstance(part, TextPart)) for one in asked.messages]
    assert texts[0] == "Be exact."
    assert texts[-1].startswith("Summarise the conversation above")
    assert any("f" in text and "c1" in text for text in texts)  # the call
    assert any("42" in text for text in texts)  # its result
    assert asked.options.tools == ()
    assert not asked.stream
    assert all(isinstance(part, TextPart | DataPart) for one in asked.messages for part in one.content)


def test_the_reply_keeps_what_people_said_and_ends_with_the_summary() -> None:
    usage = Usage(input_tokens=30, output_tokens=5)
    status, reply = compacted(
        CONVERSATION, ThinkingPart("hm"), TextPart("All of it."), Finish(Outcome.COMPLETED, usage=usage)
    )
    assert (status, reply["object"], reply["created_at"]) == (200, "response.compaction", 7)
    assert reply["usage"]["total_tokens"] == 35
    *kept, summary = reply["output"]
    assert [(item["role"], item["content"][0]["text"]) for item in kept] == [
        ("developer", "You are terse."), ("user", "What is the weather in Rome?"), ("user", "Remember: slate."),
    ]  # fmt: skip
    assert summary["type"] == "compaction"
    assert len({item["id"] for item in reply["output"]}) == len(reply["output"])


def test_what_it_returns_is_accepted_as_input_and_says_the_summary() -> None:
    _, reply = compacted(CONVERSATION)
    joined = STATE.join(request(input=[*reply["output"], message("Go on.")]), ResolvedReferences(), SECRET)
    read = READ_REQUEST.read(joined.asks)
    said = "\n".join(part.value for one in read.messages for part in one.content if isinstance(part, TextPart))
    assert "All of it." in said
    assert "Remember: slate." in said
    assert said.endswith("Go on.")
    assert not read.unmapped.get("input[].compaction")


def test_a_compacted_conversation_can_be_compacted_again() -> None:
    _, first = compacted(CONVERSATION)
    again = STATE.join(request(input=[*first["output"], message("More.")]), ResolvedReferences(), SECRET).asks.body[
        "input"
    ]
    status, second = compacted(again, TextPart("Shorter."), DONE)
    assert status == 200
    assert "All of it." not in dumps(second).decode()  # the summary before is part of the new one
    assert [item["type"] for item in second["output"]].count("compaction") == 1


def test_a_call_that_waits_for_its_output_stays() -> None:
    _, reply = compacted([message("go"), call("c1"), output("c1"), call("c2")])
    assert [item["call_id"] for item in reply["output"] if item["type"] == "function_call"] == ["c2"]
    STATE.join(request(input=[*reply["output"], output("c2")]), ResolvedReferences(), SECRET)


def test_a_call_of_any_form_that_waits_for_its_output_stays() -> None:
    patch = {"type": "custom_tool_call", "name": "apply_patch", "input": "p"}
    shell = {"type": "local_shell_call", "action": {"type": "exec", "command": ["ls"]}}
    ran = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}}
    done = [
        {**patch, "call_id": "p1"},
        {"type": "custom_tool_call_output", "call_id": "p1", "output": "Done"},
        {**shell, "call_id": "s1"},
        {"type": "local_shell_call_output", "id": "s1", "output": "a.txt"},
    ]
    _, reply = compacted([message("go"), *done, ran, {**patch, "call_id": "p2"}, {**shell, "call_id": "s2"}])
    assert [item["call_id"] for item in reply["output"] if "call_id" in item] == ["p2", "s2"]
    assert not [item for item in reply["output"] if item["type"] == "web_search_call"]


def test_the_oldest_messages_give_way_where_they_are_too_long() -> None:
    long = [message(f"{number} " + "x" * 25_000) for number in range(4)]
    _, reply = compacted(long)
    assert [item["content"][0]["text"][0] for item in reply["output"][:-1]] == ["2", "3"]


def test_an_image_of_a_kept_message_has_all_fields_of_an_item() -> None:
    content = [
        {"type": "input_text", "text": "this"},
        {"type": "input_image", "image_url": "data:image/png;base64,eA=="},
    ]
    _, reply = compacted([{"role": "user", "content": content}])
    assert reply["output"][0]["content"][1]["detail"] == "auto"


NOT_OURS: dict[str, Callable[[str], str]] = {
    "another last letter": lambda text: text[:-1] + ("A" if text[-1] != "A" else "B"),
    "no summary": lambda _: "partstream-signed1.x.y",
    "another secret": lambda _: sealed_summary("s", b"the secret of another one", MODEL),
    "another model": lambda _: sealed_summary("s", SECRET, {"model": "another"}),
    "no model": lambda _: sealed_summary("s", SECRET, {}),
    "another purpose": lambda _: sign({"kind": "page", "summary": "s", **MODEL}, SECRET),
    "no purpose": lambda _: sign({"summary": "s", **MODEL}, SECRET),
    "no mapping": lambda _: sign(["summary"], SECRET),
}


@pytest.mark.parametrize("change", NOT_OURS)
def test_a_summary_that_was_not_signed_for_its_request_is_refused(change: str) -> None:
    _, reply = compacted(CONVERSATION)
    good = reply["output"][-1]
    item = {**good, "encrypted_content": NOT_OURS[change](good["encrypted_content"])}
    with pytest.raises(RefusedRequestError) as caught:
        STATE.join(request(input=[good, item]), ResolvedReferences(), SECRET)
    assert (caught.value.param, caught.value.code) == ("input[1].encrypted_content", "invalid_encrypted_content")


def test_a_summary_of_an_upstream_goes_through_as_it_is() -> None:
    item = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAA"}
    assert STATE.join(request(input=[item]), ResolvedReferences(), SECRET).asks.body["input"] == [item]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"model": None, "input": "hi"}, InvalidRequestError),
        ({"model": "", "input": "hi"}, InvalidRequestError),
        ({"input": []}, RefusedRequestError),
        ({}, RefusedRequestError),
    ],
)
def test_a_request_without_model_or_conversation_is_refused(body: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=r"model|input"):
        COMPACT.reads.read(request(**body))


@pytest.mark.parametrize(
    "outputs",
    [
        (Finish(Outcome.FAILED),),
        (TextPart("half"), Finish(Outcome.INCOMPLETE, FinishReason(UnifiedFinishReason.LENGTH))),
        (TextPart("  "), DONE),
    ],
)
def test_a_summary_that_is_not_whole_is_an_error(outputs: tuple[StreamOutput, ...]) -> None:
    status, reply = compacted(CONVERSATION, *outputs)
    assert status == 500
    assert reply["error"]["message"]


TRIGGER = {"type": "compaction_trigger"}


def triggered(*outputs: StreamOutput, **body: Any) -> list[dict[str, Any]]:
    asked = READ_REQUEST.read(request(input=[*CONVERSATION, TRIGGER], **body))
    writer = OpenResponsesWriter(asked, Reply("1", 7, secret=SECRET))
    return [dict(event) for one in outputs for event in writer.write(one)]


def test_a_trigger_asks_the_model_for_the_summary_that_the_path_for_compaction_asks_for() -> None:
    schema = {"format": {"type": "json_schema", "name": "n", "schema": {}}}
    tool = {"type": "function", "name": "f"}
    body = {"instructions": "Be exact.", "prompt_cache_key": "k", "tools": [tool], "text": schema, "stream": True}
    asked = READ_REQUEST.read(request(input=[*CONVERSATION, TRIGGER], **body))
    compact = COMPACT.reads.read(request(input=CONVERSATION, instructions="Be exact.", prompt_cache_key="k"))
    assert (asked.messages, asked.options) == (compact.messages, compact.options)
    assert asked.stream
    again = COMPACT.reads.read(request(input=[*CONVERSATION, TRIGGER], instructions="Be exact.", prompt_cache_key="k"))
    assert again.messages == compact.messages


def test_the_response_to_a_trigger_is_one_item_with_the_summary() -> None:
    events = triggered(ThinkingPart("hm"), TextPart("All "), TextPart("of it."), DONE)
    [item] = events[-1]["response"]["output"]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert {event.get("item_id", item["id"]) for event in events} == {item["id"]}
    joined = STATE.join(request(input=[item, message("Go on.")]), ResolvedReferences(), SECRET)
    assert joined.asks.body["input"][0]["content"].endswith("All of it.")


@pytest.mark.parametrize(
    ("outputs", "said"),
    [
        ((Finish(Outcome.FAILED),), "it gave no reason"),
        ((TextPart("half"), Finish(Outcome.INCOMPLETE, FinishReason(UnifiedFinishReason.LENGTH))), "max_output_tokens"),
        ((DONE,), "an empty answer"),
    ],
)
def test_a_response_to_a_trigger_without_a_whole_summary_fails(outputs: tuple[StreamOutput, ...], said: str) -> None:
    events = triggered(*outputs)
    assert events[-1]["type"] == "response.failed"
    assert said in events[-1]["response"]["error"]["message"]
    assert events[-1]["response"]["output"] == []
    assert OpenResponsesWriter.document(events)[0] == 500


@pytest.mark.parametrize(
    ("items", "error", "where"),
    [
        ([TRIGGER], RefusedRequestError, "input"),
        ([message("a"), TRIGGER, message("b")], InvalidRequestError, r"input\[1\]"),
    ],
)
def test_a_trigger_needs_a_conversation_before_it_and_nothing_after_it(
    items: list[Any], error: type[Exception], where: str
) -> None:
    with pytest.raises(error, match=where):
        READ_REQUEST.read(request(input=items))
