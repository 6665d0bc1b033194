"""The replay upstream answers with recorded exchanges: the same bytes, the same failures, at any pace."""

import asyncio
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from bundles.made_bundles import FULL
from partstream.codec.json_codec import dumps
from partstream_devtools.bundles.archive import write_bundle
from partstream_devtools.bundles.exchange import (
    Bundle,
    Chunk,
    ExchangeEnd,
    HowEnded,
    RecordedError,
    RecordedExchange,
    ResponseHead,
)
from partstream_devtools.testing.admission import scenario_events, steps_of
from partstream_devtools.testing.faults import Head, Send, Until
from partstream_devtools.testing.replaying import Outcome
from rows import one_test_for
from testing.clients import body, run

BODY = b"".join(b"data: %s\n\n" % dumps(event) for event in scenario_events("text", body()))
HEAD = ResponseHead(5, 200, "OK", (("content-type", "text/event-stream"), ("x-id", "7"), ("content-length", "1")))
HOUR = 3600 * 10**9
READS = (BODY[:501], BODY[501:502], BODY[502:])


def recorded(*, every: int = 10, **changes: object) -> RecordedExchange:
    chunks = tuple(Chunk(10 + number * every, data) for number, data in enumerate(READS))
    whole = ExchangeEnd(10 + 3 * every, HowEnded.WHOLE)
    return replace(RecordedExchange(1, 1, None, None, None, HEAD, chunks, whole), **changes)  # type: ignore[arg-type]


LEADING = (
    "location",
    "alt-svc",
    "refresh",
    "link",
    "access-control-allow-origin",
    "strict-transport-security",
    "upgrade",
)

REFUSED = recorded(
    head=ResponseHead(5, 429, "", (("content-type", "application/json"), ("retry-after", "9"))),
    chunks=(Chunk(6, b'{"error": {"message": "Slow down."}}'),),
)


@pytest.mark.parametrize("pace", [0.0, 1.0, 1000.0])
def test_a_reply_has_the_bytes_and_the_head_that_were_recorded(pace: float) -> None:
    async def check(upstream, client):
        reply = await client.post("/responses", json=body())
        assert reply.content == BODY
        assert (reply.status_code, reply.headers["x-id"]) == (200, "7")
        assert "content-length" not in reply.headers
        exchange = await upstream.wait_for_end()
        assert (exchange.delivery.outcome, exchange.delivery.events_sent) == (Outcome.WHOLE, BODY.count(b"data: "))

    run(check, replay=[recorded()], replay_pace=pace)


def test_a_file_with_exchanges_is_replayed_too(tmp_path: Path) -> None:
    path = tmp_path / "a.partstream.zip"
    path.write_bytes(write_bundle(Bundle("record", "p", exchanges=(recorded(),))))

    async def check(_upstream, client):
        assert (await client.post("/responses", json=body())).content == BODY

    run(check, replay=path)


def test_each_request_gets_the_next_exchange_and_the_last_one_again() -> None:
    async def check(_upstream, client):
        replies = [await client.post("/responses", json=body()) for _ in range(3)]
        assert [reply.status_code for reply in replies] == [429, 200, 200]
        assert replies[0].json() == {"error": {"message": "Slow down."}}
        assert replies[0].headers["retry-after"] == "9"
        assert replies[1].content == replies[2].content == BODY

    run(check, replay=[REFUSED, recorded(number=2)])


def test_clients_of_two_protocols_get_the_exchanges_that_they_can_read() -> None:
    said = b'data: {"object":"chat.completion.chunk","choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n'
    other = replace(recorded(), chunks=(Chunk(10, said),))

    async def check(_upstream, client):
        asked = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
        replies = [
            (await client.post(path, json=content)).content
            for path, content in (("/responses", body()), ("/responses", body()), ("/chat/completions", asked))
        ]
        assert replies == [BODY, BODY, said]

    run(check, replay=[other, recorded(number=2)])


def test_a_pause_is_as_long_as_it_was_and_at_once_at_pace_0() -> None:
    async def check(upstream, client):
        async with client.stream("POST", "/responses", json=body()) as reply:
            assert await anext(reply.aiter_raw()) == READS[0]
        exchange = await upstream.wait_for_end()
        assert exchange.delivery.outcome is Outcome.CLIENT_CLOSED

    async def check_at_once(_upstream, client):
        assert (await client.post("/responses", json=body())).content == BODY

    slow = replace(recorded(), chunks=(Chunk(10, READS[0]), Chunk(HOUR, READS[1]), Chunk(2 * HOUR, READS[2])))
    run(check, replay=[slow])
    run(check_at_once, replay=[slow], replay_pace=0.0)
    run(check_at_once, replay=[slow], replay_pace=1e9)


@pytest.mark.parametrize(
    "end",
    [
        ExchangeEnd(50, HowEnded.CUT),
        ExchangeEnd(50, HowEnded.CUT, RecordedError("UpstreamConnectionError", "reset")),
        ExchangeEnd(50, HowEnded.CANCELLED),
    ],
)
def test_a_body_that_broke_off_breaks_off_again(end: ExchangeEnd) -> None:
    async def check(_upstream, client):
        async with client.stream("POST", "/responses", json=body()) as reply:
            pieces = reply.aiter_raw()
            assert await anext(pieces) == READS[0]
            with pytest.raises(httpx2.RemoteProtocolError):
                await anext(pieces)

    run(check, replay=[recorded(chunks=(Chunk(10, READS[0]),), end=end)])


def test_where_a_client_waited_no_longer_the_server_stays_silent() -> None:
    async def check(upstream, client):
        async with client.stream("POST", "/responses", json=body()) as reply:
            assert await anext(reply.aiter_raw()) == READS[0]
            assert upstream.open_streams == 1
        assert (await upstream.wait_for_end()).delivery.outcome is Outcome.CLIENT_CLOSED

    end = ExchangeEnd(50, HowEnded.CUT, RecordedError("UpstreamTimeoutError", "silence"))
    run(check, replay=[recorded(chunks=(Chunk(10, READS[0]),), end=end)], replay_pace=0.0)


def test_a_server_that_sent_no_head_sends_none() -> None:
    async def check(_upstream, client):
        with pytest.raises(httpx2.TransportError):
            await client.post("/responses", json=body())

    run(check, replay=[recorded(head=None, chunks=(), end=ExchangeEnd(9, HowEnded.NO_RESPONSE))])


def test_faults_and_a_pace_of_events_work_on_the_events_of_an_exchange() -> None:
    async def check(_upstream, client):
        reply = await client.post("/responses", json=body())
        assert reply.content == BODY[: len(reply.content)]
        assert reply.content.count(b"data: ") == 3

    run(check, replay=[recorded()], fault="truncate=3")


def test_writes_are_the_reads_that_were_recorded_and_wait_for_their_times() -> None:
    exchange = recorded(every=10**9, request=replace(FULL.exchanges[1].request, sent_at=4))
    head, *rest = steps_of(exchange, 2.0)
    assert head == Until(1 / 2e9)
    assert rest[0] == Head(200, (("content-type", "text/event-stream"), ("x-id", "7")))
    assert [step.data for step in rest if isinstance(step, Send)] == list(READS)
    waits = [step.seconds for step in rest if isinstance(step, Until)]
    assert waits == pytest.approx([3e-9, 0.5 + 3e-9, 1 + 3e-9, 1.5 + 3e-9])
    assert not [step for step in steps_of(exchange, 0) if isinstance(step, Until)]


def test_headers_that_http_cannot_carry_are_left_out() -> None:
    odd = replace(HEAD, headers=(("x-a", "é"), ("x-b", "1\r\nx-c: 2"), ("x-d", "ok"), ("Set-Cookie", "a=b")))
    (head,) = [step for step in steps_of(recorded(head=odd), 0) if isinstance(step, Head)]
    assert head.headers == (("x-d", "ok"),)


@one_test_for(
    ("name", "value", "shown"),
    [("x c", "1", None), ("", "1", None), ("x-e: 1", "2", None), ("(x)", "1", None), ("x-g", " 1 ", "1")],
)
def test_a_header_field_that_http_has_no_name_for_keeps_no_answer_back(
    name: str, value: str, shown: str | None
) -> None:
    async def check(upstream, client):
        reply = await client.post("/responses", json=body())
        assert (reply.status_code, reply.content, reply.headers.get(name)) == (200, BODY, shown)

    run(check, replay=[recorded(head=replace(HEAD, headers=(*HEAD.headers, (name, value))))], replay_pace=0.0)


def test_a_recording_of_a_stranger_leads_no_client_to_a_server_of_theirs() -> None:
    asked: list[bytes] = []

    async def theirs(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.close()

    async def check(upstream, client):
        async with await asyncio.start_server(theirs, "127.0.0.1", 0) as server:
            address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
            headers = (("content-type", "application/json"), *((name, address) for name in LEADING))
            upstream.replay([recorded(head=ResponseHead(5, 307, "", headers))], pace=0)
            reply = await client.post("/responses", json=body(), headers={"x-api-key": "k"}, follow_redirects=True)
        assert (reply.status_code, [name for name in LEADING if name in reply.headers], asked) == (307, [], [])

    run(check)


@one_test_for(
    ("said", "status", "content"),
    [(0, 502, BODY), (100, 502, BODY), (101, 502, BODY), (204, 204, b""), (304, 304, b"")],
)
def test_a_status_that_has_no_answer_breaks_nothing(said: int, status: int, content: bytes) -> None:
    async def check(upstream, client):
        replies = [await client.post("/responses", json=body()) for _ in range(2)]
        assert [(one.status_code, one.content) for one in replies] == [(status, content)] * 2

    run(check, replay=[recorded(head=replace(HEAD, status=said))], replay_pace=0.0)
