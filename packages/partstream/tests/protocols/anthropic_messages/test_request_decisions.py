"""The decisions on requests of Anthropic Messages, each by its number; those on answers stand beside their reader.

A part of decisions 7 and 8 shows only in repeated requests: tests/upstreams/test_messages_refusals.py.
"""

import re
from dataclasses import replace
from typing import Any

import pytest

from conversation.samples import ORIGIN, WEATHER, assistant, called, gave, user
from partstream import ModelCapabilities, TextPart, ThinkingForm, ThinkingPart
from partstream.conversation.provider_state import Carried, StateMarker, marker_part
from partstream.errors import UpstreamHTTPError
from partstream.protocols.anthropic_messages.errors import ERRORS
from partstream.protocols.anthropic_messages.provider_state import block_item, call_item, container_item
from partstream.protocols.anthropic_messages.write_request import CONTINUE
from protocols.anthropic_messages.requests import (
    HAIKU,
    OPUS_5,
    THOUGHT,
    body_of,
    messages_of,
    refused_by_anthropic,
    result,
    said,
    text,
    thinking,
    use,
    written,
)
from protocols.anthropic_messages.test_marked_requests import marks_in, session
from rows import one_test_for

REDACTED = {"type": "redacted_thinking", "data": "secret"}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
ANSWERED = user([gave("gw-1", "x")])


def with_items(items: list[dict[str, Any]]) -> ThinkingPart:
    return ThinkingPart("", None, {"reasoning_items": items, "origin": replace(ORIGIN, model=OPUS_5).key})


def carrying(*places: tuple[dict[str, Any], list[int]]) -> ThinkingPart:
    """The part that carries blocks, each with its place."""
    return with_items([{**block_item(block), "after": after} for block, after in places])


def test_decision_5_blocks_of_server_tools_go_back_in_pairs_or_not_at_all():
    whole = user("?"), assistant([thinking(SEARCH, FOUND), TextPart("So")]), user("And?")
    assert messages_of(*whole)[1] == said("assistant", SEARCH, FOUND, "So")
    for half in (SEARCH, FOUND):
        broken = user("?"), assistant([thinking(half), TextPart("So")]), user("And?"), assistant("Hm"), user("?")
        assert messages_of(*broken)[1] == said("assistant", "So")
    only_half = user("?"), assistant([thinking(THOUGHT, FOUND)]), user("And?")
    assert messages_of(*only_half) == [said("user", "?", "And?")]


def test_decision_5_where_a_tool_of_the_server_waits_the_next_message_holds_results_alone():
    waits = user("?"), assistant([thinking(SEARCH), called("gw-1")]), user([gave("gw-1", "x"), TextPart("Go on")])
    asked = messages_of(*waits)
    assert asked[1:] == [said("assistant", SEARCH, use()), said("user", result([text("x"), text("Go on")]))]
    later = *waits, assistant([thinking(FOUND), TextPart("So")]), user("And?")
    assert messages_of(*later)[1:4] == [
        said("assistant", SEARCH, use()),
        asked[2],
        said("assistant", FOUND, "So"),
    ]
    interrupted = user("?"), assistant([TextPart("Let me see"), carrying((SEARCH, [0, 10]))]), user("Stop")
    assert messages_of(*interrupted)[1] == said("assistant", "Let me see")


def test_decision_5_what_a_call_has_beside_its_input_goes_back_and_so_does_the_container():
    caller = {"caller": {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}}
    items = [{**call_item("1", caller), "after": [0, 0]}, {**container_item({"id": "cont_1"}), "after": [1, 0]}]
    answer = assistant([with_items(items), called("gw-1")])
    body = written(user("?"), answer, ANSWERED).body
    assert body["messages"][1]["content"][0] == use() | caller
    assert body["container"] == "cont_1"
    again = written(user("?"), answer, ANSWERED, assistant("So"), user("?")).body
    assert "container" not in again


def test_decision_5_before_a_change_of_the_model_thinking_does_not_go_back():
    change = {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}}
    later = {**THOUGHT, "signature": "sig_2"}
    content = [thinking(THOUGHT, change, later), TextPart("So")]
    assert messages_of(user("?"), assistant(content), user("And?"))[1] == said("assistant", change, later, "So")


def test_decision_7_thinking_goes_back_verbatim_at_its_place_and_only_to_its_own_model():
    empty = {"type": "thinking", "thinking": "", "signature": "sig_2"}
    places = [(THOUGHT, [0, 0]), (REDACTED, [0, 0]), (empty, [0, 2]), (THOUGHT, [1, 0])]
    for model, goes_back in ((OPUS_5, True), ("claude-opus-4-8", False)):
        answer = assistant([carrying(*places), TextPart("Sooo"), called("gw-1"), called("gw-2")])
        asked = messages_of(user("?"), answer, user([gave("gw-1"), gave("gw-2")]), model=model)
        blocks = [THOUGHT, REDACTED, "So", empty, "oo", use("1"), THOUGHT, use("2")]
        plain = ["Sooo", use("1"), use("2")]
        assert asked[1] == said("assistant", *(blocks if goes_back else plain))


def test_decision_7_thinking_comes_back_from_the_marker_in_later_turns():
    origin = replace(ORIGIN, model=OPUS_5)
    marker = marker_part("m", StateMarker(origin, reasoning=({**block_item(THOUGHT), "after": [0, 0]},)))
    answer = assistant([TextPart("So"), marker])
    assert messages_of(user("?"), answer, user("And?"))[1] == said("assistant", THOUGHT, "So")


SENTENCES = [
    "messages.1.content.0: Invalid `signature` in `thinking` block",
    "messages.1.content.0: Invalid `data` in `redacted_thinking` block",
    "messages.3.content.1: `thinking` or `redacted_thinking` blocks in the latest answer cannot be modified.",
    "messages.1.content.0.thinking.signature: Field required",
    "messages.5: The final block in an assistant message cannot be `thinking`.",
    "`web_search` tool use with id `srvtoolu_1` was found without a corresponding `web_search_tool_result` block",
]


@one_test_for("sentence", SENTENCES)
def test_decision_7_each_refusal_of_what_went_back_is_known(sentence: str):
    refusal = UpstreamHTTPError(400, provider_message=sentence)
    assert ERRORS.refused(refusal) is Carried.REASONING
    assert ERRORS.refused_fields(refusal, written(user("Hi")).body) == frozenset()
    assert ERRORS.refused(UpstreamHTTPError(500, provider_message=sentence)) is Carried.NOTHING


def test_decision_7_without_the_thinking_that_was_refused_the_model_does_not_think():
    loop = user("?"), assistant([thinking(THOUGHT), called("gw-1")]), ANSWERED
    assert body_of(*loop)["thinking"]["type"] == "adaptive"
    without = written(*loop, carried=Carried.EARLIER).body
    assert without["thinking"] == {"type": "disabled"}
    assert [block["type"] for block in without["messages"][1]["content"]] == ["tool_use"]
    earlier = user("?"), assistant([thinking(THOUGHT), TextPart("So")]), user("And?")
    assert written(*earlier, carried=Carried.REASONING).body["thinking"]["type"] == "adaptive"


def test_decision_8_thinking_is_shown_and_sampling_left_out_by_what_the_list_says():
    known = ModelCapabilities(thinking_forms=(ThinkingForm.ADAPTIVE,), reasoning_efforts=("low", "high"))
    body = body_of(user("Hi"), known=known, effort="high", options={"temperature": 0})
    assert body["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert body["output_config"] == {"effort": "high"}
    assert "temperature" not in body
    assert body_of(user("Hi"), model=HAIKU, effort="low")["thinking"]["display"] == "summarized"


IDS = ("functions.read:0", "call|1", "x" * 90, "toolu_01A-b_C")


def test_decision_9_results_are_first_complete_and_merged_and_ids_change_only_where_they_do_not_match():
    conversation = (
        user("?"),
        assistant([called(f"gw-{one}") for one in IDS]),
        user([TextPart("Wait"), *(gave(f"gw-{one}", "x") for one in IDS[:2])]),
        user([gave(f"gw-{IDS[3]}", "x")]),
    )
    asked = messages_of(*conversation)
    calls = [block["id"] for block in asked[1]["content"]]
    answered = asked[2]["content"]
    assert [block["type"] for block in answered] == ["tool_result"] * 4 + ["text"]
    assert [block["tool_use_id"] for block in answered[:4]] == calls
    assert answered[2]["is_error"] is True
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", one) for one in calls)
    assert calls[3] == IDS[3]
    assert len(set(calls)) == 4
    assert messages_of(*conversation) == asked, "the same ids in every request"


@pytest.mark.parametrize(("server", "model"), [("moonshot", "kimi-k3"), ("unknown", "moonshotai/kimi-k3")])
def test_decision_9_kimi_gets_its_own_ids_back(server: str, model: str):
    asked = assistant([called(f"gw-{IDS[0]}")]), user([gave(f"gw-{IDS[0]}", "x")])
    assert messages_of(*asked, model=model, messages_server=server)[1]["content"][0]["id"] == IDS[0]
    foreign = assistant([called(IDS[0])]), user([gave(IDS[0], "x")])
    assert messages_of(*foreign, model=model, messages_server=server)[1]["content"][0]["id"] != IDS[0]


def test_decision_10_no_block_is_empty_the_user_ends_and_thinking_is_never_the_last_block():
    asked = messages_of(
        user(" \n"),
        user("?"),
        assistant([thinking(THOUGHT), TextPart("  ")]),
        assistant([carrying((THOUGHT, [0, 0]), (THOUGHT, [0, 6])), TextPart("So. \n")]),
    )
    assert asked == [said("user", "?"), said("assistant", THOUGHT, "So."), said("user", CONTINUE)]


def test_decision_11_marks_are_four_at_the_places_of_section_11_and_never_on_thinking():
    for rounds in range(1, 5):
        body = body_of(*session(rounds), tools=(WEATHER,))
        assert len(marks_in(body)) == 4
        marked = [body["messages"][number]["content"][place] for number, place in marks_in(body)[2:]]
        assert all(block["type"] in {"text", "image", "tool_result"} for block in marked)
        assert refused_by_anthropic(written(*session(rounds), tools=(WEATHER,))) is None
