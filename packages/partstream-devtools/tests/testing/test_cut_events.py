"""The bytes of served answers, cut into their events again."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partstream import ChatMessage, RequestOptions
from partstream.lm.outputs import Finish, InboundRequest, Outcome, Reply
from partstream.lm.parts import TextPart, ThinkingPart, ToolCallPart
from partstream.protocols.gemini import PROTOCOL as GEMINI
from partstream.protocols.gemini.serve import ARRAY
from partstream_devtools.testing.admission import DEFAULT_PATH, ENDPOINTS
from partstream_devtools.testing.faults import END_OF_STREAM, START_OF_STREAM, UNNAMED, EventCutter, Pace, Stall
from rows import one_test_for

every_endpoint = pytest.mark.parametrize("endpoint", ENDPOINTS.values(), ids=ENDPOINTS)
ASKED = InboundRequest("m", (ChatMessage.user("Hi"),), RequestOptions(), dialect="3")
PARTS = [TextPart("one\r\n\r\ntwo"), TextPart("three, [DONE]\n"), ToolCallPart("c", "f", {"city": "Lisbon\n\n"})]
OUTPUTS = [*PARTS, Finish(Outcome.COMPLETED)]


def written(endpoint, outputs=OUTPUTS, asked=ASKED):
    """The form of an answer, its events, and the bytes of each."""
    form = endpoint.writes.stream_form(asked)
    writer = endpoint.writes(asked, Reply("identity", 1, 7))
    events = [event for output in outputs for event in writer.write(output)]
    return form, events, [form.frame(event) for event in events]


def cut(endpoint, form, *pieces, **wanted):
    cutter = EventCutter(endpoint.protocol, form, **wanted)
    sends = [send for piece in pieces for send in cutter.cut(piece)]
    return [*sends, *cutter.cut(b"", is_last=True)]


@every_endpoint
def test_every_event_is_found_with_its_kind_and_its_bytes(endpoint):
    form, events, frames = written(endpoint)
    sends = cut(endpoint, form, form.start + form.separator.join(frames) + form.end, has_kinds=True)
    assert b"".join(send.data for send in sends) == form.start + form.separator.join(frames) + form.end
    found = [send for send in sends if send.is_event]
    assert [send.event for send in found] == [endpoint.protocol.kind(event) or UNNAMED for event in events]
    assert [send.data.removeprefix(form.separator) for send in found] == frames
    assert [send.event for send in sends if not send.is_event] == [END_OF_STREAM] * bool(form.end)


@every_endpoint
def test_a_pause_of_the_pace_is_before_each_part_but_the_first(endpoint):
    form, _, frames = written(endpoint, [*map(TextPart, "abcde"), Finish(Outcome.COMPLETED)])
    sends = cut(endpoint, form, form.start + form.separator.join(frames) + form.end, has_pieces=True)
    steps = [*Pace(0.5).over(sends)]
    assert steps.count(Stall(0.5)) == 4
    assert [step for step in steps if step != Stall(0.5)] == sends


@every_endpoint
def test_a_piece_of_the_answer_is_what_a_part_is_read_from(endpoint):
    outputs = [ThinkingPart("hm"), *OUTPUTS]
    form, _, frames = written(endpoint, outputs)
    sends = cut(endpoint, form, form.start, *frames, form.end, has_pieces=True)
    assert next(send for send in sends if b"three" in send.data).piece
    assert not any(send.piece for send in sends if send.event == END_OF_STREAM)


def test_an_event_of_an_array_is_told_from_what_stands_between_events():
    endpoint = next(one for one in ENDPOINTS.values() if one.protocol is GEMINI)
    form, _, frames = written(endpoint, asked=InboundRequest("m", ASKED.messages, ASKED.options, dialect=ARRAY))
    pieces = [form.start + frames[0], *(form.separator + frame for frame in frames[1:]), form.end]
    start, *sends, end = cut(endpoint, form, *pieces, has_pieces=True)
    assert (start.event, start.data, end.event, end.data) == (START_OF_STREAM, b"[", END_OF_STREAM, form.end)
    assert [send.again for send in sends] == [form.separator + frame for frame in frames]
    assert [send.data for send in sends] == [frames[0], *(send.again for send in sends[1:])]
    assert any(send.piece for send in sends)


WHOLE_AT_ONCE = {"gemini", "ollama"}
"""The wires on which a call comes in one event (docs/wires/gemini.md#tool-calls, docs/wires/ollama.md#tool-calls)."""
STREAMING = {path: one for path, one in ENDPOINTS.items() if one.protocol.name not in WHOLE_AT_ONCE}


@one_test_for("endpoint", STREAMING.values(), ids=STREAMING)
def test_no_call_is_whole_before_its_last_event(endpoint):
    form, _, frames = written(endpoint, [ToolCallPart("c", "f", {"city": "Lisbon"}), Finish(Outcome.COMPLETED)])
    sends = cut(endpoint, form, *frames, form.end)
    pieces = [send.data for send in sends if b"city" in send.data or b"Lisbon" in send.data]
    assert len(pieces) == 1 or any(b"city" in one and b"Lisbon" not in one for one in pieces), "or in one event alone"


SSE = ENDPOINTS[DEFAULT_PATH]


def test_a_comment_is_no_event():
    form, _, frames = written(SSE)
    sends = cut(SSE, form, frames[0] + form.keep_alive + frames[1])
    assert [(send.is_event, send.data) for send in sends] == [
        (True, frames[0]),
        (False, b": keep-alive\n\n"),
        (True, frames[1]),
    ]


def test_what_is_no_whole_event_comes_at_the_end():
    form, _, frames = written(SSE)
    assert [send.data for send in cut(SSE, form, frames[0] + frames[1][:9])] == [frames[0], frames[1][:9]]


LINES = next(one for one in ENDPOINTS.values() if one.protocol.name == "ollama")


@pytest.mark.parametrize("endpoint", [SSE, LINES], ids=["sse", "lines"])
@given(places=st.lists(st.integers(0, 3000), max_size=8).map(sorted))
@settings(max_examples=50, deadline=None)
def test_the_events_are_the_same_however_their_bytes_come(endpoint, places):
    form, _, frames = written(endpoint)
    whole = b"".join(frames) + form.end
    bounds = [0, *places, len(whole)]
    pieces = [whole[start:end] for start, end in pairwise(bounds)]
    assert cut(endpoint, form, *pieces, has_kinds=True) == cut(endpoint, form, whole, has_kinds=True)
