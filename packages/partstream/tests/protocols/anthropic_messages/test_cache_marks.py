"""The places of the four marks, for models that keep the thinking of finished turns and for others.

Source: docs/wires/anthropic-messages.md#prompt-cache.
"""

from typing import Any

import pytest

from partstream.protocols.anthropic_messages.write_request import MARK, mark_for_cache


def user(*kinds: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": kind, "text": kind} for kind in kinds]}


CALLS = {"role": "assistant", "content": [{"type": "thinking"}, {"type": "tool_use"}, {"type": "tool_use"}]}
SAID = {"role": "assistant", "content": [{"type": "thinking"}, {"type": "text", "text": "So."}]}
RESULTS = user("tool_result", "tool_result")
ASKED = user("text")

FIRST_TURN = [ASKED, CALLS, RESULTS, CALLS, RESULTS]
# The messages of a request, and the numbers of those that are marked: by models that keep thinking, and by others.
PLACES: dict[str, tuple[list[dict[str, Any]], list[int], list[int]]] = {
    "the first request": ([ASKED], [0], [0]),
    "the second round": ([ASKED, CALLS, RESULTS], [0, 2], [0, 2]),
    "the third round": (FIRST_TURN, [2, 4], [0, 2, 4]),
    "the next question": ([*FIRST_TURN, SAID, ASKED], [4, 6], [0, 4, 6]),
    "its second round": ([*FIRST_TURN, SAID, ASKED, CALLS, RESULTS], [6, 8], [6, 8]),
    "its third round": ([*FIRST_TURN, SAID, ASKED, CALLS, RESULTS, CALLS, RESULTS], [8, 10], [6, 8, 10]),
}


@pytest.mark.parametrize(("messages", "kept", "forgotten"), PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("keeps", [True, False], ids=["keeps thinking", "forgets thinking"])
def test_decision_11_which_messages_are_marked(
    messages: list[dict[str, Any]], kept: list[int], forgotten: list[int], *, keeps: bool
) -> None:
    body = {"tools": [{"name": "f"}, {"name": "g"}], "system": "Be brief.", "messages": messages}
    marked = mark_for_cache(body, None, keeps_thinking=keeps)
    spots = [
        (number, index)
        for number, message in enumerate(marked["messages"])
        for index, block in enumerate(message["content"])
        if MARK in block
    ]
    assert spots == [(number, len(messages[number]["content"]) - 1) for number in (kept if keeps else forgotten)]
    assert [MARK in tool for tool in marked["tools"]] == [False, keeps]
    assert [MARK in block for block in marked["system"]] == [True]
    assert len(spots) + 1 + keeps <= 4


def test_without_a_system_prompt_the_tools_are_marked_for_every_model() -> None:
    body = {"tools": [{"name": "f"}], "messages": FIRST_TURN}
    assert mark_for_cache(body, "1h", keeps_thinking=False)["tools"][0][MARK] == {"type": "ephemeral", "ttl": "1h"}
