"""Each misbehaviour, as a client meets it over real HTTP."""

import asyncio
import json
import time
from email.utils import parsedate_to_datetime

import httpx2
import pytest

from partstream_devtools.testing.directives import parse_choices
from partstream_devtools.testing.faults import (
    END_OF_STREAM,
    FAULTS,
    End,
    EndKind,
    Head,
    ReplyContext,
    Send,
    Stall,
    UnknownFaultError,
    apply_faults,
    event_stream,
)
from partstream_devtools.testing.replaying import Outcome
from partstream_devtools.testing.scripted_model import SCENARIOS
from rows import one_test_for
from testing.clients import (
    body,
    raw_chunks,
    raw_exchange,
    raw_request,
    read_events,
    read_into,
    run,
    said,
    serving,
    types,
)

SITUATION = ReplyContext(1, 0.0, lambda status, message: b"{}")
VALUES = {
    "status": "=500",
    "status_then_ok": "=1",
    "context_length": "=600:700",
    "stall_before_headers": "=0.001",
    "stall_before_events": "=0.001",
    "stall": "=1:0.001",
    "keep_open": "=0.001",
    "split": "=50",
    "missing": "=response.created",
}
NEVER_ENDING = ["stall_before_headers", "stall_before_events", "stall", "stall=3", "keep_open"]


def _post(client, fault="", **fields):
    return client.post("/responses", json=body(f"Hi {f'fault:{fault}' if fault else ''}", **fields))


def test_an_input_that_is_too_long_is_refused_with_both_numbers():
    async def check(upstream, client):
        response = await _post(client, "context_length=600:700")
        assert response.status_code == 400
        said = response.json()["error"]["message"]
        assert "600 tokens" in said
        assert "700 tokens" in said

    run(check)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 409, 422, 429, 500, 502, 503, 504, 529])
def test_a_status_comes_with_an_error_body(status):
    async def check(upstream, client):
        response = await _post(client, f"status={status}")
        assert response.status_code == status
        assert response.headers["content-type"] == "application/json"
        assert "retry-after" not in response.headers
        assert str(status) in response.json()["error"]["message"]
        assert upstream.exchanges[0].delivery.status == status

    run(check)


def test_retry_after_comes_in_seconds():
    async def check(upstream, client):
        assert (await _post(client, "status=429:7")).headers["retry-after"] == "7"

    run(check)


def test_retry_after_comes_as_an_http_date():
    async def check(upstream, client):
        before = int(time.time())
        response = await _post(client, "status=503:30:date")
        assert before + 30 <= parsedate_to_datetime(response.headers["retry-after"]).timestamp() <= time.time() + 30

    run(check)


def test_the_same_request_fails_n_times_and_is_then_answered():
    async def check(upstream, client):
        statuses = [(await _post(client, "status_then_ok=2:429:1")).status_code for _ in range(4)]
        assert statuses == [429, 429, 200, 200]
        assert (await _post(client, "status_then_ok=1", temperature=0.5)).status_code == 503

    run(check)


def test_a_page_of_html_comes_with_status_200():
    async def check(upstream, client):
        response = await _post(client, "html")
        assert (response.status_code, response.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert response.text.startswith("<!doctype html>")

    run(check)


@pytest.mark.parametrize(
    "fault", ["stall_before_headers=0.05", "stall_before_events=0.05", "stall=4:0.05", "keep_open=0.05"]
)
def test_a_stall_with_an_end_only_delays_the_answer(fault):
    async def check(upstream, client):
        good, slow = await _post(client), await _post(client, fault)
        assert said(read_events(slow.content)[0]) == said(read_events(good.content)[0])

    run(check)
    steps = apply_faults(event_stream([Send(b"x", "x")] * 5), parse_choices(fault), SITUATION)
    assert [step.seconds for step in steps if isinstance(step, Stall)] == [0.05]


def test_a_stall_before_the_headers_sends_no_byte():
    async def check(upstream, client):
        with pytest.raises(httpx2.ReadTimeout):
            await client.post(
                "/responses", json=body("fault:stall_before_headers"), timeout=httpx2.Timeout(30, read=0.1)
            )
        assert (await upstream.wait_for_end()).delivery.outcome is Outcome.CLIENT_CLOSED

    run(check)


@pytest.mark.parametrize(
    ("fault", "count"),
    [("stall_before_events", 0), ("stall=3", 3), ("stall", 12), ("stall=999", 25), ("keep_open", 25)],
)
def test_a_stall_comes_after_so_many_events(fault, count):
    async def check(upstream, client):
        received, last = b"", b"data: [DONE]\n\n" if fault == "keep_open" else b"\n\n" if count else b""
        async with client.stream("POST", "/responses", json=body(f"fault:{fault}")) as response:
            pieces = response.aiter_raw()
            while received.count(b"event: ") < count or not received.endswith(last):
                received += await anext(pieces)
        exchange = await upstream.wait_for_end()
        assert (exchange.delivery.outcome, exchange.delivery.events_sent) == (Outcome.CLIENT_CLOSED, count)
        assert received.count(b"event: ") == count

    run(check)


def test_a_cut_before_the_headers_resets_the_connection():
    async def check(upstream, client):
        with pytest.raises(ConnectionResetError):
            await raw_exchange(upstream.port, raw_request(body("fault:cut_before_headers")))
        exchange = await upstream.wait_for_end()
        assert (exchange.delivery.status, exchange.delivery.outcome) == (None, Outcome.CUT)

    run(check)


def test_a_cut_resets_the_connection_after_so_many_events():
    async def check(upstream, client):
        reader, writer = await asyncio.open_connection("127.0.0.1", upstream.port)
        writer.write(raw_request(body("fault:cut=5")))
        received = bytearray()
        with pytest.raises(ConnectionResetError):
            await read_into(received, reader)
        writer.close()
        chunks, ended = raw_chunks(bytes(received))
        assert (len(chunks), ended) == (5, False)

    run(check)


def test_a_client_meets_a_cut_as_a_broken_connection():
    async def check(upstream, client):
        with pytest.raises(httpx2.NetworkError):
            await _post(client, "cut")

    run(check)


def test_a_close_ends_the_connection_without_the_end_of_the_body():
    async def check(upstream, client):
        chunks, ended = raw_chunks(await raw_exchange(upstream.port, raw_request(body("fault:close=5"))))
        assert (len(chunks), ended) == (5, False)
        with pytest.raises(httpx2.RemoteProtocolError):
            await _post(client, "close")

    run(check)


def test_a_truncated_stream_ends_well_for_http_and_too_early_for_the_protocol():
    async def check(upstream, client):
        events, done = read_events((await _post(client, "truncate=6")).content)
        assert (len(events), done) == (6, False)
        assert (await upstream.wait_for_end()).delivery.outcome is Outcome.WHOLE

    run(check)


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_split_sends_pieces_of_n_bytes_also_inside_a_character(size):
    async def check(upstream, client):
        reader, writer = await asyncio.open_connection("127.0.0.1", upstream.port)
        writer.write(raw_request(body(f"fault:split={size}")))
        chunks, ended = raw_chunks(await reader.readuntil(b"\r\n0\r\n\r\n"))
        writer.close()
        events, done = read_events(b"".join(chunks))
        assert (ended, done) == (True, True)
        assert max(map(len, chunks)) <= size
        assert "你好" in said(events)
        in_a_character = any(0x80 <= chunk[0] <= 0xBF for chunk in chunks)
        assert in_a_character == (size < 1000)

    run(check)


def test_without_done_everything_else_is_there():
    async def check(upstream, client):
        events, done = read_events((await _post(client, "no_done")).content)
        assert (events[-1]["type"], done) == ("response.completed", False)

    run(check)


@pytest.mark.parametrize(("fault", "position"), [("malformed=4", 4), ("malformed=0", 0), ("malformed", 12)])
def test_the_json_of_one_event_is_cut_off_and_its_frame_is_whole(fault, position):
    async def check(upstream, client):
        good = (await _post(client)).content.split(b"\n\n")
        bad = (await _post(client, fault)).content.split(b"\n\n")
        assert len(bad) == len(good)
        for index, block in enumerate(bad[:-2]):
            name, data = block.split(b"\n")
            assert name == good[index].split(b"\n")[0]
            if index == position:
                with pytest.raises(ValueError, match="line 1"):
                    json.loads(data.removeprefix(b"data: "))
            else:
                json.loads(data.removeprefix(b"data: "))

    run(check)


def test_every_event_comes_twice_and_the_end_once():
    async def check(upstream, client):
        good, _ = read_events((await _post(client)).content)
        content = (await _post(client, "duplicate")).content
        assert types(read_events(content)[0]) == [name for name in types(good) for _ in range(2)]
        assert content.count(b"[DONE]") == 1

    run(check)


def test_events_of_one_type_come_twice():
    async def check(upstream, client):
        names = types(read_events((await _post(client, "duplicate=response.completed")).content)[0])
        assert names[-3:] == ["response.output_item.done", "response.completed", "response.completed"]
        assert names.count("response.created") == 1

    run(check)


def test_events_of_one_type_are_missing():
    async def check(upstream, client):
        good, _ = read_events((await _post(client)).content)
        bad, done = read_events((await _post(client, "missing=response.output_text.delta")).content)
        assert types(bad) == [name for name in types(good) if name != "response.output_text.delta"]
        assert done

    run(check)


def test_faults_add_up():
    async def check(upstream, client):
        response = await client.post(
            "/responses", json=body(), headers={"x-partstream-fault": "no_done,missing=response.completed,split=7"}
        )
        events, done = read_events(response.content)
        assert (events[-1]["type"], done) == ("response.output_item.done", False)
        assert len(upstream.exchanges[0].faults) == 3

    run(check)


def test_a_fault_applies_to_a_reply_that_is_no_stream():
    async def check(upstream, client):
        with pytest.raises(httpx2.RemoteProtocolError):
            await _post(client, "close", stream=False)
        assert (await _post(client, "split=10", stream=False)).json()["status"] == "completed"
        assert (await _post(client, "malformed,duplicate", stream=False)).json()["status"] == "completed"

    run(check)


@one_test_for("fault", NEVER_ENDING)
def test_a_stall_without_an_end_ends_with_the_client(fault):
    async def check(upstream, client):
        request = asyncio.create_task(_post(client, fault))
        await upstream.until(lambda: upstream.open_streams == 1)
        request.cancel()
        exchange = await upstream.wait_for_end()
        assert exchange.delivery.outcome is Outcome.CLIENT_CLOSED
        assert upstream.open_streams == 0

    run(check)


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_can_be_put_on_every_scenario(name):
    fault = f"fault:{name}{VALUES.get(name, '')}"

    async def check():
        async with serving() as (upstream, _):
            for number, scenario in enumerate(SCENARIOS, start=1):
                _, writer = await asyncio.open_connection("127.0.0.1", upstream.port)
                writer.write(raw_request(body(f"scenario:{scenario} {fault}")))
                exchange = await upstream.wait_for_end(number)
                writer.close()
                assert exchange.delivery.outcome in {Outcome.WHOLE, Outcome.CUT}, scenario
                assert [fault.name for fault in exchange.faults] == [name], scenario

    asyncio.run(check())


@one_test_for(
    ("fault", "expected"),
    [
        ("nonsense", "one of status,"),
        ("status", "status=CODE"),
        ("status=200", "status=CODE"),
        ("status=600", "status=CODE"),
        ("status=429:x", "status=CODE"),
        ("status=429:2:week", "status=CODE"),
        ("status_then_ok=x", "status_then_ok=N"),
        ("context_length=600", "context_length=LIMIT:TOKENS"),
        ("split", "split=N"),
        ("split=0", "split=N"),
        ("cut=-1", "cut[=N]"),
        ("stall=1:x", "stall[=N"),
        ("stall_before_events=-1", "stall_before_events[=SECONDS]"),
        ("stall_before_events=nan", "stall_before_events[=SECONDS]"),
        ("html=1", "html"),
    ],
)
def test_a_fault_that_there_is_not_is_refused_with_what_is_expected(fault, expected):
    with pytest.raises(UnknownFaultError) as raised:
        apply_faults(event_stream([Send(b"x", "e")]), parse_choices(fault), SITUATION)
    assert raised.value.name == fault
    assert raised.value.expected.startswith(expected)


def test_every_fault_is_described():
    assert all(fault.description.endswith(".") for fault in FAULTS.values())


def test_a_cut_keeps_the_head_and_the_events_before_it():
    events = [Send(b"1", "a"), Send(b"2", "b"), Send(b"3", "c"), Send(b"4", END_OF_STREAM)]
    steps = apply_faults(event_stream(events), parse_choices("cut=2"), SITUATION)
    assert isinstance(steps[0], Head)
    assert steps[1:] == (*events[:2], End(EndKind.RESET))
