"""What the scripted model refuse, and what they take."""

import pytest

from conversation.samples import assistant, called, gave, system, user
from partstream import ChatMessage, RequestOptions, TextPart, ThinkingPart
from partstream.errors import InvalidRequestError
from partstream.lm.outputs import Finish, InboundRequest
from partstream_devtools.testing.directives import NamedValue
from partstream_devtools.testing.scripted_model import play
from partstream_devtools.testing.vendors.vendor import check_calls, check_request, check_signatures
from rows import one_test_for
from testing.clients import body, run


def _answer(name):
    asked = InboundRequest("m", (ChatMessage.user('call:f{"x":1} call:g{}'),), RequestOptions())
    return [part for part in play(NamedValue(name), asked, "one") if not isinstance(part, Finish)]


def _signed(name):
    return [part.metadata for part in _answer(name) if isinstance(part, ThinkingPart) and part.metadata]


@one_test_for(
    "messages",
    [
        [user("Hi")],
        [system("rules"), user("Hi"), assistant([called("a"), called("b")]), user([gave("b"), gave("a")])],
        [user("Hi"), assistant([called("a")]), user([gave("a")]), assistant([called("a")]), user([gave("a")])],
        [user("Hi"), assistant([called("a")]), assistant("then"), user([gave("a"), TextPart("and?")])],
        [user("Hi"), assistant([called("a")]), user("wait"), user([gave("a")])],
    ],
)
def test_calls_that_have_their_results_are_taken(messages):
    check_calls(messages)


@pytest.mark.parametrize(
    ("messages", "where"),
    [
        ([user("Hi"), assistant([called("a")])], "messages[1].content[0]"),
        ([user("Hi"), user([gave("a")])], "messages[1].content[0]"),
        ([user("Hi"), assistant([called("a")]), user([gave("a"), gave("a")])], "messages[2].content[1]"),
    ],
)
def test_a_call_and_a_result_that_stand_alone_are_refused_with_their_place(messages, where):
    with pytest.raises(InvalidRequestError) as raised:
        check_calls(messages)
    assert raised.value.where == where


def test_a_request_that_goes_on_from_a_stored_response_brings_results_alone():
    messages = (user([gave("a")]),)
    check_request(InboundRequest("m", messages, RequestOptions(), unmapped={"previous_response_id": "resp_1"}))
    with pytest.raises(InvalidRequestError):
        check_request(InboundRequest("m", messages, RequestOptions()))


def test_what_comes_back_as_it_was_signed_is_taken():
    check_signatures([user("Hi"), assistant(_answer("tools"))])


@pytest.mark.parametrize("name", ["thinking", "tools"])
def test_what_comes_back_beside_something_else_is_refused(name):
    item = _signed(name)[-1]["reasoning_items"][-1]
    changed = item | {"toolCallId" if item["type"] == "tool-call" else "text": "changed"}
    with pytest.raises(InvalidRequestError, match="a signature of something else"):
        check_signatures([assistant([ThinkingPart("", None, {"reasoning_items": [changed]})])])


def test_what_others_signed_is_none_of_its_business():
    for metadata in ({"reasoning_items": [{"providerOptions": {"openai": {"x": 1}}}, "odd"]}, {"reasoning_items": 1}):
        check_signatures([assistant([ThinkingPart("t", None, metadata)])])


def test_the_upstream_refuses_it_over_http():
    async def check(upstream, client):
        call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
        response = await client.post("/responses", json=body(input=[{"role": "user", "content": "Hi"}, call]))
        assert response.status_code == 400
        assert "the call 'c' without a result" in response.json()["error"]["message"]

    run(check)
