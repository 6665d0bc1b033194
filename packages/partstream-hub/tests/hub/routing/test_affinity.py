"""Conversations and upstreams: shares by weight, and who moves when an upstream comes or goes."""

from __future__ import annotations
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream_hub.directory import Route
from partstream_hub.routing import ranked

WEST, EAST, NORTH = Route("west", "m"), Route("east", "m"), Route("north", "m")
KEYS = [f"person-{number % 50}\0session-{number}" for number in range(4_000)]


def test_a_conversation_has_the_same_order_whoever_asks_and_however_the_upstreams_stand():
    for key in KEYS[:200]:
        assert ranked(key, (WEST, EAST, NORTH)) == ranked(key, (NORTH, WEST, EAST))


def test_the_order_is_the_one_that_other_workers_and_later_versions_come_to():
    assert [one.provider for one in ranked("ada\0one", (WEST, EAST, NORTH))] == ["east", "north", "west"]
    assert [one.provider for one in ranked("bob\0two", (WEST, EAST, NORTH))] == ["west", "north", "east"]


@pytest.mark.parametrize("weights", [(1, 1, 1), (1, 2, 5), (100, 1, 1)])
def test_each_upstream_is_the_first_of_its_share_of_conversations(weights):
    routes = [Route(one.provider, "m", weight) for one, weight in zip((WEST, EAST, NORTH), weights, strict=True)]
    firsts = Counter(ranked(key, routes)[0].provider for key in KEYS)
    for route in routes:
        share = route.weight / sum(weights)
        assert abs(firsts[route.provider] / len(KEYS) - share) < 0.03


def test_only_the_conversations_of_an_upstream_that_goes_move_and_only_to_their_second_choice():
    for key in KEYS[:500]:
        first, second, _ = ranked(key, (WEST, EAST, NORTH))
        left = [one for one in (WEST, EAST, NORTH) if one != WEST]
        assert ranked(key, left)[0] == (second if first == WEST else first)


def test_a_heavier_upstream_gains_conversations_and_takes_part_in_no_other_move():
    heavier = Route("west", "m", 3)
    for key in KEYS[:500]:
        before, after = ranked(key, (WEST, EAST, NORTH))[0], ranked(key, (heavier, EAST, NORTH))[0]
        assert after in {heavier, before}


@given(st.text(), st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1), st.integers(0, 7))
def test_an_upstream_of_weight_nothing_is_behind_all_others(key, names, reserve):
    routes = [Route(name, "m", 0 if place == reserve else 1) for place, name in enumerate(names)]
    order = ranked(key, routes)
    assert sorted(order) == sorted(routes)
    assert [one.weight for one in order] == sorted((one.weight for one in order), reverse=True)
