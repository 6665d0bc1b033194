"""What a recording is told from its name and its first bytes, and what is said when it cannot be read."""

import json
from typing import Any

import pytest

from partstream.outputs import Finish, Outcome
from partstream.parts import TextPart
from partstream.protocols.recording import RecordingError, read_recording
from protocols.openresponses.wire import created, delta, event, sse, terminal

EVENTS = [created(), delta("Hi"), terminal()]
SSE = b"".join(sse(EVENTS))
LINES = b"".join(json.dumps(one).encode() + b"\n" for one in EVENTS)


def _outcome(*arguments: Any, **named: Any) -> tuple[list[object], Outcome]:
    *outputs, finish = read_recording(*arguments, **named)
    assert isinstance(finish, Finish)
    return list(outputs), finish.outcome


@pytest.mark.parametrize(
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
@pytest.mark.parametrize("chunk_size", [None, 1, 7, 100_000])
def test_the_framing_is_told_from_the_name_or_the_first_bytes(data: bytes, path: str, chunk_size: int | None) -> None:
    assert _outcome(data, path, chunk_size=chunk_size) == ([TextPart("Hi")], Outcome.COMPLETED)


def test_the_protocol_is_told_from_the_first_event_that_says_it() -> None:
    strange = b'data: {"no":"type"}\n\ndata: [1]\n\ndata: nonsense\n\nevent: acme\ndata: {}\n\n'
    assert list(read_recording(strange + SSE, "a.sse"))[-1].__class__ is Finish
    assert _outcome(b"event: response.created\ndata: {}\n\n" + SSE, "a.sse") == ([TextPart("Hi")], Outcome.COMPLETED)
    assert _outcome(json.dumps({"type": "error", "message": "no"}).encode(), "a.jsonl")[1] is Outcome.FAILED
    assert _outcome(json.dumps(event("new_thing")).encode(), "a.jsonl")[1] is Outcome.TRUNCATED


@pytest.mark.parametrize(
    ("data", "path", "reason"),
    [
        (b"", "a.jsonl", "it is empty; expected one JSON event a line"),
        (b" \n\n", "-", "it is empty"),
        (b'{"type":"message_start"}\n', "a.jsonl", "events of the types message_start; expected events of one of"),
        (b"hello\n", "a.jsonl", "nothing that is a JSON event with a type"),
        (b'{"no":"type"}\n', "a.jsonl", "nothing that is a JSON event with a type"),
        (b"\x89PNG\r\n\x1a\n\0\0", "picture.png", "nothing that is a JSON event with a type"),
        (b": only comments\n\n", "a.sse", "nothing that is a JSON event with a type"),
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
@pytest.mark.parametrize("chunk_size", [None, 1])
def test_framing_and_protocol_are_told_from_the_first_events(data: bytes, path: str, chunk_size: int | None) -> None:
    assert _outcome(data, path, chunk_size=chunk_size) == ([TextPart("Hi")], Outcome.COMPLETED)


def test_the_ending_gives_way_to_the_protocol_that_is_named() -> None:
    assert _outcome(CODED_LINES, "a.jsonl", "ai-sdk-data") == ([TextPart("Hi")], Outcome.COMPLETED)
