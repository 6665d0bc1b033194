"""The numbered changes of a view."""

import asyncio

from partstream_devtools.inspector.server import ViewFeed


def view(*events):
    return {"answers": [{"id": "1", "events": list(events)}]}


def test_changes_are_numbered_and_read_again_from_any_number_on():
    feed = ViewFeed()
    feed.show(view())
    for last in range(1, 4):
        feed.show(view(*range(last)))
    assert feed.number == 3
    assert [change.number for change in feed.after(0)] == [1, 2, 3]
    assert [change.number for change in feed.after(2)] == [3]
    assert feed.after(3) == []


def test_a_view_that_is_equal_makes_no_number():
    feed = ViewFeed()
    feed.show(view(1))
    feed.show(view(1))
    assert feed.number == 0


def test_changes_that_are_not_kept_any_more_are_told_from_none():
    feed = ViewFeed(kept_bytes=250)
    feed.show(view())
    for last in range(1, 9):
        feed.show(view(*range(last)))
    assert feed.after(0) is None
    assert feed.after(9) is None
    assert [change.number for change in feed.after(7)] == [8]
    small = ViewFeed(kept_bytes=1)
    small.show(view())
    small.show(view(1))
    assert small.after(0) is None
    assert small.after(1) == []


def test_everybody_who_waits_sees_the_next_change_and_the_end():
    async def within():
        feed = ViewFeed()
        waiting = [asyncio.create_task(feed.moved(-1)) for _ in range(3)]
        feed.show(view())
        await asyncio.wait_for(asyncio.gather(*waiting), 10)
        waiting = [asyncio.create_task(feed.moved(0)) for _ in range(3)]
        await asyncio.sleep(0)
        assert not any(task.done() for task in waiting)
        feed.show(view(1))
        await asyncio.wait_for(asyncio.gather(*waiting), 10)
        ended = asyncio.create_task(feed.moved(1))
        await asyncio.sleep(0)
        assert not ended.done()
        feed.end()
        await asyncio.wait_for(ended, 10)

    asyncio.run(within())
