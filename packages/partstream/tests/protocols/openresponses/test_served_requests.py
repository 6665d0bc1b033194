"""Requests that refer to earlier responses: what is joined, and what is refused by name."""

from typing import Any

import pytest

from partstream.errors import InvalidRequestError, UnsupportedParameterError
from partstream.protocols.failures import RefusedRequestError, failure_of
from partstream.protocols.openresponses.serve import READ_REQUEST, OpenResponsesWriter
from partstream.protocols.serve import RequestReferences, ResolvedReferences, ServedState
from protocols.openresponses.served import SECRET, call, message, output, request, stored
from rows import one_test_for

assert OpenResponsesWriter.state is not None
STATE: ServedState = OpenResponsesWriter.state


@one_test_for(
    ("body", "expected"),
    [
        ({"input": "hi"}, RequestReferences()),
        ({"input": "hi", "previous_response_id": "r1"}, RequestReferences("r1")),
        ({"input": "hi", "previous_response_id": None}, RequestReferences()),
        ({"input": [{"type": "item_reference", "id": "i1"}, message("hi")]}, RequestReferences(None, ("i1",))),
        ({"input": [{"id": "i1"}]}, RequestReferences(None, ("i1",))),  # the specification lets the type be left out
        ({"input": [{"id": "i1", "role": "user", "content": "hi"}]}, RequestReferences()),
    ],
)
def test_a_request_says_what_it_refers_to(body: dict[str, Any], expected: RequestReferences) -> None:
    assert STATE.wanted(request(**body)) == expected


@pytest.mark.parametrize(
    ("earlier", "body", "expected"),
    [
        pytest.param((), {"input": "hi"}, [message("hi")], id="a request of its own"),
        pytest.param(
            (stored("r1", message("a"), said="A"),),
            {"input": "b", "previous_response_id": "r1"},
            [message("a"), {**message("A", "assistant"), "id": "msg_r1"}, message("b")],
            id="behind input and output of the response before",
        ),
        pytest.param(
            (stored("r1", message("a"), said="A"), stored("r2", message("b"), said="B", previous="r1")),
            {"input": "c", "previous_response_id": "r2"},
            [
                message("a"),
                {**message("A", "assistant"), "id": "msg_r1"},
                message("b"),
                {**message("B", "assistant"), "id": "msg_r2"},
                message("c"),
            ],
            id="behind a chain, the oldest first",
        ),
        pytest.param(
            (stored("r1", message("a"), calls=("c1",)),),
            {"input": [output("c1")], "previous_response_id": "r1"},
            [message("a"), call("c1"), output("c1")],
            id="an output of a call of the response before",
        ),
    ],
)
def test_the_model_is_asked_all_that_came_before(earlier: Any, body: dict[str, Any], expected: list[Any]) -> None:
    joined = STATE.join(request(**body), ResolvedReferences(earlier), SECRET)
    assert joined.asks.body["input"] == expected
    own = body["input"]
    assert joined.own.body["input"] == ([message(own)] if isinstance(own, str) else own)


def test_instructions_and_tools_are_those_of_the_new_request_alone() -> None:
    before = stored("r1", message("a"), said="A")
    asks = STATE.join(
        request(input="b", previous_response_id="r1", instructions="new"), ResolvedReferences((before,)), SECRET
    ).asks
    read = READ_REQUEST.read(asks)
    assert [part.value for part in read.messages[0].content] == ["new"]
    assert read.options.tools == ()
    assert asks.body["previous_response_id"] == "r1"  # the response repeats it


def test_a_reference_becomes_the_item_that_it_names() -> None:
    asked = request(input=[{"type": "item_reference", "id": "fc_c1"}, output("c1")])
    joined = STATE.join(asked, ResolvedReferences(items={"fc_c1": call("c1")}), SECRET)
    assert joined.asks.body["input"] == joined.own.body["input"] == [call("c1"), output("c1")]


@pytest.mark.parametrize(
    ("body", "earlier", "param", "code", "status"),
    [
        pytest.param(
            {"input": "hi", "previous_response_id": "r9"}, (),
            "previous_response_id", "previous_response_not_found", 400,
            id="an unknown response",
        ),
        pytest.param({"input": [{"type": "item_reference", "id": "i9"}]}, (), "input[0].id", None, 404, id="an item"),
        pytest.param(
            {"input": [output("c9")], "previous_response_id": "r1"}, (stored("r1", message("a"), said="A"),),
            "input[0].call_id", None, 400,
            id="an output without its call",
        ),
    ],
)  # fmt: skip
def test_what_is_not_known_is_refused(body: Any, earlier: Any, param: str, code: str | None, status: int) -> None:
    with pytest.raises(RefusedRequestError) as caught:
        STATE.join(request(**body), ResolvedReferences(earlier), SECRET)
    assert (caught.value.param, caught.value.code, caught.value.status) == (param, code, status)


@pytest.mark.parametrize("body", [{"previous_response_id": 5}, {"input": 5}])
def test_a_field_of_the_wrong_type_is_refused_by_its_name(body: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError, match=next(iter(body))):
        STATE.wanted(request(**body))


@one_test_for(
    ("body", "param"),
    [
        ({"conversation": "conv_1"}, "conversation"),
        ({"conversation": {"id": "conv_1"}}, "conversation"),
        ({"background": True}, "background"),
        ({"prompt": {"id": "p"}}, "prompt"),
        ({"stream_id": "lane"}, "stream_id"),
    ],
)
def test_what_a_server_has_not_is_refused_by_the_name_of_the_field(body: dict[str, Any], param: str) -> None:
    with pytest.raises(UnsupportedParameterError, match=f"^{param}: got .*, expected nothing: this server ") as caught:
        STATE.refuse(request(**body))
    reply = OpenResponsesWriter.failed(failure_of(caught.value))
    error = reply.body["error"]
    assert (reply.status, error["param"], error["code"]) == (400, param, "unsupported_parameter")


@pytest.mark.parametrize("body", [{}, {"conversation": None}, {"background": False}, {"surprise": 1}])
def test_other_fields_are_not_refused(body: dict[str, Any]) -> None:
    STATE.refuse(request(**body))


@pytest.mark.parametrize(("body", "kept"), [({}, True), ({"store": True}, True), ({"store": False}, False)])
def test_a_response_is_kept_unless_the_client_says_otherwise(body: dict[str, Any], kept: bool) -> None:
    assert STATE.keeps(request(**body)) is kept
    assert STATE.keeps(STATE.unkept(request(**body))) is False


def test_what_is_kept_holds_the_state_that_the_model_wants_back() -> None:
    assert STATE.join(request(input="a"), ResolvedReferences(), SECRET).asks.body["include"] == [
        "reasoning.encrypted_content"
    ]
    assert "include" not in STATE.join(request(input="a", store=False), ResolvedReferences(), SECRET).asks.body
