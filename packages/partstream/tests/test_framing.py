"""Lines of bytes, whatever ends them and however they arrive."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from partstream.codec.sse import LineSplitter
from rows import one_test_for

pieces = st.lists(
    st.sampled_from([b"\n", b"\r", b"\r\n", b"a", b"bc", b"\xef", b"\xbb\xbf", b"\x0b", b"\x85"]), max_size=20
)


def _lines(chunks: list[bytes]) -> list[bytes]:
    splitter = LineSplitter()
    return [line for chunk in chunks for line in splitter.split(chunk)] + splitter.end()


@one_test_for(
    ("data", "lines"),
    [
        (b"", []), (b"a", [b"a"]), (b"a\n", [b"a"]), (b"a\nb", [b"a", b"b"]), (b"\n\n", [b"", b""]),
        (b"a\r\nb\rc\n", [b"a", b"b", b"c"]), (b"\r\r\n\n", [b"", b"", b""]), (b"a\x0bb\x85\n", [b"a\x0bb\x85"]),
        (b"\xef\xbb\xbfa", [b"a"]), (b"\xef\xbba", [b"\xef\xbba"]), (b"\xef", [b"\xef"]), (b"\xef\xbb\xbf", []),
    ],
)  # fmt: skip
def test_lines_end_with_any_of_three(data: bytes, lines: list[bytes]) -> None:
    assert _lines([data]) == lines
    assert _lines([data[index : index + 1] for index in range(len(data))]) == lines


@given(pieces, st.lists(st.integers(0, 60), max_size=6))
def test_any_split_gives_the_same_lines(parts: list[bytes], cuts: list[int]) -> None:
    data = b"".join(parts)
    borders = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    assert _lines([data[start:end] for start, end in itertools.pairwise(borders)]) == _lines([data])


def test_the_splitter_says_how_much_waits_and_whether_a_line_begins() -> None:
    splitter = LineSplitter()
    splitter.split(b"abc\n")
    assert splitter.at_border
    assert splitter.pending_size == 0
    splitter.split(b"de")
    splitter.split(b"f")
    assert not splitter.at_border
    assert splitter.pending_size == 3
    splitter.drop_pending()
    assert splitter.pending_size == 0
    assert splitter.split(b"g\r") == [b"g"]
    assert not splitter.at_border, "a line feed may follow"
    assert splitter.split(b"\n") == []
    assert splitter.at_border
