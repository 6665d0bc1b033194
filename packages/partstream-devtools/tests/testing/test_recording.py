"""Recorded streams, read for being served again."""

import json

import pytest

from partstream_devtools.testing.admission import (
    DEFAULT_PATH,
    ENDPOINTS,
    NotARecordingError,
    read_recording,
    scenario_events,
)
from partstream_devtools.testing.faults import END_OF_STREAM, Send
from testing.clients import body, run

SPOKEN = ENDPOINTS[DEFAULT_PATH]
EVENTS = [{"type": "response.created", "x": "é"}, {"id": "no type"}]
STREAMS = [
    b'event: a\ndata: {"type":"a"}\n\ndata: {"type":"b"}\n\ndata: [DONE]\n\n',
    b'event: a\r\ndata: {"type":"a"}\r\n\r\n: comment\r\n\r\ndata: not json\r\n\r\n',
    b'\xef\xbb\xbfdata:{"type":"a"}\r\rdata:{"type":"b"}\r\r',
    b'data: {"type":"a"}\n\n\n\ndata: {"type"',
    b"\xff\xfe",
    b"",
]


def _read(path) -> tuple[Send, ...]:
    return read_recording(path, path.read_bytes(), SPOKEN.protocol, SPOKEN.writes)


@pytest.mark.parametrize("content", STREAMS)
def test_bytes_are_kept_byte_for_byte(tmp_path, content):
    path = tmp_path / "stream.sse"
    path.write_bytes(content)
    assert b"".join(send.data for send in _read(path)) == content


@pytest.mark.parametrize(
    ("content", "names"),
    list(
        zip(
            STREAMS[:4],
            [["a", "b", END_OF_STREAM], ["a", "", "message"], ["a", "b"], ["a", "message"]],
            strict=True,
        )
    ),
)
def test_each_event_of_the_bytes_is_found_with_its_type(tmp_path, content, names):
    path = tmp_path / "stream.sse"
    path.write_bytes(content)
    assert [send.event for send in _read(path)] == names


def test_lines_are_framed_as_the_protocol_frames_events_and_their_end_is_marked(tmp_path):
    path = tmp_path / "stream.jsonl"
    path.write_text("\n".join(json.dumps(event) for event in EVENTS) + "\n\n")
    sends = _read(path)
    assert [send.data for send in sends] == [*map(SPOKEN.writes.frame, EVENTS), b"data: [DONE]\n\n"]
    assert [send.event for send in sends] == ["response.created", "message", END_OF_STREAM]


@pytest.mark.parametrize("ending", ["sse", "jsonl"])
def test_a_piece_of_the_answer_is_what_a_part_is_read_from(tmp_path, ending):
    events = scenario_events("thinking", {"input": "Hi"})
    path = tmp_path / f"stream.{ending}"
    lines = [json.dumps(event).encode() + b"\n" for event in events]
    path.write_bytes(b"".join(lines if ending == "jsonl" else map(SPOKEN.writes.frame, events)))
    pieces = [send.event for send in _read(path) if send.piece]
    assert {name.rpartition(".")[2] for name in pieces} <= {"delta", "done"}
    assert pieces.count("response.output_text.delta") == 5


def test_a_recording_of_another_protocol_has_no_pieces(tmp_path):
    path = tmp_path / "stream.jsonl"
    path.write_text('{"type":"text-delta","id":"0","delta":"Hi"}\n')
    assert [(send.event, send.piece) for send in _read(path)] == [("text-delta", False), (END_OF_STREAM, False)]


@pytest.mark.parametrize(("name", "content", "line"), [
    ("a.jsonl", b'{"type":"a"}\n{"type"', 2),
    ("a.jsonl", b'\n[1]\n', 2),
    ("a.jsonl", b'{"type":"a"}\n\xff\xfe', 2),
    ("a.txt", b"", 0),
    ("a", b"", 0),
])  # fmt: skip
def test_what_is_no_recording_is_refused_with_the_line(tmp_path, name, content, line):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(NotARecordingError) as raised:
        _read(path)
    assert (raised.value.path, raised.value.line) == (path, line)
    assert raised.value.expected


@pytest.mark.parametrize("content", STREAMS[:4])
def test_a_recording_answers_every_request_with_its_bytes(tmp_path, content):
    path = tmp_path / "stream.sse"
    path.write_bytes(content)

    async def check(upstream, client):
        for stream in (True, False):
            response = await client.post("/responses", json=body("scenario:tools", stream=stream))
            assert response.content == content
            assert response.headers["content-type"].startswith("text/event-stream")
        assert upstream.exchanges[0].choice == "stream.sse"

    run(check, replay=path)


def test_a_recording_can_be_broken_as_well(tmp_path):
    path = tmp_path / "stream.sse"
    path.write_bytes(STREAMS[0])

    async def check(upstream, client):
        response = await client.post("/responses", json=body("fault:no_done fault:missing=a"))
        assert response.content == b'data: {"type":"b"}\n\n'

    run(check, replay=path)
