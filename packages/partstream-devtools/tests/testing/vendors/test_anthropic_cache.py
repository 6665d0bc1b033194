"""A request as Anthropic's prompt cache sees it: order, marks, and what spoils it.

Source: docs/wires/anthropic-messages.md#prompt-cache.
"""

from typing import Any

import pytest

from partstream.protocols.serve import WireRequest
from partstream_devtools.testing.vendors.anthropic_messages import VENDOR
from partstream_devtools.testing.vendors.vendor import CachedPrompt, PromptCache
from rows import one_test_for

MARK = {"cache_control": {"type": "ephemeral"}}
LONG = "x" * 40_000
TOOL = {"name": "f", "description": LONG, "input_schema": {"type": "object"}}
ASKED = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}


def read(**changes: Any) -> CachedPrompt:
    body = {"model": "claude-opus-5", "tools": [TOOL], "system": LONG, "messages": [ASKED]} | changes
    return VENDOR.cached_prompt(WireRequest("/messages", body))


def text(value: str, **beside: Any) -> dict[str, Any]:
    return {"type": "text", "text": value, **beside}


def test_tools_come_before_the_system_and_the_system_before_the_messages():
    whole = read(system=[text("a"), text("b")], messages=[ASKED, {"role": "assistant", "content": "Ho"}])
    parts = (
        read(system=[], messages=[]),
        read(tools=[], system=[text("a"), text("b")], messages=[]),
        read(tools=[], system=[], messages=[ASKED, {"role": "assistant", "content": [text("Ho")]}]),
    )
    assert whole.blocks == tuple(block for part in parts for block in part.blocks)
    assert [block.tokens for block in whole.blocks[1:]] == [7, 7, 7, 7]
    assert not any(block.is_marked for block in whole.blocks)


def test_marks_stand_on_blocks_and_one_on_the_request_means_the_last():
    marked = read(tools=[TOOL | MARK], system=[text("a"), text("b", **MARK)])
    assert [block.is_marked for block in marked.blocks] == [True, False, True, False]
    assert [block.is_marked for block in read(**MARK).blocks] == [False, False, True]


LEAST = {"opus-5": 512, "opus-4-8": 1024, "opus-4-7": 2048, "opus-4-6": 4096, "haiku-4-5": 4096, "sonnet-5": 1024}


@one_test_for(("model", "least"), LEAST.items(), ids=LEAST)
def test_the_shortest_beginning_depends_on_the_model(model: str, least: int):
    rule = read(model=f"claude-{model}").rule
    assert (rule.least_tokens, rule.look_back, rule.most_marks) == (least, 20, 4)
    assert (rule.write_price, rule.read_price) == (1.25, 0.1)


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "eA=="}}
SYSTEM = [text(LONG, **MARK)]
MESSAGES = [{"role": "user", "content": [text(LONG, **MARK)]}]

# What changes from one request to the next, and which parts of the first are still read.
CHANGES: dict[str, tuple[dict[str, Any], tuple[bool, bool, bool]]] = {
    "nothing": ({}, (True, True, True)),
    "the mark of the tools": ({"tools": [TOOL]}, (True, True, True)),
    "a tool": ({"tools": [TOOL | {"name": "g"} | MARK]}, (False, False, False)),
    "the order of a tool's fields": ({"tools": [dict(reversed(TOOL.items())) | MARK]}, (False, False, False)),
    "the system": ({"system": [text(f"{LONG}y", **MARK)]}, (True, False, False)),
    "the choice of tools": ({"tool_choice": {"type": "any"}}, (True, True, False)),
    "thinking": ({"thinking": {"type": "adaptive"}}, (True, True, False)),
    "the effort": ({"output_config": {"effort": "low"}}, (True, True, False)),
    "an image at the end": ({"messages": [*MESSAGES, {"role": "user", "content": [IMAGE]}]}, (True, True, False)),
    "a text at the end": ({"messages": [*MESSAGES, {"role": "user", "content": "Go on"}]}, (True, True, True)),
    "a deferred tool": ({"tools": [TOOL | MARK, {"name": "g", "defer_loading": True}]}, (True, True, True)),
    "the model": ({"model": "claude-sonnet-5"}, (False, False, False)),
    "the temperature": ({"temperature": 0.5}, (True, True, True)),
}


@one_test_for(("changes", "kept"), CHANGES.values(), ids=CHANGES)
def test_what_a_change_makes_the_server_forget(changes: dict[str, Any], kept: tuple[bool, bool, bool]):
    usual: dict[str, Any] = {"tools": [TOOL | MARK], "system": SYSTEM, "messages": MESSAGES}
    first, cache = read(**usual), PromptCache()
    cache.bill(first)
    read_again = cache.bill(read(**usual | changes)).read
    assert read_again == sum(block.tokens for block, is_kept in zip(first.blocks, kept, strict=True) if is_kept)


THOUGHT = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "tool_use", "id": "1", "name": "f"}]
RESULT = {"type": "tool_result", "tool_use_id": "1", "content": "x"}


@pytest.mark.parametrize(("model", "kept"), [("claude-opus-5", 2), ("claude-haiku-4-5", 1)])
def test_thinking_of_finished_turns_is_no_part_of_the_prompt_of_models_that_forget_it(model: str, kept: int):
    turn = [{"role": "assistant", "content": THOUGHT}, {"role": "user", "content": [RESULT]}]
    loop = read(model=model, tools=[], system=[], messages=[ASKED, *turn])
    assert len(loop.blocks) == 4
    later = read(model=model, tools=[], system=[], messages=[ASKED, *turn, ASKED, *turn])
    assert len(later.blocks) == 6 + kept


@pytest.mark.parametrize("body", [{}, {"messages": "Hi"}, {"messages": [1], "system": 2, "tools": {}}])
def test_what_has_no_form_has_no_blocks(body: dict[str, Any]):
    assert VENDOR.cached_prompt(WireRequest("/messages", body)).blocks == ()
