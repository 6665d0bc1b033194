"""Thinking under all its names, and what becomes of it."""

import pytest

from partstream.lm.outputs import Outcome, StreamOptions, ThinkingMode
from partstream.lm.parts import TextPart, ThinkingPart
from partstream.protocols.openresponses.read_response import OpenResponsesStream
from protocols.openresponses.wire import (
    Event,
    added,
    annotation,
    call,
    delta,
    done,
    event,
    message,
    part_added,
    part_done,
    read,
    read_events,
    reasoning,
    spread,
    terminal,
    text_done,
    thinking_delta,
    thinking_done,
)
from rows import one_test_for

THOUGHT = ("I ", "think")
THINKING: dict[str, tuple[list[Event], str]] = {
    **{
        f"streamed as {kind}": (
            spread(
                added(reasoning(), 0),
                [thinking_delta(text, 0, kind) for text in THOUGHT],
                thinking_done("I think", 0, kind),
                done(reasoning(["I think"] if "summary" in kind else [], [] if "summary" in kind else ["I think"]), 0),
            ),
            "I think",
        )
        for kind in ("reasoning", "reasoning_text", "reasoning_content", "reasoning_summary_text", "reasoning_summary")
    },
    **{
        f"{kind}.done alone": (spread(thinking_done("I think", 0, kind)), "I think")
        for kind in ("reasoning", "reasoning_text", "reasoning_content", "reasoning_summary_text", "reasoning_summary")
    },
    "a summary part before, a summary part after": (
        spread(
            added(reasoning(), 0),
            event(
                "reasoning_summary_part.added",
                item_id="rs_0",
                output_index=0,
                summary_index=0,
                part={"type": "summary_text", "text": ""},
            ),
            [thinking_delta(text, 0, "reasoning_summary_text") for text in THOUGHT],
            event(
                "reasoning_summary_part.done",
                item_id="rs_0",
                output_index=0,
                summary_index=0,
                part={"type": "summary_text", "text": "I think"},
            ),
        ),
        "I think",
    ),
    "a summary part after, alone": (
        spread(
            event(
                "reasoning_summary_part.done",
                item_id="rs_0",
                output_index=0,
                summary_index=0,
                part={"type": "summary_text", "text": "I think"},
            )
        ),
        "I think",
    ),
    "two summary parts": (
        spread(
            added(reasoning(), 0),
            thinking_delta("One", 0, "reasoning_summary_text", 0),
            thinking_done("One", 0, "reasoning_summary_text", 0),
            thinking_delta("Two", 0, "reasoning_summary_text", 1),
            thinking_done("Two", 0, "reasoning_summary_text", 1),
            done(reasoning(["One", "Two"])),
        ),
        "OneTwo",
    ),
    "output_item.done alone, a summary": (spread(done(reasoning(["I think"]))), "I think"),
    "output_item.done alone, raw": (spread(done(reasoning([], ["I think"]))), "I think"),
    "the final snapshot alone": ([terminal(output=(reasoning(["I think"]),))], "I think"),
    "vLLM: nulls where nothing is": (
        spread(
            added(reasoning(content=None, encrypted_content=None)),
            thinking_delta("I think"),
            done(reasoning(content=None, encrypted_content=None)),
        ),
        "I think",
    ),
    "vLLM: an output_text part inside the reasoning item": (
        spread(
            added(reasoning(), 0),
            part_added("output_text", item_id="rs_0"),
            [thinking_delta(text, 0, "reasoning_text") for text in THOUGHT],
            thinking_done("I think", 0, "reasoning_text"),
            part_done("I think", "output_text", item_id="rs_0"),
        ),
        "I think",
    ),
    "LM Studio: a reasoning_text part": (
        spread(
            added(reasoning(), 0),
            part_added("reasoning_text", item_id="rs_0"),
            [thinking_delta(text, 0, "reasoning_text") for text in THOUGHT],
            part_done("I think", "reasoning_text", item_id="rs_0"),
            done(reasoning([], ["I think"])),
        ),
        "I think",
    ),
    "LiteLLM: the item id differs per delta": (
        spread(
            [thinking_delta(text, 0, item_id=f"rs_{text}") for text in THOUGHT],
            done(reasoning([], ["I think"], "rs_9"), 0),
        ),
        "I think",
    ),
    "xAI: raw deltas, and the closing item repeats them as a summary": (
        spread(
            added(reasoning(), 0),
            [thinking_delta(text, 0, "reasoning_text") for text in THOUGHT],
            done(reasoning(["I think"], ["I think"])),
        ),
        "I think",
    ),
    "xAI: the same, and the closing item has the summary alone": (
        spread(
            added(reasoning(), 0),
            [thinking_delta(text, 0, "reasoning_text") for text in THOUGHT],
            done(reasoning(["I think"])),
        ),
        "I think",
    ),
    "GitHub Copilot: every event has another item id": (
        spread(
            added(reasoning(item_id="r1"), 0),
            thinking_delta("I ", 0, item_id="r2"),
            thinking_delta("think", 0, item_id="r3"),
            done(reasoning([], ["I think"], "r4"), 0),
            terminal(output=(reasoning([], ["I think"], "r5"),)),
        ),
        "I think",
    ),
}


@one_test_for(("events", "expected"), THINKING.values(), ids=THINKING)
def test_thinking_comes_whole_and_nothing_of_it_twice(events: list[Event], expected: str) -> None:
    result = read(events)
    assert result.thinking == expected
    assert result.text == ""
    assert result.unmapped == {}
    assert result.finish.outcome is Outcome.COMPLETED


# ---- where thinking goes ----

THINKS_THEN_SAYS = spread(
    *(added(reasoning(), 0), thinking_delta("Hm", 0), done(reasoning([], ["Hm"]), 0)),
    *(added(message(content=[]), 1), delta("Yes", 1), done(message("Yes"), 1)),
)


@pytest.mark.parametrize(
    ("mode", "text", "thinking"),
    [(ThinkingMode.PART, "Yes", "Hm"), (ThinkingMode.TEXT, "> Hm\n\nYes", ""), (ThinkingMode.OFF, "Yes", "")],
)
def test_thinking_goes_where_the_options_say(mode: ThinkingMode, text: str, thinking: str) -> None:
    result = read(THINKS_THEN_SAYS, thinking=mode)
    assert (result.text, result.thinking) == (text, thinking)
    assert bool(result.metadata) == (mode is ThinkingMode.PART)


@pytest.mark.parametrize("mode", [ThinkingMode.TEXT, ThinkingMode.OFF])
def test_without_thinking_parts_there_is_no_metadata(mode: ThinkingMode) -> None:
    result = read(spread(done(reasoning(["Hm"], encrypted_content="opaque"))), thinking=mode)
    assert not any(isinstance(output, ThinkingPart) for output in result.outputs)


def test_marks_of_thinking_that_is_off_disappear_with_it() -> None:
    result = read([thinking_delta("Hm.", 0), delta("Yes", 1), terminal()], thinking=ThinkingMode.OFF)
    assert result.outputs[:-1] == [TextPart("Yes")]


def test_all_events_of_an_item_give_parts_with_the_id_that_it_had_first() -> None:
    events = spread(
        added(reasoning(item_id="r1")), thinking_delta("a", item_id="r2"), thinking_delta("b", item_id="r3")
    )
    assert [part.id for part in read(events).outputs if isinstance(part, ThinkingPart)] == ["r1", "r1"]


# ---- metadata ----


def test_the_last_part_of_an_item_carries_its_id_and_encrypted_content() -> None:
    closing = done(reasoning(["I think"], encrypted_content="opaque"))
    result = read(spread(added(reasoning()), thinking_delta("I ", kind="reasoning_summary_text"), closing))
    identity = {"id": "rs_0", "encrypted_content": "opaque"}
    assert [part for part in result.outputs if isinstance(part, ThinkingPart)] == [
        ThinkingPart("I ", "rs_0"),
        ThinkingPart("think", "rs_0", {**identity, "reasoning_items": [identity]}),
    ]


def test_encrypted_content_without_any_summary_comes_in_a_part_of_its_own() -> None:
    result = read(spread(added(reasoning()), done(reasoning(encrypted_content="opaque"))))
    identity = {"id": "rs_0", "encrypted_content": "opaque"}
    assert result.outputs[0] == ThinkingPart("", "rs_0", {**identity, "reasoning_items": [identity]})


def test_metadata_never_moves_to_the_part_of_another_item() -> None:
    events = spread(
        *(added(reasoning(), 0), added(reasoning(item_id="rs_1"), 1), thinking_delta("One.", 0)),
        done(reasoning(item_id="rs_1", encrypted_content="second"), 1),
        done(reasoning([], ["One."], encrypted_content="first"), 0),
    )
    parts = [part for part in read(events).outputs if isinstance(part, ThinkingPart)]
    assert [(part.id, (part.metadata or {}).get("encrypted_content")) for part in parts] == [
        ("rs_0", None),
        ("rs_0", None),
        ("rs_1", "second"),
        ("rs_0", "first"),
    ]


def test_every_item_lists_the_ones_before_it_because_only_the_last_metadata_is_kept() -> None:
    items = [reasoning([f"{place}"], item_id=f"rs_{place}", encrypted_content=f"x{place}") for place in range(3)]
    result = read(spread([done(item, place) for place, item in enumerate(items)]))
    identities = [{"id": f"rs_{place}", "encrypted_content": f"x{place}"} for place in range(3)]
    assert [metadata["reasoning_items"] for metadata in result.metadata] == [identities[: n + 1] for n in range(3)]


def test_an_item_that_is_closed_twice_gives_its_metadata_once() -> None:
    closing = reasoning(["Hm"], encrypted_content="x")
    assert len(read(spread(done(closing), done(closing), terminal(output=(closing,)))).metadata) == 1


def test_an_item_that_says_nothing_at_all_gives_nothing() -> None:
    assert read(spread(added(reasoning()), done(reasoning(encrypted_content=None)))).outputs[:-1] == []


def test_encrypted_content_that_only_the_snapshot_says_comes_at_the_end() -> None:
    result = read([thinking_delta("Hm"), terminal(output=(reasoning([], ["Hm"], encrypted_content="x"),))])
    assert [metadata["encrypted_content"] for metadata in result.metadata] == ["x"]


# ---- parts that are not text ----


def test_a_content_part_of_an_unknown_type_is_counted_once() -> None:
    part = {"type": "output_audio", "data": "AAAA"}
    events = spread(
        *(added(message(content=[])), event("content_part.added", output_index=0, content_index=0, part=part)),
        event("content_part.done", output_index=0, content_index=0, part=part),
    )
    result = read(events)
    assert result.unmapped == {"part:output_audio": 1}
    assert result.text == ""


def test_a_content_part_of_an_unknown_type_in_a_closing_item_is_counted() -> None:
    closing = message(content=[{"type": "output_audio"}, {"type": "output_text", "text": "Hi"}])
    result = read(spread(done(closing), terminal(output=(closing,))))
    assert result.unmapped == {"part:output_audio": 1}
    assert result.text == "Hi"


def test_a_closing_text_that_contradicts_the_deltas_is_counted_and_changes_nothing() -> None:
    result = read(spread(added(message(content=[])), delta("Hello"), text_done("Goodbye"), done(message("Goodbye"))))
    assert result.text == "Hello"
    assert result.unmapped == {
        "response.output_text.done (differs from the text before it)": 1,
        "response.output_item.done (differs from the text before it)": 1,
    }
    assert result.finish.outcome is Outcome.COMPLETED


def test_a_delta_comes_out_with_the_event_that_brought_it_and_only_its_last_marks_wait() -> None:
    stream = OpenResponsesStream(StreamOptions())
    assert stream.feed(delta("Hi there...")) == [TextPart("Hi there")]
    assert stream.feed(delta(" Yes")) == [TextPart("... Yes")]
    assert stream.feed(delta("!")) == []
    assert stream.feed(text_done("Hi there... Yes!")) == [TextPart("!")]


def test_marks_that_wait_come_before_whatever_comes_next() -> None:
    for following in (
        *(added(call()), added(message(content=[], item_id="msg_1"), 1), part_added(content_index=1), event("new")),
        *(terminal(), terminal("incomplete"), terminal("failed"), done(call()), thinking_delta("Hm", 1)),
        *(event("error", message="no"), annotation("https://e.org"), delta("x", 1, 0, "msg_1"), {"type": 7}),
    ):
        outputs = read_events([delta("Yes!"), following]).outputs
        assert outputs[:2] == [TextPart("Yes"), TextPart("!")], following
    assert read_events([delta("Yes!")]).outputs[:2] == [TextPart("Yes"), TextPart("!")]
