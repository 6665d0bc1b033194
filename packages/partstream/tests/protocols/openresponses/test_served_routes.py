"""The routes of stored responses: pages of input items, numbers of events, what is deleted and unknown."""

from typing import Any

import pytest

from partstream.errors import InvalidRequestError
from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.openresponses.stored_responses import ROUTES, STATE
from partstream.protocols.serve import Effect, StoredRoute, fits_path, id_in_path
from protocols.openresponses.served import message, output, request, stored
from rows import one_test_for

CHAIN = (
    stored("r1", message("a"), message("b"), said="A", calls=("c1",)),
    stored("r2", output("c1"), {**message("own"), "id": "msg_own"}, previous="r1", said="B"),
)


def route(method: str, path: str) -> StoredRoute:
    return next(one for one in ROUTES if one.method == method and fits_path(one.path, path))


def page(query: str) -> Any:
    return route("GET", "/responses/r2/input_items").document(request(query), CHAIN)


@pytest.mark.parametrize(
    ("method", "path", "effect"),
    [
        ("GET", "/responses/r1", Effect.READ),
        ("DELETE", "/responses/r1", Effect.DELETE),
        ("POST", "/responses/r1/cancel", Effect.CANCEL),
        ("GET", "/responses/r1/input_items", Effect.READ),
    ],
)
def test_a_route_names_the_response_and_what_becomes_of_it(method: str, path: str, effect: Effect) -> None:
    found = route(method, path)
    assert (id_in_path(found.path, path), found.effect) == ("r1", effect)


def test_items_are_all_that_the_model_was_given_the_newest_first() -> None:
    whole = page("order=asc&limit=100")["data"]
    kinds = [item["type"] for item in whole]
    assert kinds == ["message", "message", "message", "function_call", "function_call_output", "message"]
    assert whole[0]["content"] == [{"type": "input_text", "text": "a"}]
    assert whole[-1]["id"] == "msg_own"
    assert len({item["id"] for item in whole}) == len(whole)
    assert page("limit=100")["data"] == whole[::-1]


def test_pages_follow_each_other_without_gap_or_overlap() -> None:
    whole = page("order=asc&limit=100")["data"]
    seen: list[Any] = []
    after, more = "", True
    while more:
        one = page(f"order=asc&limit=4{after}")
        assert one["object"] == "list"
        assert (one["first_id"], one["last_id"]) == (one["data"][0]["id"], one["data"][-1]["id"])
        seen += one["data"]
        after, more = f"&after={one['last_id']}", one["has_more"]
    assert seen == whole
    assert page(f"order=asc{after}")["data"] == []


@one_test_for("query", ["limit=0", "limit=101", "limit=x", "limit=-1", "order=up"])
def test_a_wrong_query_is_refused_by_its_name(query: str) -> None:
    with pytest.raises(InvalidRequestError, match=query.partition("=")[0]):
        page(query)


def test_an_unknown_item_to_go_on_from_is_refused() -> None:
    with pytest.raises(RefusedRequestError) as caught:
        page("after=nothing")
    assert (caught.value.param, caught.value.status) == ("after", 404)


@one_test_for(
    ("query", "first"),
    [("", None), ("stream=false", None), ("stream=true", 0), ("stream=true&starting_after=0", 1),
     ("stream=True&starting_after=17", 18), ("starting_after=3", None)],
)  # fmt: skip
def test_a_stream_goes_on_behind_the_number_that_the_client_has(query: str, first: int | None) -> None:
    resumes = route("GET", "/responses/r1").resumes
    assert resumes is not None
    assert resumes(request(query)) == first


@pytest.mark.parametrize("query", ["stream=maybe", "stream=true&starting_after=-1", "stream=true&starting_after=x"])
def test_a_number_that_is_none_is_refused(query: str) -> None:
    resumes = route("GET", "/responses/r1").resumes
    assert resumes is not None
    with pytest.raises(InvalidRequestError):
        resumes(request(query))


def test_what_is_deleted_is_named() -> None:
    said = route("DELETE", "/responses/r2").document(request(), CHAIN)
    assert said == {"id": "r2", "object": "response", "deleted": True}


def test_an_unknown_response_is_not_found_and_one_without_frames_has_no_stream() -> None:
    assert (STATE.unknown("r9").status, STATE.unknown("r9").code) == (404, "not_found")
    assert (STATE.unstreamed("r9").status, STATE.unstreamed("r9").param) == (400, "stream")


def test_items_are_found_by_their_ids_those_of_the_input_too() -> None:
    found = STATE.items(CHAIN[1])
    assert found["msg_own"]["role"] == "user"
    assert found["msg_r2"]["role"] == "assistant"
