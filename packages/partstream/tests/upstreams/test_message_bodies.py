"""Bodies of answers, told apart from the bytes around them."""

import h11
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream.upstream.http_connection import Body, ChunkedBody, SizedBody, body_of
from rows import one_test_for


def _fed(body: Body, data: bytes, size: int) -> bytes:
    return b"".join(body.feed(data[start : start + size]) for start in range(0, len(data), size))


def _by_h11(data: bytes) -> bytes | None:
    """The body as `h11` reads it; None for what is not whole or no body."""
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/", headers=[("host", "h")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + data)
    body = b""
    try:
        while not isinstance(event := connection.next_event(), h11.EndOfMessage):
            if event is h11.NEED_DATA:
                return None
            body += bytes(event.data) if isinstance(event, h11.Data) else b""
    except h11.RemoteProtocolError:
        return None
    return body


def _chunk(piece: bytes, extension: bytes = b"") -> bytes:
    return b"%x%b\r\n%b\r\n" % (len(piece), extension, piece)


PIECES = st.lists(st.binary(min_size=1, max_size=30), max_size=8)
ENDS = st.sampled_from([b"0\r\n\r\n", b"0\r\nt: x\r\nu: y\r\n\r\n", b"000;last\r\n\r\n"])
CHUNKED = st.builds(
    lambda pieces, extension, end: b"".join(_chunk(piece, extension) for piece in pieces) + end,
    PIECES,
    st.sampled_from([b"", b";name=value", b" ", b";a;b=\"c\""]),
    ENDS,
)  # fmt: skip


@given(data=CHUNKED, size=st.integers(1, 40))
def test_chunks_are_read_as_h11_reads_them_however_they_are_cut(data: bytes, size: int) -> None:
    body = ChunkedBody()
    assert _fed(body, data, size) == _by_h11(data)
    assert body.is_whole
    body.end()


@given(data=CHUNKED, at=st.integers(0, 200), byte=st.binary(max_size=2), size=st.integers(1, 40))
def test_damaged_chunks_are_an_error_or_what_h11_reads(data: bytes, at: int, byte: bytes, size: int) -> None:
    """A rest, an end with a bare line feed, and what follows the last chunk may differ."""
    damaged = data[:at] + byte + data[at + 1 :]
    expected, body = _by_h11(damaged), ChunkedBody()
    try:
        read = _fed(body, damaged, size)
    except httpx2.RemoteProtocolError:
        assert expected is None
        return
    assert expected is None or (body.is_whole and read == expected)


def test_what_follows_the_last_chunk_is_a_rest() -> None:
    body = ChunkedBody()
    assert body.feed(_chunk(b"ab") + b"0\r\n\r\nHTTP/1.1") == b"ab"
    assert (body.is_whole, body.rest) == (True, b"HTTP/1.1")


@one_test_for(
    "data",
    [
        b"z\r\n", b"-1\r\n", b"0x1\r\n", b"1_0\r\n", b"\r\n", b"+1\r\na\r\n", b"2\r\nabc\r\n", b"1\r\na\rb", b"1\n",
        b"f" * 17 + b"\r\n",
    ],
)  # fmt: skip
@one_test_for("size", [1, 100])
def test_what_is_no_chunk_is_an_error_of_the_server(data: bytes, size: int) -> None:
    with pytest.raises(httpx2.RemoteProtocolError, match="illegal chunk header"):
        _fed(ChunkedBody(), _chunk(b"ab") + data, size)


@pytest.mark.parametrize("data", [b"1" * 20_000, b"1;" + b"x" * 20_000])
def test_a_line_without_end_is_an_error(data: bytes) -> None:
    with pytest.raises(httpx2.RemoteProtocolError, match="illegal"):
        _fed(ChunkedBody(), data, 1000)


def test_trailers_without_end_are_an_error() -> None:
    with pytest.raises(httpx2.RemoteProtocolError, match="trailers"):
        _fed(ChunkedBody(), b"0\r\n" + b"t: x\r\n" * 200_000, 4096)


@pytest.mark.parametrize("size", [1, 2, 100])
def test_a_body_of_a_known_length_ends_there(size: int) -> None:
    body = SizedBody(5)
    assert _fed(body, b"12345more", size) == b"12345"
    assert (body.is_whole, body.rest) == (True, b"more")
    body.end()


@pytest.mark.parametrize(("body", "said"), [(SizedBody(5), "received 2 bytes, expected 5"), (ChunkedBody(), "chunked")])
def test_a_connection_that_ends_too_early_is_an_error(body: Body, said: str) -> None:
    body.feed(b"1\r")
    with pytest.raises(httpx2.RemoteProtocolError, match=said):
        body.end()


def test_a_body_without_a_length_ends_with_the_connection() -> None:
    body = Body()
    assert (body.feed(b"ab"), body.is_whole) == (b"ab", False)
    body.end()
    assert body.is_whole


@pytest.mark.parametrize(
    ("method", "status", "headers", "kind"),
    [
        ("GET", 200, [(b"transfer-encoding", b"chunked")], ChunkedBody),
        ("GET", 200, [(b"content-length", b"5"), (b"transfer-encoding", b"chunked")], ChunkedBody),
        ("POST", 500, [(b"content-length", b"5")], SizedBody),
        ("GET", 200, [], Body),
        ("HEAD", 200, [(b"content-length", b"5")], SizedBody),
        ("GET", 204, [], SizedBody),
        ("GET", 304, [(b"content-length", b"5")], SizedBody),
    ],
)
def test_the_head_says_which_body_follows(
    method: str, status: int, headers: list[tuple[bytes, bytes]], kind: type
) -> None:
    body = body_of(method, status, headers)
    assert type(body) is kind
    assert body.is_whole is (method == "HEAD" or status in {204, 304})
