"""The WebSocket of responses: which messages are requests, what a socket remembers, and what it forgets."""

from typing import Any

import pytest

from partstream.codec.json_codec import dumps, loads
from partstream.lm.outputs import Finish, Outcome
from partstream.lm.parts import TextPart
from partstream.protocols.openresponses.serve import READ_REQUEST
from partstream.protocols.openresponses.stored_responses import SOCKET
from partstream.protocols.serve import (
    RequestReferences,
    ResolvedReferences,
    SocketConversation,
    SocketTurn,
    WireRequest,
)
from protocols.openresponses.served import DONE, frames_of, message, recorded, request
from rows import one_test_for

HANDSHAKE = WireRequest("/responses", {}, {"user-agent": "u"}, method="GET", base_path="/v1")


def opened() -> SocketConversation:
    return SOCKET(HANDSHAKE)


def create(**body: Any) -> bytes:
    return dumps({"type": "response.create", "model": "m", **body})


def taken(socket: SocketConversation, **body: Any) -> SocketTurn:
    assert socket.receive(create(**body)) == []
    turn = socket.next_turn()
    assert turn is not None
    return turn


def test_a_request_is_the_one_that_would_have_come_over_http() -> None:
    turn = taken(opened(), input="hi", store=False, stream=True, stream_options={}, generate=True)
    expected = {"model": "m", "input": "hi", "store": False, "stream": True, "stream_options": {}}
    assert turn == SocketTurn(WireRequest("/responses", expected, {"user-agent": "u"}, base_path="/v1"))
    assert READ_REQUEST.read(turn.request).stream


def test_a_client_may_announce_its_conversation_without_an_answer() -> None:
    turn = taken(opened(), input="hi", generate=False)
    assert not turn.generates
    assert "generate" not in turn.request.body


@one_test_for(
    ("sent", "code", "param"),
    [
        (b"not JSON", "invalid_json", None),
        (b"\xff", "invalid_json", None),
        (b'{"type":"response.steer","input":1e999}', "invalid_json", None),
        (b"[" * 2000 + b"]" * 2000, "invalid_json", None),
        (b"[]", "invalid_request", "type"),
        (b"{}", "invalid_request", "type"),
        (b'{"type":"response.cancel"}', "invalid_request", "type"),
    ],
)
def test_a_message_that_is_no_request_is_answered_with_an_error_and_changes_nothing(
    sent: bytes, code: str, param: str | None
) -> None:
    socket = opened()
    taken(socket, input="hi")
    [frame] = socket.receive(sent)
    event = loads(frame.encode())
    assert (event["type"], event["status"]) == ("error", 400)
    assert (event["error"]["code"], event["error"]["param"]) == (code, param)
    assert socket.next_turn() is None  # the request before is still being answered


def test_steering_is_refused_in_an_event_of_its_own_that_ends_no_response_and_returns_the_input() -> None:
    socket = opened()
    taken(socket, input="hi")
    steer = {"previous_response_id": "resp_1", "input": [message("now")]}
    [frame] = socket.receive(dumps({"type": "response.steer", **steer}))
    event = loads(frame.encode())
    assert (event["type"], event["steer"]) == ("response.steer.failed", steer)
    assert (event["error"]["code"], event["error"]["type"]) == ("steering_not_supported", "invalid_request_error")
    assert event["error"]["message"].startswith("response.steer: got input for the response 'resp_1', expected")
    socket.ended(ResolvedReferences(), None)
    assert socket.next_turn() is None  # the input waits nowhere


def test_a_lane_is_refused_by_its_name_on_that_lane() -> None:
    socket = opened()
    taken(socket, input="hi")
    [frame] = socket.receive(create(input="b", stream_id="research"))
    event = loads(frame.encode())
    assert (event["type"], event["status"], event["stream_id"]) == ("error", 400, "research")
    assert (event["error"]["code"], event["error"]["param"]) == ("unsupported_parameter", "stream_id")
    assert event["error"]["message"].startswith("stream_id: got 'research', expected nothing: this server has no lanes")
    socket.ended(ResolvedReferences(), None)
    assert socket.next_turn() is None


def test_requests_wait_for_their_turn_and_too_many_are_refused() -> None:
    socket = opened()
    taken(socket, input="0")
    refusals = [socket.receive(create(input=str(number))) for number in range(1, 11)]
    assert [len(one) for one in refusals] == [0] * 8 + [1] * 2
    assert loads(refusals[-1][0].encode())["status"] == 429
    assert socket.next_turn() is None
    socket.ended(ResolvedReferences(), None)
    turn = socket.next_turn()
    assert turn is not None
    assert turn.request.body["input"] == "1"


def test_the_events_of_a_stream_are_messages_without_framing_and_mark_of_the_end() -> None:
    asked = request(input="hi", stream=True)
    data = b": keep-alive\n\n" + b"".join(frames_of(asked, TextPart("a"), DONE))
    events = [loads(one.encode()) for one in opened().messages(data)]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert (events[0]["type"], events[-1]["type"]) == ("response.created", "response.completed")


def test_a_failure_in_the_stream_ends_the_turn_once() -> None:
    data = b"".join(frames_of(request(input="hi", stream=True), TextPart("a"), Finish(Outcome.FAILED)))
    kinds = [loads(one.encode())["type"] for one in opened().messages(data)]
    assert kinds[-1] == "response.failed"
    assert "error" not in kinds


def test_a_socket_remembers_its_last_response_with_the_conversation_before_it() -> None:
    socket = opened()
    asked = taken(socket, input="a", store=False).request
    first = recorded(asked, TextPart("A"), DONE)
    socket.ended(ResolvedReferences(), first)
    earlier = socket.recall(RequestReferences(first.id))
    [kept] = earlier.chain
    assert kept.request == {"input": [message("a")]}

    asked = taken(socket, input="b", store=False, previous_response_id=first.id).request
    second = recorded(
        asked,
        TextPart("B"),
        DONE,
    )
    socket.ended(earlier, second)
    [kept] = socket.recall(RequestReferences(second.id)).chain
    assert [item["content"] for item in kept.request["input"] if item["role"] == "user"] == ["a", "b"]
    assert len(kept.request["input"]) == 3
    if first.id != second.id:
        assert socket.recall(RequestReferences(first.id)) == ResolvedReferences()  # only the last one


def test_items_of_the_last_response_are_found_by_their_ids() -> None:
    socket = opened()
    first = recorded(taken(socket, input="a", store=False).request, TextPart("A"), DONE)
    socket.ended(ResolvedReferences(), first)
    item = first.response["output"][0]
    assert socket.recall(RequestReferences(None, (item["id"], "x"))) == ResolvedReferences((), {item["id"]: item})


@pytest.mark.parametrize("way", ["refused", "failed", "nothing"])
def test_a_turn_that_fails_forgets_the_response_that_it_continued(way: str) -> None:
    socket = opened()
    first = recorded(taken(socket, input="a", store=False).request)
    socket.ended(ResolvedReferences(), first)
    asked = taken(socket, input="b", store=False, previous_response_id=first.id).request
    if way == "refused":
        [frame] = socket.refused(400, {"error": {"message": "no", "type": "invalid_request", "code": None}})
        event = loads(frame.encode())
        assert event == {
            "type": "error", "status": 400,
            "error": {"message": "no", "type": "invalid_request", "code": "invalid_request"},
        }  # fmt: skip
    else:
        failed = recorded(asked, TextPart("x"), Finish(Outcome.FAILED)) if way == "failed" else None
        socket.ended(ResolvedReferences((first,)), failed)
    assert socket.recall(RequestReferences(first.id)) == ResolvedReferences()


def test_a_failed_turn_that_continued_nothing_forgets_nothing() -> None:
    socket = opened()
    first = recorded(taken(socket, input="a", store=False).request)
    socket.ended(ResolvedReferences(), first)
    taken(socket, input="b", previous_response_id="another")
    socket.refused(400, {"error": {"message": "no", "type": "t", "code": "previous_response_not_found"}})
    assert socket.recall(RequestReferences(first.id)).chain


def test_a_socket_says_why_it_is_closed_after_its_time() -> None:
    [frame] = opened().too_old()
    assert loads(frame.encode())["error"]["code"] == "websocket_connection_limit_reached"
