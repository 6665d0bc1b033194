"""The layer between an application and its socket, around an application of the test's own."""

import asyncio
from contextlib import suppress
from dataclasses import replace

import pytest

from partstream.server.loopback import BREAK_OFF
from partstream_devtools.testing.admission import DEFAULT_PATH, ENDPOINTS
from partstream_devtools.testing.directives import parse_choices
from partstream_devtools.testing.faults import Send
from partstream_devtools.testing.replaying import CURRENT, Exchanges, Outcome, Plan, ReplayLayer, noting_bugs
from rows import one_test_for

ENDPOINT = ENDPOINTS[DEFAULT_PATH]
EVENTS = [b'event: %s\ndata: {"type":"%s"}\n\n' % (name, name) for name in (b"a", b"b", b"c")]
DONE = b"data: [DONE]\n\n"
PLAN = Plan(
    outputs=iter(()),
    protocol=ENDPOINT.protocol,
    form=ENDPOINT.writes.stream_form(ENDPOINT.reads.read(ENDPOINT.request(DEFAULT_PATH, {"input": "Hi"}, {}))),
    content_type="text/event-stream",
    error_body=lambda status, message: b"%d" % status,
)
HEAD = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"9"), (b"x-id", b"1")]}


def body(data, *, more=True):
    return {"type": "http.response.body", "body": data, "more_body": more}


def replayed(messages, plan=None, *, leaves_after=None):
    """What comes through the layer of an application's messages, and the exchange that it records."""
    exchanges = Exchanges({"authorization"})
    came = []
    left = asyncio.Event()

    async def application(scope, receive, send):
        assert await receive() == {"type": "http.request", "body": b"{}", "more_body": False}
        CURRENT.get().plan = plan
        for message in messages:
            await send(message)
        if leaves_after is not None:
            assert await receive() == {"type": "http.disconnect"}

    async def receive():
        if not exchanges.received:
            return {"type": "http.request", "body": b"{}", "more_body": False}
        await left.wait()
        return {"type": "http.disconnect"}

    async def send(message):
        came.append(message)
        if len(came) == leaves_after:
            left.set()
            await asyncio.sleep(0)

    async def within():
        scope = {"type": "http", "method": "POST", "raw_path": b"/p", "headers": [(b"authorization", b"Bearer k")]}
        async with asyncio.timeout(20):
            await ReplayLayer(application, exchanges)(scope, receive, send)

    asyncio.run(within())
    (exchange,) = exchanges.kept
    return came, exchange


def bodies(messages):
    return [one["body"] for one in messages if one.get("body")]


def test_without_a_plan_a_reply_goes_through_as_it_is():
    came, exchange = replayed([HEAD, body(b"ab"), body(b"c", more=False)])
    assert b"".join(bodies(came)) == b"abc"
    assert (came[0]["status"], came[-1]["more_body"]) == (200, False)
    assert (exchange.delivery.outcome, exchange.delivery.status, exchange.delivery.events_sent) == (
        Outcome.WHOLE,
        200,
        0,
    )
    assert exchange.request.headers == {"authorization": "Bearer [redacted]"}
    assert exchange.request.body == {}


def test_events_that_were_sent_together_are_sent_and_counted_one_by_one():
    came, exchange = replayed([HEAD, body(b"".join(EVENTS) + DONE, more=False)], PLAN)
    assert bodies(came) == [*EVENTS, DONE]
    assert exchange.delivery.events_sent == 3


def test_the_length_that_the_application_said_is_not_that_of_what_becomes_of_its_reply():
    came, _ = replayed([HEAD, body(b"x", more=False)])
    assert came[0]["headers"] == [(b"x-id", b"1")]


@one_test_for(
    ("fault", "expected", "outcome"),
    [
        ("cut=2", EVENTS[:2], Outcome.CUT),
        ("truncate=1", EVENTS[:1], Outcome.WHOLE),
        ("missing=b", [EVENTS[0], EVENTS[2], DONE], Outcome.WHOLE),
        ("duplicate=b", [EVENTS[0], EVENTS[1], EVENTS[1], EVENTS[2], DONE], Outcome.WHOLE),
        ("no_done", EVENTS, Outcome.WHOLE),
        ("status=503", [b"503"], Outcome.WHOLE),
    ],
)
def test_a_fault_knows_events_however_they_were_sent(fault, expected, outcome):
    plan = replace(PLAN, faults=parse_choices(fault))
    whole = b"".join(EVENTS) + DONE
    for pieces in ([whole], [whole[:30], whole[30:31], whole[31:]]):
        *rest, last = pieces
        came, exchange = replayed([HEAD, *map(body, rest), body(last, more=False)], plan)
        assert bodies(came) == expected
        assert exchange.delivery.outcome is outcome
        assert (came[-1]["type"] == BREAK_OFF) == (outcome is Outcome.CUT)


def test_a_recording_takes_the_place_of_the_reply():
    plan = replace(PLAN, form=None, recorded=(Send(b"recorded", "x"),))
    came, exchange = replayed([HEAD, body(b"{}", more=False)], plan)
    assert (bodies(came), exchange.delivery.events_sent) == ([b"recorded"], 1)
    assert (b"content-type", b"text/event-stream") in came[0]["headers"]


def test_a_client_that_leaves_is_noticed_and_gets_nothing_more():
    came, exchange = replayed([HEAD, body(b"".join(EVENTS) + DONE, more=False)], PLAN, leaves_after=2)
    assert exchange.delivery.outcome is Outcome.CLIENT_CLOSED
    assert bodies(came)[0] == EVENTS[0]
    assert came[-1] != {"type": "http.response.body", "body": b"", "more_body": False}


def test_a_bug_of_ours_is_raised_behind_the_reply_although_the_application_hides_it():
    async def application(scope, receive, send):
        with suppress(ZeroDivisionError), noting_bugs():
            raise ZeroDivisionError
        await send(HEAD)
        await send(body(b"x", more=False))

    exchanges = Exchanges(())
    came = []

    async def receive():
        return {"type": "http.request" if not exchanges.received else "http.disconnect", "body": b""}

    async def send(message):
        came.append(message)

    scope = {"type": "http", "method": "POST", "raw_path": b"/p", "headers": []}
    with pytest.raises(ZeroDivisionError):
        asyncio.run(ReplayLayer(application, exchanges)(scope, receive, send))
    assert bodies(came) == [b"x"]


def test_an_application_that_ends_without_a_reply_leaves_an_exchange_that_has_ended():
    came, exchange = replayed([])
    assert (came, exchange.delivery.outcome, exchange.delivery.status) == ([], Outcome.STOPPED, None)
