"""Upstreams that mean harm, byte by byte as they write HTTP: each request has one typed outcome, in bounded time."""

import asyncio
import gzip
import json
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from partstream.codec.checks import MOST_SECONDS, MOST_TOKENS
from partstream.errors import (
    AnswerTooLargeError,
    TruncatedStreamError,
    UpstreamConnectionError,
    UpstreamError,
    UpstreamHTTPError,
    UpstreamProtocolError,
    UpstreamTimeoutError,
)
from partstream.lm.outputs import Finish, StreamOutput
from partstream.protocols.reader import StreamReader
from partstream.server.application import app
from partstream.server.settings import AnswerObservation
from partstream.tokens.ledger import LEDGER_NAME, open_ledger
from partstream.tokens.ledger_file import LedgerFile, read_usage_rows
from partstream.upstream.configuration import RetryPolicy, Timeouts
from partstream.upstream.http import UpstreamHTTP
from partstream.upstream.transport import UpstreamRequest
from partstream_devtools.testing.faults import document
from rows import one_test_for
from serving.asgi import ask
from upstreams.test_transport import Streamed, exchange, stream, transport_to
from upstreams.upstreams import LIMITS, configuration, gateway_to, run, server_of

ONE_ATTEMPT = RetryPolicy(attempts=1, first_wait=0.01, longest_wait=1.0)


def _sse(event: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(event).encode() + b"\n\n"


DELTA = _sse({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "Hi"})
COMPLETED = _sse({"type": "response.completed", "response": {"output": []}})
EVENTS = DELTA + COMPLETED
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"


def _sized(body: bytes = EVENTS, headers: bytes = b"", head: bytes = HEAD) -> bytes:
    return head + headers + b"content-length: %d\r\n\r\n" % len(body) + body


def _chunked(*chunks: bytes, end: bytes = b"0\r\n\r\n", head: bytes = HEAD) -> bytes:
    return head + b"transfer-encoding: chunked\r\n\r\n" + b"".join(map(_chunk, chunks)) + end


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def _one_by_one(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


def _json(body: bytes, status: bytes = b"200 OK", headers: bytes = b"") -> bytes:
    return _sized(body, headers, b"HTTP/1.1 " + status + b"\r\ncontent-type: application/json\r\n")


def _encoded(body: bytes, encoding: bytes = b"gzip") -> bytes:
    return _sized(body, b"content-encoding: " + encoding + b"\r\n")


@asynccontextmanager
async def sending(*answers: bytes, for_ever: bytes = b"") -> AsyncIterator[tuple[str, list[bytes]]]:
    """A server that writes these bytes, an answer a connection, the last again and again.

    Yields its URL and the heads of the requests that came.
    """
    heads: list[bytes] = []
    tasks: set[asyncio.Task[Any]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            heads.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(answers[min(len(heads), len(answers)) - 1])
            while for_ever:
                writer.write(for_ever * 100)
                await writer.drain()
                await asyncio.sleep(0)
            await writer.drain()
            writer.write_eof()
            await reader.read()  # until the client closes
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", heads
    finally:
        server.close()
        await asyncio.gather(*tasks, return_exceptions=True)


async def outcome_of(answer: bytes, **changes: Any) -> Streamed:
    """What comes of one answer; it has exactly one outcome."""
    async with sending(answer) as (url, _):
        streamed = await stream(url, **({"retry": ONE_ATTEMPT} | changes))
    assert (streamed.raised is None) != (streamed.finish is None)
    return streamed


WHOLE: dict[str, bytes] = {
    "thousands of early hints": b"HTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\n" * 3000 + _sized(),
    "a length that is said twice": HEAD + b"content-length: %d, %d\r\n\r\n" % (len(EVENTS), len(EVENTS)) + EVENTS,
    "a length that nothing reaches": HEAD + b"content-length: " + b"9" * 19 + b"\r\n\r\n" + EVENTS,
    "a length beside chunks": _chunked(EVENTS, head=HEAD + b"content-length: 5\r\n"),
    "chunks of one byte": _chunked(*_one_by_one(EVENTS)),
    "thousands of trailers": _chunked(EVENTS, end=b"0\r\n" + b"t: x\r\n" * 3000 + b"\r\n"),
    "a broken trailer": _chunked(EVENTS, end=b"0\r\nno header\r\n\r\n"),
    "lines that end with a line feed": _sized().replace(b"\r\n", b"\n"),
    "a status without a reason": _sized(head=HEAD.replace(b" OK", b"")),
    "another success": _sized(head=HEAD.replace(b"200 OK", b"299 Fine")),
    "a part of a range": _sized(headers=b"content-range: bytes 0-1/99999999999999999999\r\n").replace(b"200", b"206"),
    "a header over two lines": _sized(headers=b"x-a: b\r\n c\r\n"),
    "control characters in a header": _sized(headers=b"x-a: \x1b[2J\x7f\xff\r\n"),
    "no type": _sized(head=b"HTTP/1.1 200 OK\r\n"),
    "a type that is no text": _sized(head=b"HTTP/1.1 200 OK\r\ncontent-type: \xff\xfe\r\n"),
    "a type in UTF-16": _sized().replace(b"event-stream", b"event-stream; charset=utf-16"),
    "an unknown encoding": _encoded(EVENTS, b"rot13"),
    "two packed pieces in chunks": _chunked(gzip.compress(EVENTS), head=HEAD + b"content-encoding: gzip\r\n"),
    "bytes behind what was packed": _encoded(gzip.compress(EVENTS) + b"garbage" * 99),
    "an answer behind the answer": _sized() + _sized(b"data: {}\n\n"),
    "bytes behind the answer": _sized() + b"\xff\x00" * 9999,
    "numbers in every header": _sized(
        headers=b"keep-alive: timeout=1e999, max=-1\r\nage: 1e999\r\nexpires: -1\r\n"
        b"date: Mon, 99 Foo 99999 99:99:99 GMT\r\n"
        b"x-ratelimit-reset: NaN\r\nretry-after: inf\r\nstrict-transport-security: max-age=1e99\r\n"
    ),
    "a header that sends elsewhere": _sized(headers=b'refresh: 0;url=http://e.org/\r\nalt-svc: h3=":443"; ma=1e9\r\n'),
    "a document with a huge integer": _json(
        b'{"status":"completed","output":[{"type":"message","content":"Hi"}],"x":' + b"9" * 5000 + b"}"
    ),
    "a document that is no UTF-8": _json(
        b'{"status":"completed","output":[{"type":"message","content":"Hi"}],"x":"\xff"}'
    ),
}


@one_test_for("answer", WHOLE.values(), ids=WHOLE)
def test_an_answer_is_whole_in_spite_of(answer: bytes) -> None:
    async def test() -> None:
        streamed = await outcome_of(answer)
        assert streamed.error is None
        assert streamed.text == "Hi"

    run(test())


def _with_length(length: str) -> bytes:
    return HEAD + b"content-length: " + length.encode() + b"\r\n\r\n" + EVENTS


def _with_chunk_size(size: bytes) -> bytes:
    return HEAD + b"transfer-encoding: chunked\r\n\r\n" + size + b"\r\nhello\r\n0\r\n\r\n"


BROKEN: dict[str, tuple[bytes, type[UpstreamError]]] = {
    **{
        f"the length {length:.9}": (_with_length(length), UpstreamConnectionError)
        for length in ("+5", "5, 6", "-1", "1e3", "0x10", "9" * 5000, "", "\u0665")
    },
    **{
        f"a chunk of the size {size[:9].decode()}": (_with_chunk_size(size), UpstreamConnectionError)
        for size in (b"f" * 40, b"+5", b"0x5", b"-5", b"", b"5;" + b"x" * 2_000_000)
    },
    **{
        f"the transfer encoding {name}": (
            HEAD + b"transfer-encoding: " + name.encode() + b"\r\n\r\n" + EVENTS,
            UpstreamConnectionError,
        )
        for name in ("identity", "gzip, chunked", "chunked, chunked")
    },
    **{
        f"the status line {line[:14]!r}": (_sized(head=line + b"\r\n"), UpstreamConnectionError)
        for line in (
            b"HTTP/1.1 2000 OK",
            b"HTTP/1.1 -20 OK",
            b"HTTP/1.1 099 OK",
            b"ICY 200 OK",
            b"\x15\x03\x01\0\x02\x02\x28",
        )
    },
    **{
        f"the header line {line[:9]!r}": (_sized(headers=line + b"\r\n"), UpstreamConnectionError)
        for line in (b"a\0: b", b"a: \0", b"\xff: x", b"a b: x", b": x", b"no colon", b"x: " + b"a" * 2_000_000)
    },
    "no head at all": (EVENTS, UpstreamConnectionError),
    "nothing": (b"", UpstreamConnectionError),
    "another protocol from now on": (
        b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n" + EVENTS,
        UpstreamConnectionError,
    ),
    "no content": (b"HTTP/1.1 204 No Content\r\n\r\n", UpstreamConnectionError),
    "packed, it says": (_encoded(EVENTS), UpstreamConnectionError),
    "packed a hundred times, it says": (_encoded(EVENTS, b", ".join([b"gzip"] * 100)), UpstreamConnectionError),
    "packed, with a wrong sum": (_encoded(gzip.compress(EVENTS)[:-8] + b"\0" * 8), UpstreamConnectionError),
    "packed, and cut": (_encoded(gzip.compress(DELTA * 9)[:-9]), TruncatedStreamError),
    "packed without a head": (
        _encoded(zlib.compressobj(wbits=-15).compress(EVENTS), b"deflate"),
        UpstreamConnectionError,
    ),
    **{
        f"a redirect to {where[:12]!r}": (
            b"HTTP/1.1 302 Found\r\nlocation: " + where + b"\r\ncontent-length: 0\r\n\r\n",
            UpstreamHTTPError,
        )
        for where in (b"http://[::1", b"http://a:99999999999/", b"http://\xff\xfe/", b"javascript:alert(1)", b"")
    },
    "an unknown status": (b"HTTP/1.1 799 ?\r\ncontent-length: 0\r\n\r\n", UpstreamHTTPError),
    "a reason that moves the cursor": (b"HTTP/1.1 500 \x1b[2J\xff\r\ncontent-length: 0\r\n\r\n", UpstreamHTTPError),
    "a document of brackets": (_json(b"[" * 100_000 + b"]" * 100_000), UpstreamError),
    "a document of many levels": (_json(b'{"output":' + b"[" * 900 + b"]" * 900 + b"}"), UpstreamError),
    "an error of many levels": (_json(b'{"error":' * 930 + b"1" + b"}" * 930, b"400 No"), UpstreamHTTPError),
    "a page whose title is a character of thousands of digits": (
        _sized(b"<title>&#" + b"9" * 5000 + b";</title>", head=b"HTTP/1.1 502 No\r\ncontent-type: text/html\r\n"),
        UpstreamHTTPError,
    ),
    "a page of beginnings of titles": (
        _sized(b"<title" * 10_000, head=b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n"),
        UpstreamError,
    ),
    "an error in chunks of one byte": (
        _chunked(*_one_by_one(b"x" * 9000), head=b"HTTP/1.1 500 No\r\n"),
        UpstreamHTTPError,
    ),
    "an event of brackets": (_sized(b"data: " + b"[" * 100_000 + b"\n\n" + EVENTS), UpstreamProtocolError),
}


@one_test_for(("answer", "expected"), BROKEN.values(), ids=BROKEN)
def test_an_answer_is_one_typed_error_that_has(answer: bytes, expected: type[UpstreamError]) -> None:
    async def test() -> None:
        streamed = await outcome_of(answer)
        assert isinstance(streamed.error, expected)
        assert streamed.text.replace("Hi", "") == ""

    run(test())


# ---- what goes on for ever ----

ENDLESS: dict[str, tuple[bytes, bytes]] = {
    "early hints": (b"", b"HTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\n"),
    "a header": (HEAD + b"x: ", b"a" * 20),
    "comments": (HEAD + b"\r\n", b": ping\n\n"),
    "blank lines": (HEAD + b"\r\n", b"\n" * 9),
    "chunks of nothing but a space": (HEAD + b"transfer-encoding: chunked\r\n\r\n", _chunk(b" ")),
}


@pytest.mark.parametrize(("begin", "for_ever"), ENDLESS.values(), ids=ENDLESS)
def test_what_goes_on_for_ever_without_an_event_ends_with_the_limit(begin: bytes, for_ever: bytes) -> None:
    async def test() -> None:
        async with sending(begin, for_ever=for_ever) as (url, _):
            limits = Timeouts(connect=20.0, first_event=0.2, idle=20.0, total=20.0)
            streamed = await stream(url, timeouts=limits, retry=ONE_ATTEMPT)
        assert isinstance(streamed.raised, UpstreamTimeoutError | UpstreamConnectionError)

    run(test())


def test_what_comes_for_ever_behind_the_answer_changes_nothing() -> None:
    async def test() -> None:
        async with sending(HEAD + b"\r\n" + EVENTS, for_ever=b"x" * 600) as (url, _):
            streamed = await stream(url)
        assert streamed.error is None
        assert streamed.text == "Hi"

    run(test())


@dataclass(slots=True)
class _Watched(UpstreamRequest):
    """An exchange whose reader notes in which turn of the event loop it was fed."""

    turns: Callable[[], int] = field(default=lambda: 0, kw_only=True)
    seen: set[int] = field(default_factory=set, kw_only=True)

    def make_reader(self, trace: Any = None) -> StreamReader:
        seen, turns = self.seen, self.turns

        class Reader(StreamReader):
            def feed(self, data: bytes) -> list[StreamOutput]:
                seen.add(turns())
                return super().feed(data)

        return Reader("openresponses")


def test_a_little_that_unpacks_to_very_much_leaves_others_their_turn() -> None:
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def test() -> None:
        size = 8 * 1024 * 1024
        others = asyncio.create_task(count_turns())
        plain = exchange({"model": "any", "input": "Hi", "stream": True})
        watched = _Watched(plain.request, plain.protocol, plain.errors, plain.options, turns=lambda: turns)
        async with sending(_encoded(gzip.compress(b": x\n" + b" " * size + b"\n\n" + EVENTS, 9))) as (url, _):
            http, transport = transport_to(url)
            try:
                outputs = [output async for some in transport.stream(watched) for output in some]
            finally:
                await http.aclose()
        others.cancel()
        assert isinstance(outputs[-1], Finish)
        assert len(watched.seen) >= size // (1024 * 1024)

    run(test())


def test_unknown_events_for_ever_leave_others_their_turn_until_the_limit_of_an_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("partstream.upstream.transport.TURN_SECONDS", 0.0)
    monkeypatch.setattr("partstream.upstream.transport.MOST_ANSWER_BYTES", 2_000_000)
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def test() -> None:
        others = asyncio.create_task(count_turns())
        async with sending(HEAD + b"\r\n" + DELTA, for_ever=_sse({"type": "zzz", "delta": "a" * 100}) * 10) as (url, _):
            streamed = await stream(url, retry=ONE_ATTEMPT)
        others.cancel()
        assert isinstance(streamed.error, AnswerTooLargeError)
        assert streamed.text == "Hi"
        assert turns > 10

    run(test())


def test_a_document_byte_by_byte_takes_a_few_times_its_size() -> None:
    document = b'{"data":[' + b" " * 6000 + b"]}"

    async def test() -> int:
        http = UpstreamHTTP(configuration(url_of[0], timeouts=LIMITS))
        try:
            response = await http.fetch("/v1/models", {})
        finally:
            await http.aclose()
        return len(response.body)

    url_of: list[str] = []

    async def measured() -> None:
        async with sending(_chunked(*_one_by_one(document))) as (url, _):
            url_of.append(url)
            await test()  # what is loaded once
            tracemalloc.start()
            try:
                assert await test() == len(document)
                _, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
        # The pieces of a list took 90 bytes for each byte, 1.8 MB; what is left is what the HTTP client buffers.
        assert peak < 60 * len(document)

    run(measured())


# ---- what the client gives away ----


def test_a_cookie_is_not_sent_back_and_a_redirect_is_not_followed() -> None:
    async def test() -> None:
        async with sending(_sized()) as (elsewhere, stolen):
            redirect = b"HTTP/1.1 307 Go\r\nlocation: " + elsewhere.encode() + b"\r\ncontent-length: 0\r\n\r\n"
            cookie = _sized(headers=b"set-cookie: sid=1; path=/\r\n", head=HEAD + b"connection: close\r\n")
            async with sending(cookie, cookie, redirect) as (url, heads):
                assert [(await stream(url)).error for _ in range(2)] == [None, None]
                assert isinstance((await stream(url, retry=ONE_ATTEMPT)).error, UpstreamHTTPError)
        assert not any(b"cookie" in head.lower() for head in heads)
        assert stolen == []

    run(test())


# ---- every header and every number in every extreme ----

EXTREMES = st.sampled_from(
    (
        "", "0", "-0", "1", "-1", "0.5", "1e999", "-1e999", "inf", "-inf", "nan", "Infinity", "0x10", "\u0663", "1_0",
        "9" * 10, "9" * 19, "9" * 400, "9" * 5000, "1,2", "a", "\xff", "\x1b[2J", " ", "true", "null", "%00", "\u2028",
        "Mon, 01 Jan 99999999999 00:00:00 GMT", "Mon, 01 Jan 2030 00:00:00 +99999999999999999999",
        "Mon, 01 Jan 1990 00:00:00 GMT",
    )
)  # fmt: skip
HEADERS = st.sampled_from(
    (
        "retry-after", "content-type", "content-encoding", "location", "date", "age", "expires", "keep-alive",
        "connection", "x-ratelimit-reset-requests", "x-request-id", "set-cookie", "www-authenticate", "vary", "server",
        "upgrade", "link", "content-range", "accept-ranges", "content-disposition", "etag", "x-vercel-id", "trailer",
        "openai-processing-ms",
    )
)  # fmt: skip
STATUSES = st.sampled_from(
    (200, 201, 204, 206, 300, 304, 307, 400, 401, 402, 403, 404, 408, 413, 418, 429, 500, 503, 529, 999)
)
NUMBERS = st.sampled_from(
    (b"1", b"-1", b"0.5", b"1e999", b"-1e999", b"NaN", b"9" * 19, b"9" * 400, b"9" * 5000, b'"1"', b"null", b"true")
)
COUNTED = (
    b'data: {"type":"response.completed","response":{"usage":{"input_tokens":%s,"output_tokens":%s,"cost":%s}}}\n\n'
)


@st.composite
def hostile_answers(draw: st.DrawFn) -> bytes:
    status = draw(STATUSES)
    headers = draw(st.lists(st.tuples(HEADERS, EXTREMES), max_size=5))
    number = draw(NUMBERS)
    bodies: Iterable[bytes] = (
        b"",
        EVENTS,
        DELTA + COUNTED % (number, number, number),
        b'{"error":{"message":%s,"code":%s,"type":"x"},"retry_after":%s}' % (number, number, number),
        b'{"status":"completed","output":[],"usage":{"input_tokens":%s,"output_tokens":1}}' % number,
    )
    body = draw(st.sampled_from(tuple(bodies)))
    lines = b"".join(name.encode() + b": " + value.encode("utf-8", "replace") + b"\r\n" for name, value in headers)
    head = b"HTTP/1.1 %d x\r\n" % status
    if draw(st.booleans()):
        head += b"content-type: " + draw(st.sampled_from([b"text/event-stream", b"application/json"])) + b"\r\n"
    return _sized(body, lines, head)


@given(hostile_answers())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_header_and_number_in_every_extreme_has_one_typed_outcome(answer: bytes) -> None:
    async def test() -> None:
        streamed = await outcome_of(answer)
        error = streamed.error
        assert error is None or isinstance(error, UpstreamError)
        if error is not None:
            assert error.retry_after is None or 0 <= error.retry_after <= MOST_SECONDS
        usage = streamed.finish.usage if streamed.finish is not None else None
        counts = () if usage is None else (usage.input_tokens, usage.output_tokens, usage.total_tokens)
        assert all(count is None or 0 <= count <= 2 * MOST_TOKENS for count in counts)

    asyncio.run(asyncio.wait_for(test(), 30))


CHAT, CLAUDE = "/v1/chat/completions", "/v1/messages"
MOST = 2**27
TOLD = {
    "as it came": (CHAT, "chat-completions", 10**9),
    "of another wire": (CLAUDE, "chat-completions", MOST + 1),
    "of another wire, no number of tokens": (CLAUDE, "chat-completions", 10**12),
    "in other words": (CLAUDE, "ollama", 10**9),
}


@one_test_for(("path", "protocol", "reported"), TOLD.values(), ids=TOLD)
def test_a_report_of_more_than_an_answer_can_take_is_named_and_an_estimate_takes_its_place(
    path: str, protocol: str, reported: int, tmp_path: Path, caplog: Any
) -> None:
    said = {"message": {"role": "assistant", "content": "Hello you"}, "finish_reason": "stop", "index": 0}
    usage = {"prompt_tokens": 12, "completion_tokens": reported}
    body = {"object": "chat.completion", "choices": [said], "usage": usage}
    if protocol == "ollama":
        body = {"model": "text", "message": said["message"], "done": True, "done_reason": "stop"}
        body |= {"prompt_eval_count": 12, "eval_count": reported}

    async def test() -> None:
        ledger, seen = open_ledger(tmp_path), list[AnswerObservation]()
        reply = document(200, json.dumps(body).encode())
        async with server_of(reply) as (url, _), gateway_to(url, ledger, protocol=protocol) as provider:
            application = app(provider)
            application.on_did_finish_answer(seen.append)
            asked = {"model": "text", "max_tokens": 20, "messages": [{"role": "user", "content": "Hi"}]}
            answered = await ask(application, path, asked)
            assert (answered.status, str(reported) in answered.body.decode()) == (200, path == CHAT)
        ledger.close()
        (one,) = seen
        assert one.usage is not None
        assert one.is_usage_counted
        assert 0 < (one.usage.output_tokens or 0) < 20
        assert [row.output_tokens for row in read_usage_rows(LedgerFile(ledger_at), date(2020, 1, 1))] == []

    ledger_at = tmp_path / LEDGER_NAME
    ledger_at.unlink(missing_ok=True)
    run(test())
    assert "numbers of tokens that cannot be, they count as unknown: " in caplog.text
    assert f"_tokens: {reported}" in caplog.text
