"""Answers that go on, as views."""

from __future__ import annotations
import asyncio

from inspector import sample_streams as streams
from inspector.live_server import Memory
from inspector.sample_streams import bundle, exchange, paced
from partstream_devtools.capturing.capture_socket import FollowedAnswer
from partstream_devtools.inspector.server import LiveSource

SECONDS = 20


def followed(check):
    """Runs `check` with a memory and a function that gives the next view."""

    async def within():
        memory = Memory()
        views = (await memory.open()).views()
        async with asyncio.timeout(SECONDS):
            try:
                await check(memory, lambda: anext(views))
            finally:
                await views.aclose()
                await memory.close()

    asyncio.run(within())


async def until(next_view, holds):
    """The first view of which it holds."""
    while not holds(view := await next_view()):
        pass
    return view


def test_the_first_view_has_no_answer_and_says_that_more_may_come():
    async def check(memory, next_view):
        view = await next_view()
        assert view["answers"] == []
        assert view["source"]["live"] is True

    followed(check)


def test_an_answer_grows_and_says_nothing_of_its_end_before_it_ended():
    async def check(memory, next_view):
        await next_view()
        answer = memory.begin()
        reads = streams.usual()
        for read in reads[:-1]:
            answer.exchanges[0].chunk(read)
        view = await until(next_view, lambda view: len(view["answers"][0]["events"]) >= len(reads) - 1)
        (shown,) = view["answers"]
        assert (shown["outcome"], shown["ending"], shown["error"]) == ("running", None, None)
        assert shown["blame"]["who"] == "nobody"
        assert all(event["to"] > event["from"] for event in shown["events"])
        assert shown["violations"] == []
        answer.exchanges[0].chunk(reads[-1])
        answer.exchanges[0].ended("whole")
        answer.end("completed")
        view = await until(next_view, lambda view: view["answers"][0]["outcome"] != "running")
        assert view["answers"][0]["id"] == shown["id"]
        assert view["answers"][0]["outcome"] == "completed"
        assert view["answers"][0]["ending"] == "whole"

    followed(check)


def test_a_rule_that_is_broken_is_told_while_the_answer_goes_on():
    async def check(memory, next_view):
        await next_view()
        answer = memory.begin()
        for read in [streams.created(), *streams.call("call_1", "unknown_tool", "{}")]:
            answer.exchanges[0].chunk(read)
        view = await until(next_view, lambda view: view["answers"][0]["parts"])
        (shown,) = view["answers"]
        assert shown["outcome"] == "running"
        assert [one["rule"] for one in shown["violations"]] == ["tool-call.known-tool"]
        assert shown["verdict"]["broken"] == 1
        assert shown["wrong"] == shown["violations"][0]["event"]
        flagged = [event["n"] for event in shown["events"] if event["violations"]]
        assert flagged == [shown["wrong"]]

    followed(check)


def test_answers_keep_their_ids_and_their_places_on_the_axis_and_the_oldest_go():
    async def told():
        for number in [*range(23), 10]:
            made = bundle(exchange(paced([streams.created(), streams.text("x"), streams.completed()])))
            yield FollowedAnswer(f"host/{number}", f"2026-11-23T01:00:{number:02}+00:00", is_over=True, bundle=made)

    async def within():
        return [view["answers"] async for view in LiveSource(told(), "live").views()]

    none, *views = asyncio.run(within())
    assert none == []
    ids = [answers[-1]["id"] for answers in views[:-1]]
    assert len(set(ids)) == 23
    for answers in views[-2:]:
        assert [answer["id"] for answer in answers] == ids[-20:]
        assert [answer["offset"] for answer in answers] == [number * 1000.0 for number in range(3, 23)]
        assert len({answer["title"] for answer in answers}) == 20
