"""Thinking as text: a quote, apart from the answer, whichever protocol it came over and however it was cut."""

import json
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from partstream.conversation.thinking import open_response
from partstream.lm.outputs import Finish, StreamOptions, StreamOutput, ThinkingMode
from partstream.lm.parts import TextPart, ThinkingPart, ToolCallPart
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.reader import StreamReader

AS_TEXT = StreamOptions(thinking=ThinkingMode.TEXT, call_id_prefix="")


def think(text: str, block: str = "r") -> dict[str, Any]:
    return {"type": "reasoning-delta", "id": block, "text": text}


def say(text: str) -> dict[str, Any]:
    return {"type": "text-delta", "id": "t", "text": text}


CALL = {"type": "tool-call", "toolCallId": "c", "toolName": "weather", "input": {}}


def outputs_of(chunks: list[dict[str, Any]], options: StreamOptions = AS_TEXT) -> list[StreamOutput]:
    stream = open_response(PROTOCOLS["ai-sdk"].read_response(), options)
    outputs = [output for chunk in chunks for output in stream.feed(chunk)]
    outputs += stream.feed({"type": "finish", "finishReason": "stop"})
    return outputs if stream.finished else outputs + stream.end()


def text_of(chunks: list[dict[str, Any]]) -> str:
    return "".join(output.value for output in outputs_of(chunks) if isinstance(output, TextPart))


SHOWN = {
    "before the answer": ([think("Hm."), say("Yes.")], "> Hm.\n\nYes."),
    "of several lines": ([think("One\ntwo\n\nthree"), say("Yes.")], "> One\n> two\n>\n> three\n\nYes."),
    "that ends a line": ([think("Hm.\n"), say("Yes.")], "> Hm.\n\nYes."),
    "that begins with an empty line": ([think("\nHm."), say("Yes.")], ">\n> Hm.\n\nYes."),
    "within the answer": ([say("Well, "), think("Hm."), say("Yes.")], "Well, \n\n> Hm.\n\nYes."),
    "behind a line": ([say("Well,\n"), think("Hm."), say("Yes.")], "Well,\n\n> Hm.\n\nYes."),
    "behind an empty line": ([say("Well,\n\n"), think("Hm."), say("Yes.")], "Well,\n\n> Hm.\n\nYes."),
    "twice": ([think("Hm."), say("Yes."), think("Or?"), say("Yes.")], "> Hm.\n\nYes.\n\n> Or?\n\nYes."),
    "in two blocks": ([think("Hm."), think("Or?", "s"), say("Yes.")], "> Hm.\n>\n> Or?\n\nYes."),
    "in two blocks of lines": ([think("Hm.\n"), think("Or?", "s"), say("Yes.")], "> Hm.\n>\n> Or?\n\nYes."),
    "with nothing behind it": ([think("Hm.")], "> Hm.\n\n"),
    "of nothing": ([think(""), say("Yes.")], "Yes."),
    "with Markdown of its own": ([think("> a\n- b"), say("Yes.")], "> > a\n> - b\n\nYes."),
}


@pytest.mark.parametrize(("chunks", "text"), SHOWN.values(), ids=SHOWN)
def test_thinking_is_a_quote_with_an_empty_line_around_it(chunks: list[dict[str, Any]], text: str) -> None:
    assert text_of(chunks) == text


def test_a_tool_call_comes_behind_the_end_of_the_quote_and_the_finish_last() -> None:
    outputs = outputs_of([think("Hm."), CALL, {"type": "finish-step"}])
    assert outputs[:-1] == [TextPart("> Hm."), TextPart("\n\n"), ToolCallPart("c", "weather", {})]
    assert isinstance(outputs[-1], Finish)


def test_it_comes_as_it_is_thought_and_not_at_the_end() -> None:
    stream = open_response(PROTOCOLS["ai-sdk"].read_response(), AS_TEXT)
    assert stream.feed(think("One")) == [TextPart("> One")]
    assert stream.feed(think(" two\n")) == [TextPart(" two\n")]
    assert stream.feed(think("three")) == [TextPart("> three")]
    assert stream.feed(say("Yes")) == [TextPart("\n\n"), TextPart("Yes")]


PIECES = st.lists(st.tuples(st.sampled_from("rst"), st.text(st.sampled_from("ab> \n"), max_size=6)), max_size=12)


@given(PIECES, st.data())
@example([("r", "\n"), ("t", "a"), ("s", "\n\n")], None)
def test_however_it_is_cut_the_text_is_the_same_and_nothing_of_it_is_lost(
    pieces: list[tuple[str, str]], data: st.DataObject | None
) -> None:
    whole = [say(text) if block == "t" else think(text, block) for block, text in pieces]
    cut: list[dict[str, Any]] = []
    for chunk in whole:
        place = 0 if data is None else data.draw(st.integers(0, len(chunk["text"])))
        cut += [{**chunk, "text": chunk["text"][:place]}, {**chunk, "text": chunk["text"][place:]}]
    text = text_of(whole)
    assert text_of(cut) == text
    thought = "".join(said for block, said in pieces if block != "t")
    quoted = "".join(line[2:] for line in text.split("\n") if line.startswith(">"))
    if all(">" not in said for block, said in pieces if block == "t"):
        assert re.sub(r"\s", "", quoted) == re.sub(r"\s", "", thought)


SDK = [{"type": "reasoning-delta", "id": "r", "delta": "Hm."}, {"type": "text-delta", "id": "t", "delta": "Yes."}]
EVENTS: dict[str, list[dict[str, Any]]] = {
    "openresponses": [
        {"type": "response.reasoning_text.delta", "item_id": "r", "content_index": 0, "delta": "Hm."},
        {"type": "response.output_text.delta", "item_id": "m", "content_index": 0, "delta": "Yes."},
    ],
    "ai-gateway": SDK,
    "ai-sdk-ui": SDK,
}


@pytest.mark.parametrize("protocol", ["openresponses", "ai-gateway", "ai-sdk-ui"])
def test_every_protocol_sets_it_off_in_the_same_way(protocol: str) -> None:
    reader = StreamReader(protocol, AS_TEXT)
    framed = (f"data: {json.dumps(event)}\n\n".encode() for event in EVENTS[protocol])
    outputs = [output for data in framed for output in reader.feed(data)]
    outputs += reader.end()
    assert "".join(output.value for output in outputs if isinstance(output, TextPart)) == "> Hm.\n\nYes."
    assert not any(isinstance(output, ThinkingPart) for output in outputs)
