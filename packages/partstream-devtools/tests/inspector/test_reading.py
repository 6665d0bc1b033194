"""An exchange is read as its answer was: the same parts, each with the event and the time that completed it."""

from __future__ import annotations
import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector import sample_streams as streams
from inspector.sample_streams import MS, exchange, paced
from partstream.lm.outputs import Finish, Outcome, StreamOptions, Unmapped
from partstream.lm.parts import TextPart
from partstream_devtools.bundles.exchange import HowEnded
from partstream_devtools.bundles.forms import read_any
from partstream_devtools.bundles.recorded import recorded_outputs
from partstream_devtools.inspector.reading import kind_of_event, read_exchange
from partstream_devtools.recorded_stream import RecordingError, read_recording
from recordings import FOLDER

if TYPE_CHECKING:
    from pathlib import Path

    from partstream_devtools.bundles.exchange import RecordedExchange
    from partstream_devtools.inspector.reading import ReadAnswer


def _kinds(read: ReadAnswer) -> list[str]:
    return [kind_of_event(event) for event in read.events]


def _outputs(read: ReadAnswer) -> list[Any]:
    return [output for event in read.events for output in event.outputs]


def test_each_part_has_the_event_and_the_read_that_completed_it():
    read = read_exchange(exchange(paced(streams.usual())))
    assert [part.event for part in read.parts] == [2, 3, 4, *range(4, 64), 67]
    assert read.parts[0].at == 320 * MS
    assert _kinds(read)[:4] == ["start", "thinking", "thinking", "text"]
    assert _kinds(read)[-7:] == ["start", "call", "call", "call", "call", "end", "end"]


def test_an_event_was_there_when_its_last_byte_was_read():
    first, second = streams.text("first"), streams.text("second")
    reads = [(10.0, first[:20]), (20.0, first[20:] + second[:-1]), (30.0, second[-1:] + streams.completed())]
    read = read_exchange(exchange(reads))
    assert [(event.at, event.read) for event in read.events] == [(20 * MS, 1), (30 * MS, 2), (30 * MS, 2)]


REFUSED = b'{"error":{"message":"The model is gone.","type":"not_found","code":"gone"}}'
WHOLE = json.dumps(
    json.loads(streams.completed().split(b"data: ")[1])["response"] | {"object": "response", "output": []}
)
ALONE = {
    "an error in a document": exchange([(1.0, REFUSED)], content_type="application/json"),
    "a document": exchange([(1.0, WHOLE.encode())], content_type="application/json"),
    "no document": exchange([(1.0, b"{}")], content_type="application/json"),
    "a refusal": exchange([(1.0, REFUSED)], status=404, content_type="application/json"),
    "a page of a proxy": exchange([(1.0, b"<html>Log in</html>")], content_type="text/html"),
    "no byte": exchange([]),
    "no response": exchange([], how=HowEnded.NO_RESPONSE, has_head=False),
}


@pytest.mark.parametrize("made", ALONE.values(), ids=ALONE)
def test_a_body_that_is_no_stream_is_shown_as_a_replay_reads_it(made: RecordedExchange):
    read = read_exchange(made)
    *parts, finish = recorded_outputs(made, "a", options=StreamOptions(call_id_prefix=""))
    assert [part.part for part in read.parts] == parts
    assert read.finish is not None
    assert str(read.finish) == str(finish)


@given(st.lists(st.integers(1, 4000), max_size=30))
def test_the_reads_change_nothing_but_the_times(cuts: list[int]):
    body = b"".join(streams.usual())
    places = sorted({cut for cut in cuts if cut < len(body)} | {0, len(body)})
    reads = [(float(index), body[a:b]) for index, (a, b) in enumerate(pairwise(places))]
    read, whole = read_exchange(exchange(reads)), read_exchange(exchange([(0.0, body)]))
    assert [(event.start, event.end, event.outputs) for event in read.events] == [
        (event.start, event.end, event.outputs) for event in whole.events
    ]
    for event in read.events:
        assert event.at == next(at for (at, _), end in zip(reads, places[1:], strict=False) if end >= event.end) * MS


def test_keep_alives_are_events_without_a_part():
    read = read_exchange(exchange(paced([streams.created(), streams.KEEP_ALIVE, streams.text("a")])))
    assert _kinds(read)[:3] == ["start", "keepalive", "text"]
    assert read.events[1].name == "(comment)"


def test_what_breaks_off_is_shown_and_the_end_of_the_bytes_is_an_event():
    read = read_exchange(exchange([(1.0, streams.text("a") + streams.text("b")[:30])], how=HowEnded.CUT))
    assert [event.name for event in read.events] == ["response.output_text.delta", "(cut)", "end of the bytes"]
    assert read.finish is not None
    assert read.finish.outcome is Outcome.TRUNCATED
    assert _kinds(read)[-1] == "error"


def test_an_answer_that_the_client_left_has_no_end():
    read = read_exchange(exchange(paced(streams.usual()[:5]), how=HowEnded.CANCELLED))
    assert (read.finish, len(read.parts)) == (None, 5)


def test_what_comes_behind_the_end_is_late():
    read = read_exchange(exchange(paced([streams.text("a"), streams.completed(), streams.DONE, streams.text("late")])))
    assert [event.is_late for event in read.events] == [False, False, False, True]
    assert [part.part for part in read.parts] == [TextPart("a")]


def test_an_event_that_no_part_represents_is_unmapped():
    read = read_exchange(exchange(paced([streams.sse({"type": "response.strange"}), streams.completed()])))
    assert isinstance(read.events[0].outputs[0], Unmapped)
    assert _kinds(read)[0] == "unmapped"


def test_a_status_of_http_is_the_answer():
    body = b'{"error":{"message":"Too many requests.","type":"rate_limit","code":"rate_limited"}}'
    read = read_exchange(exchange([(5.0, body)], status=429, content_type="application/json"))
    assert "Too many requests." in str(read.error)
    assert (read.events[0].name, _kinds(read)) == ("HTTP 429", ["error"])


def test_a_document_is_one_event():
    read = read_exchange(
        exchange(
            [
                (5.0, b'{"object":"response","id":"r","status":"completed","output":[{"type":"message","content":'),
                (6.0, b'[{"type":"output_text","text":"Hello."}]}]}'),
            ],
            content_type="application/json",
        )
    )
    assert read.framing == "document"
    assert [(event.start, event.at) for event in read.events] == [(0, 6 * MS)]
    assert [part.part for part in read.parts] == [TextPart("Hello.")]


def test_bytes_of_no_known_protocol_are_shown_as_frames():
    read = read_exchange(exchange(paced([b'data: {"x":1}\n\n', b"data: y\n\n"]), protocol=None, has_head=False))
    assert isinstance(read.error, RecordingError)
    assert [event.data for event in read.events] == [b'{"x":1}', b"y"]


def test_an_array_of_chunks_is_read_where_it_stands_in_the_bytes():
    chunk = {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hi"}]}, "index": 0}]}
    end = {"candidates": [{"content": {"parts": [{"text": "!"}]}, "finishReason": "STOP", "index": 0}]}
    body = json.dumps([chunk, end], indent=1).encode()
    read = read_exchange(exchange([(1.0, body)], protocol="gemini"))
    assert "".join(part.part.value for part in read.parts if isinstance(part.part, TextPart)) == "Hi!"
    assert [json.loads(body[event.start : event.end]) for event in read.events if event.data] == [chunk, end]


RECORDED = {
    str(path.relative_to(FOLDER)): path
    for folder in ("anthropic_messages", "chat_completions", "gemini", "ollama", "openresponses")
    for path in sorted((FOLDER / folder).glob("*.*"))[::7]
    if path.suffix in {".sse", ".jsonl", ".ndjson"}
}


def _exchange_in(path: Path) -> RecordedExchange:
    (found,) = read_any(path.read_bytes(), path.name).exchanges
    return found


@pytest.mark.recordings
@pytest.mark.skipif(not RECORDED, reason=f"no recordings in {FOLDER}; set PARTSTREAM_RECORDINGS to their folder")
def test_recorded_streams_are_read_as_the_commands_read_them():
    for path in RECORDED.values():
        read = read_exchange(_exchange_in(path))
        expected = list(read_recording(path.read_bytes(), path.name))
        assert list(map(repr, _outputs(read))) == list(map(repr, expected)), path
        assert isinstance(read.finish, Finish)
