"""The kind of a recording, by its name and its first bytes, and the error when it cannot be read."""

import gzip
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream.lm.outputs import Finish, Outcome
from partstream.lm.parts import TextPart
from partstream.protocols.protocol import BUILT_IN_PROTOCOLS
from partstream_devtools.recorded_stream import RecordingError, read_recording
from protocols.openresponses.wire import created, delta, event, sse, terminal
from recordings import Recording, recordings
from rows import one_test_for

EVENTS = [created(), delta("Hi"), terminal()]
SSE = b"".join(sse(EVENTS))
LINES = b"".join(json.dumps(one).encode() + b"\n" for one in EVENTS)


def _outcome(*arguments: Any, **named: Any) -> tuple[list[object], Outcome]:
    *outputs, finish = read_recording(*arguments, **named)
    assert isinstance(finish, Finish)
    return list(outputs), finish.outcome


@one_test_for(
    ("data", "path"),
    [
        (SSE, "a.sse"),
        (LINES, "a.jsonl"),
        (SSE, "-"),
        (LINES, "-"),
        (SSE, "a.txt"),
        (LINES, "a.txt"),
        (b"\xef\xbb\xbf" + LINES, "-"),
        (b"\n \n" + LINES, "-"),
        (b": hm\n\n" + SSE, "-"),
        (b"\xef\xbb\xbf" + SSE, "-"),
        (LINES, "a.b/c"),
        (LINES.rstrip(), "-"),
    ],
)
@one_test_for("chunk_size", [None, 1, 7, 100_000])
def test_the_framing_is_told_from_the_name_or_the_first_bytes(data: bytes, path: str, chunk_size: int | None) -> None:
    assert _outcome(data, path, chunk_size=chunk_size) == ([TextPart("Hi")], Outcome.COMPLETED)


def test_the_protocol_is_told_from_the_first_event_that_says_it() -> None:
    strange = b'data: {"no":"type"}\n\ndata: [1]\n\ndata: nonsense\n\nevent: acme\ndata: {}\n\n'
    assert list(read_recording(strange + SSE, "a.sse"))[-1].__class__ is Finish
    assert _outcome(b"event: response.created\ndata: {}\n\n" + SSE, "a.sse") == ([TextPart("Hi")], Outcome.COMPLETED)
    assert _outcome(json.dumps({"type": "error", "message": "no"}).encode(), "a.jsonl")[1] is Outcome.FAILED
    assert _outcome(json.dumps(event("new_thing")).encode(), "a.jsonl")[1] is Outcome.TRUNCATED


@one_test_for(
    ("data", "path", "reason"),
    [
        (b"", "a.jsonl", "it is empty; expected one JSON event a line"),
        (b" \n\n", "-", "it is empty"),
        (
            b'{"messageStart":{"role":"assistant"}}\n',
            "a.jsonl",
            "a stream of Bedrock Converse, which this version does not read; expected",
        ),
        (b"hello\n", "a.jsonl", "nothing that is a JSON event"),
        (b'{"no":"type"}\n', "a.jsonl", "JSON objects without a type"),
        (b'{"type":"purple"}\n{"type":"green"}\n', "a.jsonl", "events of the types purple, green; expected"),
        (b"\x89PNG\r\n\x1a\n\0\0", "picture.png", "nothing that is a JSON event"),
        (b": only comments\n\n", "a.sse", "nothing that is a JSON event"),
    ],
)
def test_a_file_without_events_of_a_known_protocol_is_refused_with_its_name_and_what_it_holds(
    data: bytes, path: str, reason: str
) -> None:
    with pytest.raises(RecordingError) as caught:
        list(read_recording(data, path))
    assert reason in caught.value.reason
    assert caught.value.path == path
    assert str(caught.value).startswith(f"cannot read {path}: ")


def test_an_unknown_protocol_is_refused_and_the_known_ones_named() -> None:
    with pytest.raises(RecordingError, match="unknown protocol 'morse'; known: openresponses"):
        list(read_recording(SSE, "a.sse", "morse"))


@pytest.mark.parametrize("cut", [1, 10, 40])
def test_with_the_protocol_named_a_recording_cut_in_its_first_event_is_truncated(cut: int) -> None:
    for data, path in ((SSE, "a.sse"), (LINES, "a.jsonl")):
        assert _outcome(data[:cut], path, "openresponses") == ([], Outcome.TRUNCATED)


@one_test_for(
    ("data", "path"),
    [
        (b'{"type":"response.crea', "a.jsonl"),
        (b"event: response.crea", "a.sse"),
        (b"event: response.created\n", "a.sse"),
        (b'event: response.created\ndata: {"type":"resp', "a.sse"),
        (b'data: {"ty', "-"),
    ],
)
def test_a_recording_that_is_cut_in_its_first_event_is_truncated(data: bytes, path: str) -> None:
    (finish,) = read_recording(data, path)
    assert isinstance(finish, Finish)
    assert finish.outcome is Outcome.TRUNCATED


AI_SDK_LINES = b"""{"type":"start"}
{"type":"start-step","request":{},"warnings":[]}
{"type":"text-delta","id":"t","text":"Hi"}
{"type":"finish"}
"""
UI_LINES = b'{"type":"start"}\n{"type":"start-step"}\n{"type":"text-delta","id":"t","delta":"Hi"}\n{"type":"finish"}\n'
CODED_LINES = b'f:{"messageId":"m"}\n0:"Hi"\nd:{"finishReason":"stop"}\n'


@one_test_for(
    ("data", "path"),
    [
        (AI_SDK_LINES, "a.jsonl"),
        (AI_SDK_LINES, "-"),
        (UI_LINES, "a.jsonl"),
        (UI_LINES, "a.log"),
        (b"data: " + b"\n\ndata: ".join(UI_LINES.splitlines()) + b"\n\ndata: [DONE]\n\n", "a.sse"),
        (b": stream-open\n\ndata: " + b"\n\ndata: ".join(UI_LINES.splitlines()) + b"\n\n", "-"),
        (CODED_LINES, "a.txt"),
        (CODED_LINES, "-"),
        (b"\xef\xbb\xbf" + CODED_LINES, "a"),
    ],
)
@one_test_for("chunk_size", [None, 1])
def test_framing_and_protocol_are_told_from_the_first_events(data: bytes, path: str, chunk_size: int | None) -> None:
    assert _outcome(data, path, chunk_size=chunk_size) == ([TextPart("Hi")], Outcome.COMPLETED)


def test_the_ending_gives_way_to_the_protocol_that_is_named() -> None:
    assert _outcome(CODED_LINES, "a.jsonl", "ai-sdk-data") == ([TextPart("Hi")], Outcome.COMPLETED)


# ---- what is not of a protocol ----


FOREIGN = {
    "Bedrock Converse": [{"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Hi"}}}],
}


@one_test_for("protocol", [None, *BUILT_IN_PROTOCOLS])
@one_test_for("name", FOREIGN)
def test_a_stream_that_nobody_reads_is_refused_by_its_name_also_where_a_protocol_is_named(
    name: str, protocol: str | None
) -> None:
    lines = b"".join(json.dumps(one).encode() + b"\n" for one in FOREIGN[name] * 3)
    with pytest.raises(RecordingError) as caught:
        list(read_recording(lines, "a.jsonl", protocol))
    assert f"a stream of {name}, which this version does not read" in caught.value.reason
    assert protocol is None or f"nothing in it is an event of {protocol}" in caught.value.reason


@one_test_for("protocol", BUILT_IN_PROTOCOLS)
def test_a_stream_of_another_protocol_is_refused_where_one_is_named_that_understands_nothing_of_it(
    protocol: str,
) -> None:
    lines = b'{"type":"purple"}\n{"type":"green"}\n'
    with pytest.raises(RecordingError, match=f"purple, green; nothing in it is an event of {protocol}"):
        list(read_recording(lines, "a.jsonl", protocol))


def test_one_event_that_many_protocols_have_tells_nothing() -> None:
    """The streams of many wires have pings or errors."""
    others = [{"type": f"acme_{number}"} for number in range(3)]
    for incidental in ({"type": "ping"}, {"type": "error", "message": "no"}):
        lines = b"".join(json.dumps(one).encode() + b"\n" for one in [others[0], incidental, *others[1:]])
        with pytest.raises(RecordingError, match="events of the types acme_0"):
            list(read_recording(lines, "a.jsonl"))


@one_test_for("recording", [path for folder in ("gemini", "ollama") for path in recordings(folder)])
def test_no_recording_of_another_wire_passes_as_a_stream_of_the_named_protocol(recording: Recording) -> None:
    data = recording.path.read_bytes()
    for protocol in ("openresponses", "ai-sdk"):
        with pytest.raises(RecordingError, match=f"nothing in it is an event of {protocol}"):
            list(read_recording(data, str(recording.path), protocol))


ANSWER = {"id": "c", "choices": [{"index": 0, "message": {"content": "Hi"}, "finish_reason": "stop"}]}
BARE = {
    "a document": (json.dumps(ANSWER), "a.json"),
    "a document of many lines": (json.dumps(ANSWER, indent=1), "a.sse"),
    "a document as a stream": (json.dumps(ANSWER) + "\n\ndata: [DONE]\n\n", "a.sse"),
    "a mark glued on": (json.dumps(ANSWER) + "data: [DONE]\n\n", "a.txt"),
    "a list of one": (json.dumps([ANSWER]), "-"),
}


@one_test_for(("data", "name"), BARE.values(), ids=BARE)
def test_an_answer_without_a_stream_is_known_by_what_it_holds(data: str, name: str) -> None:
    assert _outcome(data.encode(), name) == ([TextPart("Hi")], Outcome.COMPLETED)


# ---- the forms of captures ----


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nvia: 1.1 a: b\r\n\r\n"
CAPTURES = {
    "lines behind the head of the reply": (HEAD + LINES, "-"),
    "an event stream behind a head": (HEAD + SSE, "-"),
    "an array behind a head": (HEAD.replace(b"\r", b"") + json.dumps(EVENTS).encode(), "a.txt"),
    "lines behind the heads of a proxy and of the reply": (b"HTTP/1.1 200 Tunnel\r\n\r\n" + HEAD + LINES, "a.jsonl"),
    "a head and lines in gzip": (gzip.compress(b"HTTP/2 200 \r\n\r\n" + LINES), "a.gz"),
    "an array": (json.dumps(EVENTS).encode(), "a.json"),
    "an array with line breaks": (json.dumps(EVENTS, indent=2).encode(), "a.jsonl"),
    "events on several lines": ("\n".join(json.dumps(one, indent=2) for one in EVENTS).encode(), "a.jsonl"),
    "events with commas between": (",\n".join(json.dumps(one, indent=2) for one in EVENTS).encode(), "a.txt"),
    "lines in gzip": (gzip.compress(LINES), "a.jsonl.gz"),
    "an event stream in gzip": (gzip.compress(SSE), "a.sse.gz"),
    "gzip of two members, of which the name says nothing": (gzip.compress(SSE) + gzip.compress(b"\n"), "-"),
    "an array in gzip": (gzip.compress(json.dumps(EVENTS).encode()), "a.gz"),
}


@one_test_for("protocol", [None, "openresponses"])
@one_test_for(("data", "path"), CAPTURES.values(), ids=CAPTURES)
def test_a_capture_is_read_in_every_form_that_people_keep(data: bytes, path: str, protocol: str | None) -> None:
    assert _outcome(data, path, protocol) == ([TextPart("Hi")], Outcome.COMPLETED)


def test_a_refusal_behind_the_head_of_its_reply_is_the_failure_that_it_says() -> None:
    body = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
    *_, finish = read_recording(b"HTTP/2 529 \r\ncontent-type: application/json\r\n\r\n" + body, "reply.txt")
    assert isinstance(finish, Finish)
    assert finish.outcome is Outcome.FAILED
    assert "Overloaded" in str(finish.error)


@pytest.mark.parametrize("data", [HEAD, HEAD[:-4]])
def test_the_head_of_a_reply_alone_holds_no_events(data: bytes) -> None:
    with pytest.raises(RecordingError):
        list(read_recording(data, "reply.txt"))


@pytest.mark.parametrize("cut", [3, 12, -1])
def test_gzip_that_is_broken_is_said_to_be(cut: int) -> None:
    with pytest.raises(RecordingError, match="gzip"):
        list(read_recording(gzip.compress(LINES)[:cut], "a.jsonl.gz"))


@pytest.mark.parametrize("data", [b"[1, 2]", b"[]", b'["a"]', b"[[]]"])
def test_json_without_objects_holds_no_events(data: bytes) -> None:
    with pytest.raises(RecordingError, match="nothing that is a JSON event"):
        list(read_recording(data, "a.json"))


@given(data=st.binary(max_size=60), path=st.sampled_from(["a.jsonl", "a.sse", "a.gz", "-"]))
def test_whatever_a_file_holds_it_is_read_or_refused(data: bytes, path: str) -> None:
    for begins in (b"", b"[", b"{", b"\x1f\x8b"):
        try:
            *_, last = read_recording(begins + data, path, "openresponses")
        except RecordingError:
            continue
        assert isinstance(last, Finish)
