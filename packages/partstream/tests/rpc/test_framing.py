from hypothesis import given
from hypothesis import strategies as st

from partstream.vscode.rpc import (
    BEGINNING_SIZE,
    MAX_HEADER_SIZE,
    FrameDecoder,
    FrameTooLarge,
    MalformedHeader,
    encode_frame,
)


def _feed(decoder, data, cuts=()):
    """Feeds `data` cut at each of the places."""
    frames, start = [], 0
    for cut in [*sorted(cuts), len(data)]:
        frames += decoder.feed(data[start:cut])
        start = max(start, cut)
    return frames


@given(st.lists(st.binary(max_size=50), max_size=5), st.lists(st.integers(0, 400), max_size=20))
def test_bodies_come_out_whole_wherever_the_bytes_are_cut(bodies, cuts):
    data = b"".join(map(encode_frame, bodies))
    assert _feed(FrameDecoder(), data, cuts) == bodies


def test_bytes_one_by_one_give_the_same_frames():
    data = encode_frame(b"one") + encode_frame(b"") + encode_frame(b"three")
    assert _feed(FrameDecoder(), data, range(len(data))) == [b"one", b"", b"three"]


def test_further_header_fields_and_another_case_are_accepted():
    header = b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\ncontent-length:  2 \r\n\r\n"
    assert FrameDecoder().feed(header + b"ab") == [b"ab"]


@given(st.lists(st.integers(0, 200), max_size=10))
def test_a_body_over_the_limit_is_skipped_and_the_next_one_is_read(cuts):
    data = encode_frame(b"x" * 11) + encode_frame(b"y" * 10)
    assert _feed(FrameDecoder(limit=10), data, cuts) == [FrameTooLarge(11, 10, b"x" * 11), b"y" * 10]


@given(st.lists(st.integers(0, 4_000), max_size=10))
def test_a_body_over_the_limit_is_told_of_with_its_beginning_before_it_has_come(cuts):
    data = b"Content-Length: 999999999999\r\n\r\n" + bytes(range(256)) * 10
    told = [FrameTooLarge(999999999999, 10, (bytes(range(256)) * 10)[:BEGINNING_SIZE])]
    assert _feed(FrameDecoder(limit=10), data, cuts) == told


def test_a_header_without_a_usable_length_is_malformed_and_nothing_is_read_after_it():
    for header, reason in (
        (b"Content-Type: x", "no Content-Length"),
        (b"Content-Length: -1", "Content-Length is b'-1', not a number of bytes"),
        (b"Content-Length: 1e3", "Content-Length is b'1e3', not a number of bytes"),
        (b"Content-Length: " + b"9" * 30, f"Content-Length is {b'9' * 30!r}, not a number of bytes"),
        (b"GET / HTTP/1.1", "the line b'GET / HTTP/1.1' is not a header field"),
    ):
        decoder = FrameDecoder()
        [frame] = decoder.feed(header + b"\r\n\r\n" + encode_frame(b"later"))
        assert frame == MalformedHeader(header, reason)
        assert decoder.feed(encode_frame(b"later")) == []


def test_a_header_that_does_not_end_is_malformed():
    [frame] = _feed(FrameDecoder(), b"x" * 10_000, range(0, 10_000, 7))
    assert isinstance(frame, MalformedHeader)
    assert frame.reason == f"no end within {MAX_HEADER_SIZE} bytes"
