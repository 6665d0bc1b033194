"""Thinking that comes back changed, at another place or not at all is refused.

Source: docs/wires/anthropic-messages.md#thinking-that-goes-back.
"""

from typing import Any

from partstream.lm.outputs import Reply
from partstream.protocols.anthropic_messages.provider_state import UNSIGNED
from partstream.protocols.anthropic_messages.serve import READ_REQUEST, MessagesResponseWriter
from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.serve import WireRequest
from partstream_devtools.testing.directives import NamedValue
from partstream_devtools.testing.scripted_model import play, signature
from partstream_devtools.testing.vendors.anthropic_messages import VENDOR
from partstream_devtools.testing.vendors.vendor import check_signed_state
from rows import one_test_for

TOOL = {"name": "look_up", "input_schema": {"type": "object"}}
QUESTION = {"role": "user", "content": "What is the weather?"}
INVALID = "messages.1.content.0: Invalid `signature` in `thinking` block"
CHANGED = (
    "messages.1.content.3: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be "
    "modified. These blocks must remain as they were in the original response."
)


def asking(messages: list[Any], **fields: Any) -> WireRequest:
    body = {"model": "m", "max_tokens": 4096, "thinking": {"type": "adaptive"}, "tools": [TOOL], "messages": messages}
    return WireRequest("/messages", body | fields)


def answer(**fields: Any) -> list[dict[str, Any]]:
    """What the scripted model answers: thinking, state of another wire, text, two calls."""
    asked = READ_REQUEST.read(asking([QUESTION], **fields))
    writer = MessagesResponseWriter(asked, Reply("reply", 0))
    events = [event for output in play(NamedValue("tools"), asked, "reply") for event in writer.write(output)]
    content: list[dict[str, Any]] = MessagesResponseWriter.document(events)[1]["content"]
    return content


def going_on(content: list[dict[str, Any]], **fields: Any) -> WireRequest:
    """The next request of the tool loop, with this content as the answer before it."""
    results = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": "yes"}
        for block in content
        if block["type"] == "tool_use"
    ]
    assistant, user = {"role": "assistant", "content": content}, {"role": "user", "content": results}
    return asking([QUESTION, assistant, user], **fields)


def refusal(request: WireRequest) -> str | None:
    try:
        check_signed_state(VENDOR.signed_state(request), request.body["model"])
    except RefusedRequestError as error:
        return str(error)
    return None


def test_an_answer_is_signed_thinking_sealed_state_text_and_calls():
    content = answer()
    kinds = [block["type"] for block in content]
    assert kinds == ["thinking", "text", "redacted_thinking", "tool_use", "tool_use"]
    assert content[0]["signature"] == signature(content[0]["thinking"])


def test_blocks_that_come_back_as_they_were_are_taken():
    assert refusal(going_on(answer())) is None


def test_hidden_thinking_comes_back_empty_and_is_taken():
    hidden = {"type": "adaptive", "display": "omitted"}
    content = answer(thinking=hidden)
    assert content[0]["thinking"] == ""
    assert refusal(going_on(content, thinking=hidden)) is None


@one_test_for(
    ("change", "words"),
    [
        ({"thinking": "Something else."}, INVALID),
        ({"signature": "c2lnbmVkIGJ5IGFub3RoZXI="}, INVALID),
        ({"signature": signature("Something else.")}, INVALID),
        ({"thinking": "", "signature": "c2ln"}, INVALID),
        ({"signature": UNSIGNED}, CHANGED),
        ({"thinking": "Something else.", "signature": signature("Something else.")}, CHANGED),
    ],
)
def test_changed_thinking_is_refused(change: dict[str, Any], words: str):
    content = answer()
    content[0] |= change
    assert refusal(going_on(content)) == words


def test_thinking_that_is_missing_in_a_tool_loop_is_refused():
    said = refusal(going_on(answer()[1:]))
    assert said is not None
    assert said.startswith("messages.1.content.2: `thinking` or `redacted_thinking` blocks in the latest assistant")


def test_thinking_may_be_missing_where_it_is_switched_off_or_another_model_made_the_calls():
    content = answer()[1:]
    assert refusal(going_on(content, thinking={"type": "disabled"})) is None
    assert refusal(going_on(content, model="another")) is None


def test_thinking_of_finished_turns_may_be_missing_but_not_forged():
    content = answer()
    said = [*going_on(content[1:]).body["messages"], {"role": "assistant", "content": "Warm."}, QUESTION]
    assert refusal(asking(said)) is None
    content[0]["thinking"] = "Something else."
    said = [*going_on(content).body["messages"], {"role": "assistant", "content": "Warm."}, QUESTION]
    assert refusal(asking(said)) == INVALID
