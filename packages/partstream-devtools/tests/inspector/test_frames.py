"""The bytes of each event: in order, without a byte left over, and enough to read the event alone."""

from __future__ import annotations
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream.codec.sse import SSEDecoder
from partstream.protocols.protocol import JSON_LINES, LENIENT_SSE, PROTOCOLS, SSE
from partstream_devtools.inspector.reading import Frame, frames_of
from recordings import FOLDER

if TYPE_CHECKING:
    from partstream.codec.sse import ServerSentEvent
    from partstream.protocols.protocol import Framing

FRAMINGS = {"strict": SSE, "lenient": LENIENT_SSE, "lines": JSON_LINES, "data": PROTOCOLS["ai-sdk-data"].framings[0]}
BETWEEN = b" \t\r\n,[]\xef\xbb\xbf"


def _decoded(data: bytes, framing: Framing) -> list[ServerSentEvent]:
    decoder = framing.make_decoder()
    return [*decoder.feed(data), *decoder.end()]


def check(body: bytes, framing: Framing) -> list[Frame]:
    """The frames of a body, after everything that holds for all of them."""
    frames = frames_of(body, framing)
    assert [frame.event for frame in frames if frame.event is not None] == _decoded(body, framing)
    place = 0
    for frame in frames:
        assert place <= frame.start < frame.end <= len(body)
        assert not body[place : frame.start].strip(BETWEEN)
        assert _decoded(body[frame.start : frame.end], framing) == ([] if frame.event is None else [frame.event])
        place = frame.end
    assert not body[place:].strip(BETWEEN)
    return frames


def _texts(body: bytes, frames: list[Frame]) -> list[bytes]:
    return [body[frame.start : frame.end] for frame in frames]


def test_an_event_stands_from_its_first_line_to_its_blank_line():
    body = b'event: a\ndata: {"x":1}\n\ndata: {"x":2}\n\n'
    assert _texts(body, check(body, SSE)) == [b'event: a\ndata: {"x":1}\n\n', b'data: {"x":2}\n\n']


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_comments_and_blank_lines_belong_to_no_event(end: bytes):
    lines = [b": ping", b"", b"", b'data: {"x":1}', b"", b"retry: 10", b"", b'data: {"x":2}', b""]
    body = b"\xef\xbb\xbf" + b"".join(line + end for line in lines)
    frames = check(body, SSE)
    assert [frame.event for frame in frames] == [None, (b"", b'{"x":1}'), None, (b"", b'{"x":2}')]
    assert [text.split(end)[0] for text in _texts(body, frames)] == [lines[0], lines[3], lines[5], lines[7]]


def test_a_value_that_stands_bare_ends_with_its_last_bracket():
    body = b'{"a":{"b":1}}\n{"c":\n\n 2}\ndata: {"d":3}\n\n{"e":4}data: [DONE]\n\n'
    frames = check(body, LENIENT_SSE)
    assert _texts(body, frames)[:3] == [b'{"a":{"b":1}}', b'{"c":\n\n 2}', b'data: {"d":3}\n\n']
    assert [frame.event for frame in frames][-2:] == [(b"", b'{"e":4}'), (b"", b"[DONE]")]


def test_the_values_of_an_array_are_events_without_its_commas():
    values = [{"a": 1}, {"b": [{"c": 2}, "],["]}, {"d": "}"}]
    for text in (json.dumps(values), json.dumps(values, indent=2), "[" + ",\n".join(map(json.dumps, values)) + "\n]"):
        frames = check(text.encode(), LENIENT_SSE)
        assert [json.loads(one) for one in _texts(text.encode(), frames)] == values


def test_an_event_whose_blank_line_is_missing_ends_before_the_value_behind_it():
    body = b'data: {"x":1}\n{"error":{"x":1}}\n'
    assert _texts(body, check(body, LENIENT_SSE)) == [b'data: {"x":1}\n', b'{"error":{"x":1}}']


def test_lines_are_events_without_the_blank_ones_between_them():
    body = b'{"x":1}\n\n  {"x":2}\r\n{"x":3}'
    frames = check(body, JSON_LINES)
    assert _texts(body, frames) == [b'{"x":1}\n', b'{"x":2}\r\n', b'{"x":3}']
    assert [frame.is_open for frame in frames] == [False, False, True]


def test_what_breaks_off_is_a_frame_that_is_open():
    whole = b'data: {"x":1}\n\n'
    for cut in (b'data: {"x"', b"da", b"event: a\nda"):
        last = frames_of(whole + cut, SSE)[-1]
        assert (last.start, last.end, last.is_open) == (len(whole), len(whole + cut), True)


def test_a_body_behind_which_the_decoder_gives_up_is_one_last_frame():
    small = replace(SSE, make_decoder=lambda: SSEDecoder(max_event_size=40))
    body = b'data: {"x":1}\n\ndata: ' + b"x" * 60 + b'\n\ndata: {"x":2}\n\n'
    first, last = frames_of(body, small)
    assert first.event == (b"", b'{"x":1}')
    assert last.error is not None
    assert (last.start, last.end) == (first.end, len(body))


EVENTS = st.dictionaries(st.sampled_from("abc"), st.text(alphabet='ab{}[],:"\\ \n\ré😀', max_size=6), max_size=2)


@given(st.lists(EVENTS, max_size=5), st.sampled_from(["\n", "\r\n", "\r"]), st.data())
def test_every_stream_of_events_and_comments_is_covered(values: list[dict[str, str]], end: str, data: st.DataObject):
    pieces = []
    for value in values:
        comment = data.draw(st.sampled_from(["", f": ping{end}{end}", f": {{{end}", end, f"id: 1{end}{end}"]))
        name = data.draw(st.sampled_from(["", f"event: delta{end}"]))
        pieces.append(f"{comment}{name}data: {json.dumps(value)}{end}{end}")
    body = "".join(pieces).encode()
    check(body, SSE)
    check(body, LENIENT_SSE)
    check(body[: data.draw(st.integers(0, len(body)))], SSE)


@given(st.lists(EVENTS, min_size=1, max_size=5), st.sampled_from([None, 1, 2]), st.booleans())
def test_every_list_of_values_is_covered(values: list[dict[str, str]], indent: int | None, is_array: bool):
    texts = [json.dumps(value, indent=indent) for value in values]
    body = ("[" + ",\n".join(texts) + "]" if is_array else "\n".join(texts)).encode()
    frames = check(body, LENIENT_SSE)
    assert [json.loads(text) for text in _texts(body, frames)] == values


@given(
    st.lists(st.sampled_from([b'{"a":1}', b"", b" ", b"[1]", b"x", b"\r", b'{"b":"\r"}']), max_size=8), st.booleans()
)
def test_every_list_of_lines_is_covered(lines: list[bytes], is_cut: bool):
    check(b"\n".join(lines) + (b"" if is_cut else b"\n"), JSON_LINES)


RECORDED = sorted(FOLDER.rglob("*.sse"))[::3] + sorted(FOLDER.rglob("*.jsonl"))[::9]


@pytest.mark.recordings
@pytest.mark.skipif(not RECORDED, reason=f"no recordings in {FOLDER}; set PARTSTREAM_RECORDINGS to their folder")
def test_recorded_streams_are_covered():
    for path in RECORDED:
        check(path.read_bytes(), LENIENT_SSE if path.suffix == ".sse" else JSON_LINES)


FIXTURES = Path(__file__).resolve().parents[4] / "tests" / "fixtures" / "ai_sdk"


@pytest.mark.parametrize("pattern", ["4.*/*.txt", "7.*/*.gateway.sse"])
def test_fixtures_are_covered(pattern: str):
    found = sorted(FIXTURES.glob(pattern))
    assert found
    for path in found:
        check(path.read_bytes(), SSE if path.suffix == ".sse" else FRAMINGS["data"])
