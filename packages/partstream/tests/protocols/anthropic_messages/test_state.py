"""What an answer leaves behind: the blocks that go back, its tokens, its sources."""

from itertools import pairwise
from typing import Any

import pytest

from partstream.lm.outputs import CitationMode, ThinkingMode, Unmapped
from partstream.lm.parts import TextPart, ThinkingPart, ToolCallPart, Usage, usage_part
from partstream.protocols.anthropic_messages.provider_state import MOST_BYTES, block_of
from protocols.anthropic_messages.wire import (
    OMIT,
    STOP,
    Event,
    answer,
    call,
    closed,
    delta,
    event,
    opened,
    read,
    read_events,
    started,
    stopped,
    text,
    thinking,
)
from protocols.openresponses.wire import Result
from rows import one_test_for


def _items(result: Result) -> list[Any]:
    """The items that the last metadata lists."""
    listed = [one["reasoning_items"] for one in result.metadata]
    for before, after in pairwise(listed):
        assert after[: len(before)] == before, "each metadata lists all before it"
    return list(listed[-1]) if listed else []


def _blocks(result: Result) -> list[Any]:
    return [block for item in _items(result) if (block := block_of(item)) is not None]


# ---- decision 7: thinking, verbatim and at its place ----


@pytest.mark.parametrize(
    ("events", "block"),
    [
        (thinking("Hm. ", "Well.", signature="s1"), {"thinking": "Hm. Well.", "signature": "s1"}),
        (thinking(signature="s1"), {"thinking": "", "signature": "s1"}),
        ([opened("thinking", 0), delta("thinking_delta", 0, thinking="Hm."), closed(0)], {"thinking": "Hm."}),
        (
            [opened("thinking", 0, thinking="Hm.", signature="s0"), delta("signature_delta", signature="s1")],
            {"thinking": "Hm.", "signature": "s1"},
        ),
    ],
    ids=["whole", "omitted", "unsigned", "signed again"],
)
def test_decision_7_thinking_is_kept_as_it_came(events: list[Event], block: Any) -> None:
    assert _blocks(read(answer(events, text("Hi", index=1)))) == [{"type": "thinking", **block}]


def test_decision_7_redacted_thinking_is_kept_and_never_shown() -> None:
    result = read(answer(opened("redacted_thinking", 0, data="secret"), closed(0), text("Hi", index=1)))
    assert _blocks(result) == [{"type": "redacted_thinking", "data": "secret"}]
    assert (result.thinking, result.text, result.unmapped) == ("", "Hi", {})


def test_empty_thinking_without_a_signature_is_nothing() -> None:
    assert _items(read(answer(thinking(), text("Hi", index=1)))) == []


def test_decision_7_each_block_stands_before_what_came_behind_it() -> None:
    """A host knows the place of an item by what was reported before it."""
    result = read(
        answer(
            thinking("A", signature="a"),
            text("one", index=1),
            thinking("B", signature="b", index=2),
            text("two", index=3),
            opened("redacted_thinking", 4, data="c"),
            closed(4),
            call("{}", index=5),
            thinking("D", signature="d", index=6),
            call("{}", call_id="toolu_2", index=7),
            reason="tool_use",
        )
    )
    places: list[Any] = []
    for one in result.outputs:
        if isinstance(one, ThinkingPart) and one.metadata:
            places.append(len(one.metadata["reasoning_items"]))
        elif isinstance(one, TextPart | ToolCallPart):
            places.append(one.value if isinstance(one, TextPart) else one.call_id)
    assert places == [1, "one", 2, "two", 3, "toolu_1", 4, "toolu_2"]


def test_a_signature_on_the_wrong_delta_is_that_of_the_block_it_names() -> None:
    """maximhq/bifrost#5638: the signature comes when text has begun."""
    result = read(
        answer(
            opened("thinking", 0, thinking="", signature=""),
            delta("thinking_delta", 0, thinking="Hm."),
            opened("text", 1, text=""),
            delta("text_delta", 1, text="Hi"),
            delta("signature_delta", 0, signature="s"),
        )
    )
    assert _blocks(result) == [{"type": "thinking", "thinking": "Hm.", "signature": "s"}]


def test_thinking_that_a_server_leaves_open_stands_before_what_follows_it() -> None:
    """llama.cpp closes every block only at the end, and signs none."""
    result = read(
        answer(
            opened("thinking", 0, thinking=""),
            delta("thinking_delta", 0, thinking="Hm."),
            opened("text", 1, text=""),
            delta("text_delta", 1, text="Hi"),
            opened("tool_use", 2, id="c1", name="look_up"),
            closed(0),
            closed(1),
            closed(2),
            reason="tool_use",
        )
    )
    kinds = [type(one).__name__ for one in result.outputs]
    assert kinds == ["ThinkingPart", "ThinkingPart", "TextPart", "ToolCallPart", "Finish"]
    assert _blocks(result) == [{"type": "thinking", "thinking": "Hm."}]


@pytest.mark.parametrize("mode", [ThinkingMode.OFF, ThinkingMode.TEXT])
def test_where_thinking_is_no_part_nothing_goes_back(mode: ThinkingMode) -> None:
    result = read(answer(thinking("Hm.", signature="s"), text("Hi", index=1)), thinking=mode)
    assert result.metadata == []


# ---- what goes back of the server's tools: docs/wires/anthropic-messages.md#server-tools ----

SEARCH: list[Event] = call('{"query": "x"}', kind="server_tool_use", call_id="srvtoolu_1", name="web_search")
FOUND = {"tool_use_id": "srvtoolu_1", "content": [{"type": "web_search_result", "encrypted_content": "e"}]}


def test_a_server_tool_that_waits_for_a_tool_of_ours_goes_back_as_it_came() -> None:
    """Its result comes at the beginning of the next answer (docs/wires/anthropic-messages.md#mixed-turns)."""
    first = read(answer(SEARCH, call("{}", index=1), reason="tool_use"))
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    assert _blocks(first) == [search]
    assert [one for one, *_ in first.calls] == ["toolu_1"]
    second = read(answer(opened("web_search_tool_result", 0, **FOUND), closed(0), text("Hi", index=1)))
    assert _blocks(second) == [{"type": "web_search_tool_result", **FOUND}]


def test_a_call_from_code_keeps_who_called_it_and_the_container() -> None:
    """Without the container the next request is refused (docs/wires/anthropic-messages.md#containers)."""
    caller = {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}
    container = {"id": "container_1", "expires_at": "2026-08-01T00:00:00Z"}
    roll = {"type": "tool_use", "id": "toolu_1", "name": "roll", "input": {}, "caller": caller}
    result = read([started(roll, stop_reason="tool_use", container=container), STOP])
    assert _items(result) == [
        {"type": "content-block", "toolCallId": "toolu_1", "fields": {"caller": caller}},
        {"type": "content-block", "container": container},
    ]
    assert result.finish.provider_metadata["anthropic"]["container"]["id"] == "container_1"
    late = read([started(), *call("{}"), stopped("tool_use", container=container), STOP])
    assert _items(late) == [{"type": "content-block", "container": container}]


def test_a_call_that_the_model_made_itself_carries_nothing() -> None:
    assert _items(read(answer(call("{}", caller={"type": "direct"}), reason="tool_use"))) == []
    toolset = read(answer(call("{}", toolset_name="computer"), reason="tool_use"))
    fields = {"toolset_name": "computer"}
    assert _items(toolset) == [{"type": "content-block", "toolCallId": "toolu_1", "fields": fields}]


def test_a_summary_of_the_conversation_goes_back() -> None:
    events = [opened("compaction", 0, content=None), delta("compaction_delta", 0, content="Long ago.")]
    result = read(answer(*events, delta("compaction_delta", 0, encrypted_content="e"), closed(0), text("Hi", index=1)))
    assert _blocks(result) == [{"type": "compaction", "content": "Long ago.", "encrypted_content": "e"}]


def test_more_blocks_than_an_answer_may_carry_are_counted() -> None:
    blocks = [thinking(signature="s", index=number) for number in range(1002)]
    outputs = read_events(answer(*blocks, text("Hi", index=2000))).outputs
    carried = [one for one in outputs if isinstance(one, ThinkingPart) and one.metadata]
    assert len(carried) == 1
    assert carried[0].metadata is not None
    assert len(carried[0].metadata["reasoning_items"]) == 1000
    assert sum(isinstance(one, Unmapped) for one in outputs) == 2


def test_a_page_that_is_too_large_goes_back_with_its_call_or_not_at_all() -> None:
    page = opened("web_search_tool_result", 1, tool_use_id="srvtoolu_1", content="x" * (MOST_BYTES + 1))
    whole = read_events(answer(SEARCH, page, closed(1), thinking(signature="s", index=2), text("Hi", index=3)))
    assert [one["type"] for one in _blocks(whole)] == ["thinking"]
    assert whole.unmapped["a call and a result of the server's tools (too large to go back)"] == 2
    half = read_events(answer(page, closed(1), text("Hi", index=3)))
    assert [one["type"] for one in _blocks(half)] == ["web_search_tool_result"]


# ---- decision 6: tokens ----


def _usage(first: Any, *later: Any) -> Usage | None:
    deltas = [stopped("end_turn", usage) for usage in later]
    return read([started(usage=first), *text("Hi"), *deltas, STOP]).finish.usage


def test_decision_6_the_last_known_value_of_each_field_counts_and_the_prompt_is_a_sum() -> None:
    usage = _usage(
        {"input_tokens": 5, "cache_creation_input_tokens": 30, "cache_read_input_tokens": 200, "output_tokens": 1},
        {"input_tokens": None, "output_tokens": 20},
        {"input_tokens": 6, "output_tokens": 50, "output_tokens_details": {"thinking_tokens": 40}},
        OMIT,
    )
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (236, 50, 286)
    assert (usage.cached_tokens, usage.cache_write_tokens, usage.reasoning_tokens) == (200, 30, 40)
    assert usage.context_tokens is None


@one_test_for(
    ("first", "last", "prompt"),
    [
        ({"input_tokens": 2751, "output_tokens": 1}, {"input_tokens": 320_032, "output_tokens": 9}, 320_032),
        ({"input_tokens": 60_385, "output_tokens": 1}, {"input_tokens": 612, "output_tokens": 9}, 612),
        ({"input_tokens": 500, "output_tokens": 0}, {"input_tokens": 0, "output_tokens": 9}, 500),
        ({"input_tokens": 500, "output_tokens": 0}, {"output_tokens": 9}, 500),
        ({"input_tokens": 0, "output_tokens": 0}, {"input_tokens": 480, "output_tokens": 9}, 480),
        (None, {"input_tokens": 480, "output_tokens": 9}, 480),
        ({"input_tokens": 5, "cache_read_input_tokens": 100}, {"input_tokens": 0, "cache_read_input_tokens": 105}, 105),
    ],
    ids=["server loop", "compaction", "Ollama with a cache", "llama.cpp", "late", "only late", "all from the cache"],
)
def test_decision_6_the_prompt_may_grow_shrink_or_come_once(first: Any, last: Any, prompt: int) -> None:
    usage = _usage(first, last)
    assert usage is not None
    assert usage.input_tokens == prompt


@one_test_for("wrong", [-1, 1.5, "7", 10**400, True, [], {}])
def test_a_number_that_no_count_can_be_is_unknown(wrong: Any) -> None:
    usage = _usage(None, {"input_tokens": wrong, "output_tokens": wrong})
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens) == (None, None)


def test_decision_6_the_window_holds_the_prompt_of_the_last_call_of_the_model() -> None:
    iterations = [
        {"type": "compaction", "input_tokens": 60_385, "output_tokens": 500},
        {"type": "message", "input_tokens": 100, "cache_read_input_tokens": 500, "output_tokens": 5},
        {"type": "message", "input_tokens": 12, "cache_read_input_tokens": 700, "output_tokens": 5},
        {"type": "advisor_message", "input_tokens": 9999, "output_tokens": 5},
    ]
    usage = _usage({"input_tokens": 1}, {"input_tokens": 1312, "output_tokens": 10, "iterations": iterations})
    assert usage is not None
    assert (usage.input_tokens, usage.context_tokens) == (1312, 712)
    shown = usage_part(usage)
    assert shown is not None
    assert b'"prompt_tokens":712,"completion_tokens":10,"total_tokens":722' in shown.data


def test_without_iterations_the_first_prompt_is_what_is_known_of_the_window() -> None:
    """Recording anthropic-code-execution-20250825.pptx-skill."""
    events = [started(usage={"input_tokens": 2751}), *SEARCH, stopped("end_turn", {"input_tokens": 320_032}), STOP]
    usage = read(events).finish.usage
    assert usage is not None
    assert (usage.input_tokens, usage.context_tokens) == (320_032, 2751)


def test_hidden_thinking_is_no_tool_of_the_server() -> None:
    hidden = opened("redacted_thinking", data="e")
    events = [started(usage={"input_tokens": 0}), hidden, closed(), stopped("end_turn", {"input_tokens": 480}), STOP]
    usage = read(events).finish.usage
    assert usage is not None
    assert (usage.input_tokens, usage.context_tokens) == (480, None)


def test_an_answer_that_breaks_keeps_the_tokens_of_its_beginning() -> None:
    usage = read([started(), *text("Hi")]).finish.usage
    assert usage is not None
    assert usage.input_tokens == 7


def test_decision_6_the_numbers_of_the_beginning_count_where_the_end_says_none() -> None:
    """A `message_delta` may have no usage (docs/wires/anthropic-messages.md#events)."""
    usage = _usage({"input_tokens": 7, "output_tokens": 1}, OMIT)
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens) == (7, 1)


# ---- docs/wires/anthropic-messages.md#citations ----

PAGE = {
    "type": "web_search_result_location",
    "url": "https://a.example/x",
    "title": "A",
    "encrypted_index": "e",
    "cited_text": "words",
}
KINDS: list[Any] = [
    PAGE,
    {"type": "char_location", "document_index": 0, "document_title": "D", "cited_text": "w", "start_char_index": 1},
    {"type": "page_location", "document_index": 1, "document_title": None, "cited_text": "w", "start_page_number": 2},
    {"type": "content_block_location", "document_index": 0, "document_title": "D", "start_block_index": 0},
    {"type": "search_result_location", "source": "https://b.example/", "title": "B", "search_result_index": 0},
    {"type": "search_result_location", "source": "kb-7", "title": "C", "search_result_index": 1},
]


def _cited(*citations: Any, said: str = "It is so.", index: int = 0) -> list[Event]:
    """A block as Anthropic sends it: the citations before their text."""
    deltas = [delta("citations_delta", index, citation=one) for one in citations]
    return [opened("text", index, text="", citations=[]), *deltas, delta("text_delta", index, text=said), closed(index)]


def test_a_source_is_linked_behind_its_text_and_once() -> None:
    events = answer(_cited(PAGE, PAGE | {"cited_text": "other"}), _cited(PAGE, said=" And so.", index=1))
    assert read(events).text == "It is so. [A](https://a.example/x) And so."


@one_test_for("citation", KINDS, ids=lambda one: str(one["type"]))
@one_test_for("mode", CitationMode)
def test_every_kind_of_citation_is_shown_as_the_options_say(citation: Any, mode: CitationMode) -> None:
    result = read(answer(_cited(citation)), citations=mode)
    address = citation.get("url") or citation.get("source", "")
    is_linked = address.startswith("https://") and mode in {CitationMode.INLINE, CitationMode.END}
    assert ("](http" in result.text) is is_linked
    assert len(result.data) == (mode is CitationMode.DATA)
    is_unlinked = not address.startswith("https://") and mode in {CitationMode.INLINE, CitationMode.END}
    assert result.unmapped == ({f"citation:{citation['type']}": 1} if is_unlinked else {})


def test_the_sources_of_whole_blocks_are_shown_too() -> None:
    result = read([started({"type": "text", "text": "So.", "citations": [PAGE]}), stopped(), STOP])
    assert result.text == "So. [A](https://a.example/x)"
    late = delta("citations_delta", 5, citation=PAGE)
    assert read(answer(text("So."), late)).text == "So. [A](https://a.example/x)"
    assert event("x") == {"type": "x"}
