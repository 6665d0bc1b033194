"""Lists that come page by page become one."""

from typing import Any

import pytest

from models.lists import ANTHROPIC, OPENAI
from models.test_discovery import discovering
from partstream.errors import UpstreamHTTPError
from partstream.upstream.discovery import MOST_PAGES, joined_pages, next_page
from rows import one_test_for
from upstreams.upstreams import run

LIST = "/v1/models"


@one_test_for(
    ("page", "query"),
    [
        ({"data": [], "has_more": True, "last_id": "claude-x"}, "after_id=claude-x"),
        ({"data": [], "has_more": True, "last_id": "a b&c"}, "after_id=a+b%26c"),
        ({"data": [], "has_more": False, "last_id": "claude-x"}, None),
        ({"data": [], "has_more": True, "last_id": None}, None),
        ({"data": [], "has_more": True}, None),
        ({"models": [], "nextPageToken": "ab="}, "pageSize=1000&pageToken=ab%3D"),
        ({"models": [], "nextPageToken": ""}, None),
        (OPENAI, None),
        ([], None),
        (None, None),
    ],
)
def test_a_page_says_which_is_next(page: Any, query: str | None):
    assert next_page(page) == query


def test_a_list_of_one_page_stays_as_it_is():
    assert joined_pages([ANTHROPIC]) is ANTHROPIC


def test_all_entries_are_in_one_list_without_marks_of_pages():
    pages = [{"data": [1], "has_more": True, "last_id": "1"}, {"data": [2, 3], "has_more": False}, {"data": None}, 7]
    assert joined_pages(pages) == {"data": [1, 2, 3]}
    assert joined_pages([{"models": [1], "nextPageToken": "x"}, {"models": [2]}]) == {"models": [1, 2]}


PAGES = {
    LIST: {"data": [{"id": "a"}], "has_more": True, "last_id": "a"},
    f"{LIST}?after_id=a": {"data": [{"id": "b"}], "has_more": True, "last_id": "b"},
    f"{LIST}?after_id=b": {"data": [{"id": "c"}], "has_more": False, "last_id": "c"},
}


def test_all_pages_are_fetched():
    async def test() -> None:
        async with discovering(PAGES) as discovered:
            assert await discovered.ids() == ["a", "b", "c"]

    run(test())


def test_a_list_of_which_a_page_fails_is_no_list():
    async def test() -> None:
        async with discovering(PAGES) as discovered:
            discovered.server.statuses[f"{LIST}?after_id=b"] = 500
            with pytest.raises(UpstreamHTTPError):
                await discovered.ids()

    run(test())


@pytest.mark.parametrize(
    ("last_ids", "requests"),
    [(["same"] * 9, 2), ([str(number) for number in range(2 * MOST_PAGES)], MOST_PAGES)],
    ids=["the same page again", "a new page each time"],
)
def test_a_list_without_an_end_is_not_asked_for_for_ever(last_ids: list[str], requests: int):
    given = iter(last_ids)

    def page(_body: bytes) -> dict[str, Any]:
        last = next(given)
        return {"data": [{"id": f"model-{last}"}], "has_more": True, "last_id": last}

    async def test() -> None:
        async with discovering({LIST: page} | {f"{LIST}?after_id={last}": page for last in last_ids}) as discovered:
            await discovered.ids()
            await discovered.discovery.settle()
            listed = [path for path in discovered.server.paths() if path == LIST]
            assert len(listed) == requests

    run(test())
