"""The decoder of event streams against the algorithm of the WHATWG standard, whatever way the bytes are cut."""

import itertools
import tracemalloc

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from partstream.codec.sse import JSONLinesDecoder, SSEDecoder
from partstream.errors import EventTooLargeError
from rows import one_test_for

Events = list[tuple[bytes, bytes]]


def _decode(chunks: list[bytes], decoder: SSEDecoder | JSONLinesDecoder | None = None) -> Events:
    decoder = decoder or SSEDecoder()
    events: Events = []
    for chunk in chunks:
        events += decoder.feed(chunk)
    return events + decoder.end()


def _bytes_of(data: bytes) -> list[bytes]:
    return [data[index : index + 1] for index in range(len(data))]


def _cut(data: bytes, places: list[int]) -> list[bytes]:
    borders = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(borders)]


def _by_the_standard(data: bytes, max_line: int | None = None) -> Events:
    """The standard's algorithm in the plainest words, on all bytes at once."""
    data = data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    events: Events = []
    name, values = b"", []
    for line in [*data.split(b"\n"), b""]:
        if not line:
            if b"\n".join(values):
                events.append((name, b"\n".join(values)))
            name, values = b"", []
        field, _, value = line.partition(b":")
        value = value[1:] if value[:1] == b" " else value
        if field == b"data":
            values.append(value)
        if field == b"event":
            name = value
    return events


# Texts of our own for each example and rule of the standard, section 9.2.
EXAMPLES: dict[str, tuple[bytes, Events]] = {
    "nothing at all": (b"", []),
    "one event": (b"data: hello\n\n", [(b"", b"hello")]),
    "two data lines are one event": (b"data: north\ndata: +2\ndata: 10\n\n", [(b"", b"north\n+2\n10")]),
    "a name": (b"event: add\ndata: 73857293\n\n", [(b"add", b"73857293")]),
    "the name may follow the data": (b"data: 7\nevent: add\n\n", [(b"add", b"7")]),
    "the last name counts": (b"event: one\nevent: two\ndata: 7\n\n", [(b"two", b"7")]),
    "a name lasts for one event": (b"event: add\ndata: 1\n\ndata: 2\n\n", [(b"add", b"1"), (b"", b"2")]),
    "a name without data is forgotten": (b"event: add\n\ndata: 2\n\n", [(b"", b"2")]),
    "a comment": (b": keep alive\ndata: 1\n\n", [(b"", b"1")]),
    "a comment inside an event": (b"data: 1\n: hm\ndata: 2\n\n", [(b"", b"1\n2")]),
    "comments only": (b": one\n\n: two\n\n:\n\n", []),
    "an id is no event": (b"id: 4\n\n", []),
    "a retry is no event": (b"retry: 10\n\n", []),
    "data without a colon": (b"data\n\n", []),
    "two data lines without values": (b"data\ndata\n\n", [(b"", b"\n")]),
    "an empty value beside another": (b"data:\ndata: x\n\n", [(b"", b"\nx")]),
    "data that is empty means nothing": (b"data:\n\ndata: \n\n", []),
    "no space after the colon": (b"data:test\n\n", [(b"", b"test")]),
    "one space after the colon goes": (b"data: test\n\n", [(b"", b"test")]),
    "only one space goes": (b"data:  test\n\n", [(b"", b" test")]),
    "a tab stays": (b"data:\ttest\n\n", [(b"", b"\ttest")]),
    "colons in the value stay": (b"data: a: b:c\n\n", [(b"", b"a: b:c")]),
    "a space before the colon makes another field": (b"data : x\n\n", []),
    "a space before the name makes another field": (b" data: x\n\n", []),
    "names are case sensitive": (b"Data: x\nDATA: y\n\n", []),
    "unknown fields mean nothing": (b"answer: 42\nfoo\ndata: x\n\n", [(b"", b"x")]),
    "line feeds": (b"data: a\ndata: b\n\n", [(b"", b"a\nb")]),
    "carriage returns": (b"data: a\rdata: b\r\r", [(b"", b"a\nb")]),
    "both": (b"data: a\r\ndata: b\r\n\r\n", [(b"", b"a\nb")]),
    "all three line ends at once": (b"data: a\r\ndata: b\rdata: c\n\n", [(b"", b"a\nb\nc")]),
    "LF CR is two line ends": (b"data: a\n\rdata: b\n\n", [(b"", b"a"), (b"", b"b")]),
    "blank lines between events": (b"\n\n\ndata: a\n\n\n\n\ndata: b\n\n\n", [(b"", b"a"), (b"", b"b")]),
    "a byte order mark": (b"\xef\xbb\xbfdata: a\n\n", [(b"", b"a")]),
    "only the first byte order mark goes": (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n", [(b"", b"b")]),
    "a byte order mark later on is data": (b"data: \xef\xbb\xbfa\n\n", [(b"", b"\xef\xbb\xbfa")]),
    "the beginning of a byte order mark": (b"\xef\xbbdata: a\n\ndata: b\n\n", [(b"", b"b")]),
    "other separators end no line": (
        "data: a\u2028b\u0085c\x0bd\x0ce\x1cf\n\n".encode(),
        [(b"", "a\u2028b\u0085c\x0bd\x0ce\x1cf".encode())],
    ),
    "a null is data": (b"data: a\0b\n\n", [(b"", b"a\0b")]),
    "broken UTF-8 is passed on": (b"data: \xff\xfe\n\n", [(b"", b"\xff\xfe")]),
    "the end of a stream": (b'data: {"a":1}\n\ndata: [DONE]\n\n', [(b"", b'{"a":1}'), (b"", b"[DONE]")]),
    "the last event without its blank line": (b"data: a\n\nevent: x\ndata: b\n", [(b"", b"a"), (b"x", b"b")]),
    "the last event without any line end": (b"data: a\n\ndata: b", [(b"", b"a"), (b"", b"b")]),
    "the last event with a carriage return": (b"data: a\n\ndata: b\r", [(b"", b"a"), (b"", b"b")]),
    "a field cut in the middle of its name": (b"data: a\n\ndat", [(b"", b"a")]),
}


@one_test_for(("data", "expected"), EXAMPLES.values(), ids=EXAMPLES)
def test_an_event_stream_is_read_by_the_standard(data: bytes, expected: Events) -> None:
    assert _decode([data]) == expected
    assert _decode(_bytes_of(data)) == expected
    assert _decode([b"", *_cut(data, [len(data) // 2]), b""]) == expected
    for place in range(len(data) + 1):
        assert _decode([data[:place], data[place:]]) == expected, f"cut at {place}"


def test_a_retry_of_any_length_is_harmless() -> None:
    assert _decode([b"retry: " + b"9" * 10_000 + b"\ndata: x\n\n"]) == [(b"", b"x")]


# ---- any split ----

# Made of what matters to the decoder, so that every border between two of them is met often.
pieces = st.sampled_from(
    [
        b"data",
        b"event",
        b"id",
        b"retry",
        b":",
        b" ",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"\r\r",
        b"[DONE]",
        b"\xef\xbb\xbf",
        b"\xef",
        b"\xbb",
        b"\xbf",
        "é😀".encode(),
        b"{}",
        b"x",
        b"data: ",
        b"event: x\n",
        b"event: x\ndata: y\n\n",
        b"\x00",
    ]
)
streams = st.lists(pieces, max_size=40).map(b"".join)
places = st.lists(st.integers(0, 1000), max_size=12)


@given(streams, places)
@example(b"data: \xf0\x9f\x98\x80\n\n", [7, 8, 9])
@example(b"data: a\r\n\r\n", [8, 10])
@settings(max_examples=400)
def test_any_split_gives_the_events_that_the_standard_gives(data: bytes, cuts: list[int]) -> None:
    expected = _by_the_standard(data)
    assert _decode([data]) == expected
    assert _decode(_cut(data, cuts)) == expected
    assert _decode(_bytes_of(data)) == expected


live_events = st.lists(
    st.tuples(st.sampled_from([b"one", b"two", b"one:", b" one", b""]), st.lists(pieces, max_size=4).map(b"".join)),
    max_size=12,
)


@given(live_events, st.sampled_from([b"\n", b"\r\n", b"\r"]), st.integers(1, 4))
@example([(b"one", b"{}"), (b"one", b"\n\ndata: x"), (b"one", b"{}")], b"\n", 1)
@example([(b"one", b"{}"), (b"one", b"a\n\nevent: one\ndata: b"), (b"one", b"\n")], b"\n", 1)
@settings(max_examples=400)
def test_a_chunk_an_event_gives_the_same_as_byte_by_byte(events: Events, line_end: bytes, at_once: int) -> None:
    framed = [
        (b"event: " + name + line_end if name else b"") + b"data: " + data + line_end * 2 for name, data in events
    ]
    chunks = [b"".join(framed[start : start + at_once]) for start in range(0, len(framed), at_once)]
    expected = _by_the_standard(b"".join(framed))
    assert _decode(chunks) == expected
    assert _decode(_bytes_of(b"".join(framed))) == expected


@one_test_for(
    "odd",
    [
        b"event: one\ndata: a\ndata: b\n\n",
        b"event: one\ndata: a\n",
        b"event: one\ndata: a\n\n\n",
        b": hm\n\n",
        b"event: one\ndata:a\n\n",
        b"event: one\ndata: \n\n",
        b"event: one\n\n",
        b"data: a\n\n",
        b"event: one\rdata: a\n\n",
        b"event: one\ndata: a\n\nevent: one\ndata: ",
        b"\n",
        b"\r",
        b"event: one\nid: 4\n\n",
        b"event: one\ndata: a\r\n\r\n",
        b"event: one\ndata: a\n: hm\n\n",
        b"event: one\ndata: a\n\nevent: two\ndata: b\n\n",
        b"event: one\ndata: a\r\n\n",
    ],
)
def test_an_odd_chunk_among_usual_ones_is_read_like_any_other(odd: bytes) -> None:
    usual = b"event: one\ndata: {}\n\n"
    chunks = [usual, usual, odd, usual, usual]
    assert _decode(chunks) == _by_the_standard(b"".join(chunks))


# ---- linear time and bounded memory ----


def _allocated(chunks: list[bytes]) -> int:
    """How many blocks of memory larger than a read are made while the chunks are fed: copies of the tail."""
    decoder = SSEDecoder()
    large = 0
    for chunk in chunks:
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        decoder.feed(chunk)
        _, peak = tracemalloc.get_traced_memory()
        large += peak - before
    return large


def test_a_large_event_in_small_reads_is_copied_a_few_times_and_not_once_a_read() -> None:
    event = b"event: big\ndata: " + b"x" * 2_000_000 + b"\n\n"
    reads = [event[start : start + 1460] for start in range(0, len(event), 1460)]
    tracemalloc.start()
    try:
        allocated = _allocated(reads)
    finally:
        tracemalloc.stop()
    # Copying the tail at every read would be 1,370 times half of it: 1.4 GB.
    assert allocated < 10 * len(event)


def test_a_stream_of_many_events_keeps_no_memory() -> None:
    decoder = SSEDecoder()
    chunk = b"event: one\ndata: {}\n\n" * 100
    decoder.feed(chunk)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(100):
            decoder.feed(chunk)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 10_000


# ---- the size limit ----

LIMIT = 40
OVER_THE_LIMIT: dict[str, bytes] = {
    "one line": b"data: " + b"x" * 50 + b"\n\n",
    "one line that never ends": b"data: " + b"x" * 50,
    "a name": b"event: " + b"x" * 50 + b"\ndata: y\n\n",
    "a comment": b": " + b"x" * 50 + b"\n\n",
    "many lines": b"data: 12345678\n" * 5 + b"\n",
    "many lines with carriage returns": b"data: 12345678\r" * 5 + b"\r",
}


@one_test_for("data", OVER_THE_LIMIT.values(), ids=OVER_THE_LIMIT)
def test_an_event_over_the_limit_is_an_error_and_nothing_follows_it(data: bytes) -> None:
    before, after = b"event: one\ndata: a\n\n", b"event: one\ndata: b\n\n"
    for chunks in ([before + data + after], _bytes_of(before + data + after), [before, data, after]):
        decoder = SSEDecoder(LIMIT)
        assert _decode(chunks, decoder) == [(b"one", b"a")]
        error = decoder.error
        assert isinstance(error, EventTooLargeError)
        assert error.limit == LIMIT
        assert error.size > LIMIT
        assert "expected at most 40 bytes" in str(error)


@given(st.integers(30, 45), places, st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_whether_an_event_is_too_large_does_not_depend_on_the_split(size: int, cuts: list[int], end: bytes) -> None:
    event = b"data: " + b"x" * (size - 6) + end + end
    data = b"event: one" + end + b"data: a" + end + end + event * 2
    events = []
    for chunks in ([data], _cut(data, cuts), _bytes_of(data)):
        decoder = SSEDecoder(LIMIT)
        events.append((_decode(chunks, decoder), type(decoder.error)))
    assert events[0] == events[1] == events[2]
    assert len(events[0][0]) == (3 if size <= LIMIT else 1)


def test_many_events_in_one_chunk_may_together_be_larger_than_the_limit() -> None:
    decoder = SSEDecoder(LIMIT)
    assert len(_decode([b"event: one\ndata: a\n\n", b"event: one\ndata: a\n\n" * 100], decoder)) == 101
    assert decoder.error is None


def test_memory_is_bounded_by_the_limit() -> None:
    decoder = SSEDecoder(10_000)
    tracemalloc.start()
    try:
        for _ in range(1000):
            decoder.feed(b"x" * 1000)
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert decoder.error is not None
    assert peak < 100_000
    assert kept < 20_000


# ---- JSON lines ----


@one_test_for(
    ("data", "expected"),
    [
        (b"", []),
        (b'{"a":1}\n{"b":2}\n', [b'{"a":1}', b'{"b":2}']),
        (b'{"a":1}\r\n{"b":2}\r\n', [b'{"a":1}', b'{"b":2}']),
        (b'{"a":1}\n\n  \n{"b":2}', [b'{"a":1}', b'{"b":2}']),
        (b'\xef\xbb\xbf{"a":1}\n', [b'{"a":1}']),
        (b'\xef\xbb\xbf\n{"a":1}', [b'{"a":1}']),
        (b'  {"a":1}\t\n', [b'{"a":1}']),
        ('{"a":"\u2028\u0085"}\n'.encode(), ['{"a":"\u2028\u0085"}'.encode()]),
        (b"\n\n", []),
    ],
)
def test_json_lines_are_the_lines_that_are_not_blank(data: bytes, expected: list[bytes]) -> None:
    events = [(b"", line) for line in expected]
    assert _decode([data], JSONLinesDecoder()) == events
    for place in range(len(data) + 1):
        assert _decode([data[:place], data[place:]], JSONLinesDecoder()) == events
    assert _decode(_bytes_of(data), JSONLinesDecoder()) == events


@pytest.mark.parametrize("last", [b"\n", b""])
def test_a_line_over_the_limit_is_an_error_and_nothing_follows_it(last: bytes) -> None:
    for line, expected in ((b"x" * 40, [b"a", b"x" * 40]), (b"x" * 41, [b"a"])):
        data = b"a\n" + line + last
        for chunks in ([data], _bytes_of(data)):
            decoder = JSONLinesDecoder(LIMIT)
            assert _decode(chunks, decoder) == [(b"", value) for value in expected]
            assert (decoder.error is None) == (len(line) == LIMIT)
            assert decoder.feed(b"\n{}\n") == ([] if decoder.error else [(b"", b"{}")])
