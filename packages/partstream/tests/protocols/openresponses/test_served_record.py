"""What is kept of a response: the response, its own input, and the bytes of its stream."""

from partstream.codec.json_codec import loads
from partstream.lm.outputs import Finish, Outcome
from partstream.lm.parts import TextPart, ToolCallPart
from partstream.protocols.openresponses.stored_responses import STATE, event_of
from protocols.openresponses.served import DONE, frames_of, message, recorded, request


def test_the_frames_are_those_that_were_sent_and_their_place_is_their_number() -> None:
    asked = request(input="hi", stream=True)
    sent = frames_of(asked, TextPart("hel"), TextPart("lo"), DONE)[:-1]
    answer = recorded(asked, TextPart("hel"), TextPart("lo"), DONE)
    assert list(answer.frames or ()) == sent
    assert [event_of(frame)["sequence_number"] for frame in sent] == list(range(len(sent)))


def test_frames_that_are_sent_together_with_comments_are_told_apart() -> None:
    asked = request(input="hi", stream=True)
    frames = frames_of(asked, TextPart("event: response.completed\n"), DONE)
    record = STATE.record(100_000)
    assert not record.add(b"".join([b": keep-alive\n\n", *frames[:3]]))
    assert record.add(b"".join(frames[3:]))
    answer = record.stored(asked)
    assert answer is not None
    assert list(answer.frames or ()) == frames[:-1]


def test_a_stored_answer_has_its_own_input_and_the_one_before() -> None:
    answer = recorded(request(input="hi", stream=True, previous_response_id="resp_0"))
    assert answer.previous_id == "resp_0"
    assert answer.request == {"input": [message("hi")]}
    assert answer.response["status"] == "completed"
    assert answer.response["output"][0]["content"][0]["text"] == "hello"


def test_the_id_is_known_with_the_first_event_and_a_running_response_is_in_progress() -> None:
    record = STATE.record(100_000)
    assert (record.answer_id, record.response, record.stored(request())) == (None, None, None)
    record.add(frames_of(request(input="hi"), TextPart("a"))[0])
    assert record.response is not None
    assert record.answer_id == record.response["id"]
    assert record.response["status"] == "in_progress"


def test_a_response_that_its_client_left_is_kept_as_cancelled_with_what_was_said() -> None:
    asked = request(input="hi", stream=True)
    record = STATE.record(100_000)
    for frame in frames_of(asked, TextPart("half"), Finish(Outcome.INCOMPLETE)):
        record.add(frame)
    record.cancel()
    answer = record.stored(asked)
    assert answer is not None
    assert answer.response["status"] == "cancelled"
    assert answer.response["output"][0]["content"][0]["text"] == "half"
    assert answer.frames is not None
    last = event_of(answer.frames[-1])
    assert (last["type"], last["sequence_number"]) == ("response.incomplete", len(answer.frames) - 1)
    assert last["response"]["status"] == "cancelled"


def test_a_stream_without_an_end_keeps_the_items_that_were_whole() -> None:
    asked = request(input="hi", stream=True)
    for limit in (100_000, 900):
        record = STATE.record(limit)
        for frame in frames_of(asked, ToolCallPart("c1", "f", {}), TextPart("half"))[:-1]:
            record.add(frame)
        answer = record.stored(asked)
        assert answer is not None
        assert answer.response["status"] == "cancelled"
        assert [item["type"] for item in answer.response["output"]] == ["function_call"]


def test_a_stream_above_the_limit_is_kept_without_its_frames() -> None:
    answer = recorded(request(input="hi", stream=True), limit=1000)
    assert answer.frames is None
    assert answer.response["output"][0]["content"][0]["text"] == "hello"


def test_a_document_is_kept_and_an_error_is_not() -> None:
    whole = recorded(request(input="hi", stream=True)).response
    record = STATE.record(100)
    record.take_document({"error": {"message": "no"}})
    assert record.stored(request(input="hi")) is None
    record.take_document(whole)
    answer = record.stored(request(input="hi"))
    assert answer is not None
    assert (answer.response, answer.frames) == (whole, None)


def test_nothing_that_the_client_said_beside_its_input_is_kept() -> None:
    answer = recorded(request(input="hi", stream=True, safety_identifier="person"))
    assert set(answer.request) == {"input"}
    assert loads(answer.frames[0].split(b"\ndata: ")[1])["type"] == "response.created" if answer.frames else False


def test_frames_are_told_apart_once_however_often_somebody_looks() -> None:
    record = STATE.record(100_000)
    seen = []
    for frame in frames_of(request(input="hi"), TextPart("a"), TextPart("b"), DONE)[:-1]:
        record.add(frame)
        seen.append(record.frames)
    assert all(one is seen[0] for one in seen)
    assert len(seen[0] or ()) == len(seen)
