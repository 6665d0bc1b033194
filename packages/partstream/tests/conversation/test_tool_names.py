"""Names of tools: valid for every server, mapped back, never two the same, and the same in every request."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream.conversation.turns import NameForm, ToolNames
from rows import one_test_for

VALID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
NAMES = st.lists(st.text(max_size=80) | st.from_regex(VALID, fullmatch=True), max_size=8)


@given(NAMES)
def test_any_names_become_valid_ones_that_map_back_and_do_not_collide(given_names: list[str]):
    names = ToolNames(given_names)
    sent = {name: names.to_upstream(name) for name in given_names}
    assert all(VALID.fullmatch(name) for name in sent.values())
    assert len(set(sent.values())) == len(sent)
    assert {names.from_upstream(name): name for name in sent.values()} == sent
    assert all(sent[name] == name for name in sent if VALID.fullmatch(name))


@given(NAMES, NAMES)
def test_a_name_is_sent_the_same_way_beside_other_names(given_names: list[str], others: list[str]):
    alone = ToolNames(given_names)
    beside = ToolNames([*others, *given_names])
    for name in given_names:
        if alone.to_upstream(name) not in others:
            assert beside.to_upstream(name) == alone.to_upstream(name)


SENT = {
    "get_weather": "get_weather",
    "mcp.find/it": "mcp_find_it_7c8f5051",
    "größe": "gr_e_",
    "": "tool_",
    "x" * 65: "x" * 55 + "_",
    "💥": "tool_",
}


@one_test_for(("name", "start"), SENT.items())
def test_a_name_stays_readable(name: str, start: str):
    assert ToolNames([name]).to_upstream(name).startswith(start)


def test_a_valid_name_is_never_taken_by_one_that_was_mapped():
    taken = ToolNames(["a b"]).to_upstream("a b")
    names = ToolNames(["a b", taken])
    assert names.to_upstream(taken) == taken
    assert names.to_upstream("a b") != taken
    assert names.from_upstream(names.to_upstream("a b")) == "a b"


def test_a_name_that_was_not_sent_stays_for_the_consumer_to_refuse():
    names = ToolNames(["f"])
    assert names.from_upstream("invented") == "invented"
    assert names.to_upstream("later on") == ToolNames(["later on"]).to_upstream("later on")


LETTER_FIRST = NameForm(letter_first=True)
BEGINNINGS = {
    "get": "get",
    "_get": "_get",
    "1st": "t_1st",
    "-x": "t_-x",
    "1.st": "t_1_st_",
    "9" * 64: "t_999",
    "": "tool_",
}


@one_test_for(("name", "start"), BEGINNINGS.items())
def test_a_name_begins_with_a_letter_where_the_server_wants_it(name: str, start: str):
    names = ToolNames([name], LETTER_FIRST)
    sent = names.to_upstream(name)
    assert sent.startswith(start)
    assert LETTER_FIRST.fits(sent)
    assert names.from_upstream(sent) == name
    assert ToolNames(["1st", "t_1st"], LETTER_FIRST).to_upstream("1st") not in {"1st", "t_1st"}


@given(NAMES)
def test_any_names_become_names_that_begin_with_a_letter(given_names: list[str]):
    names = ToolNames(given_names, LETTER_FIRST)
    sent = [names.to_upstream(name) for name in given_names]
    assert all(LETTER_FIRST.fits(name) for name in sent)
    assert [names.from_upstream(name) for name in sent] == given_names


@pytest.mark.parametrize("namespace", ["default_api:", "default_api.", "functions.", "functions:"])
def test_the_namespace_of_a_model_is_taken_off_where_a_sent_name_remains(namespace: str) -> None:
    names = ToolNames(["look_up", "mcp.find/it"])
    assert names.from_upstream(f"{namespace}look_up") == "look_up"
    assert names.from_upstream(namespace + names.to_upstream("mcp.find/it")) == "mcp.find/it"
    assert names.from_upstream(f"{namespace}other") == f"{namespace}other"
