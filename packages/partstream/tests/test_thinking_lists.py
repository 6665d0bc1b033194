"""VS Code allows a list of texts as the value of thinking: a part has one text, and keeps the entries of the list."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from partstream import ChatMessage, InvalidArgumentError, LanguageModels, RequestOptions, chat_model
from partstream.lm.outputs import Finish, InboundRequest, Outcome, Reply
from partstream.lm.parts import MessagePart, TextPart, ThinkingPart, unchecked_part
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.serve import WireRequest
from partstream.runtime.tool_loop import assistant_content
from partstream.server.replies import AnswerBytes
from partstream.vscode.methods import encode_response_part
from rows import one_test_for

TWO = ("first ", "second")


@pytest.mark.parametrize("value", [["first ", "second"], ("first ", "second")])
def test_a_list_of_texts_is_one_text_and_keeps_its_entries(value: Any) -> None:
    part = ThinkingPart(value, "r", {"a": 1})
    assert (part.value, part.entries) == ("first second", TWO)
    assert ThinkingPart("first second").entries == ()
    assert ThinkingPart("first second") != part


def test_entries_stay_with_their_text_and_go_with_another() -> None:
    part = ThinkingPart(TWO)
    assert replace(part, metadata={"a": 1}).entries == TWO
    assert replace(part, value="other").entries == ()
    wrong: Any = [1, 2]
    assert ThinkingPart("12", entries=wrong).entries == ()


def test_a_text_of_a_class_of_its_own_is_no_list() -> None:
    class Words(str):
        __slots__ = ()

    assert ThinkingPart(Words("a")) == ThinkingPart("a")


@pytest.mark.parametrize("value", [["a", 1], 1, None, [["a"]]])
def test_anything_else_is_refused(value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"ThinkingPart\.value"):
        ThinkingPart(value)


def test_vs_code_gets_one_text_also_from_a_part_that_nobody_checked() -> None:
    part = unchecked_part(ThinkingPart, ["first ", "second"], None, None)
    assert encode_response_part(part)["value"] == "first second"


WRITERS = [name for name, one in PROTOCOLS.items() if one.write_response is not None]
LISTS = {"openresponses", "gemini"}
"""The wires that have a list for thinking."""


def _written(name: str, *parts: Any) -> list[Any]:
    asked = InboundRequest("m", (ChatMessage.user("Hi"),), RequestOptions())
    writer = PROTOCOLS[name].write_response()(asked, Reply("r", 0))  # type: ignore[misc]
    return [event for one in (*parts, Finish(Outcome.COMPLETED)) for event in writer.write(one)]


@one_test_for("name", sorted({*WRITERS} - LISTS))
def test_wires_without_a_list_have_one_text(name: str) -> None:
    assert _written(name, ThinkingPart(TWO)) == _written(name, ThinkingPart("first second"))


def test_openresponses_has_a_part_of_the_summary_for_each_entry() -> None:
    events = _written("openresponses", ThinkingPart(TWO, "r"), ThinkingPart(", third", "r"), ThinkingPart(["4"], "r"))
    [item] = events[-1]["response"]["output"]
    assert [one["text"] for one in item["summary"]] == ["first ", "second, third", "4"]
    deltas = [(event["summary_index"], event["delta"]) for event in events if event["type"].endswith("_text.delta")]
    assert deltas == [(0, "first "), (1, "second"), (1, ", third"), (2, "4")]


def test_gemini_has_a_thought_for_each_entry() -> None:
    events = _written("gemini", ThinkingPart(TWO))
    parts = [part for event in events for part in event["candidates"][0]["content"]["parts"]]
    assert [part["text"] for part in parts if part.get("thought")] == list(TWO)


def test_entries_after_a_text_are_never_written_as_a_piece_of_it() -> None:
    protocol = PROTOCOLS["openresponses"].write_response()  # type: ignore[misc]
    asked = InboundRequest("m", (ChatMessage.user("Hi"),), RequestOptions())
    bytes_of = AnswerBytes(protocol(asked, Reply("r", 0)), protocol.stream_form(asked))
    written = b"".join(bytes_of.write(one) for one in (ThinkingPart("a"), ThinkingPart("b"), ThinkingPart(TWO)))
    assert written.count(b"reasoning_summary_part.added") == 2 * 3


@pytest.mark.parametrize("count", [1, 2])
def test_a_request_of_openresponses_gives_the_entries_of_its_summary(count: int) -> None:
    summary = [{"type": "summary_text", "text": text} for text in TWO[:count]]
    body = {"model": "m", "input": [{"type": "message", "role": "user", "content": "q"},
                                    {"type": "reasoning", "id": "rs", "summary": summary}]}  # fmt: skip
    asked = PROTOCOLS["openresponses"].read_request().read(WireRequest("/responses", body))  # type: ignore[misc]
    [thought] = [part for part in asked.messages[-1].content if isinstance(part, ThinkingPart)]
    assert (thought.value, thought.entries) == ("".join(TWO[:count]), TWO if count == len(TWO) else ())


def test_the_assistants_message_of_a_tool_round_keeps_entries() -> None:
    said = [ThinkingPart("a"), ThinkingPart("b"), ThinkingPart(TWO), ThinkingPart("!"), TextPart("x"), TextPart("y")]
    content: tuple[MessagePart, ...] = assistant_content(said, ())
    assert content == (ThinkingPart(["ab", "first ", "second!"]), TextPart("xy"))


def test_a_python_consumer_gets_the_part_as_it_is() -> None:
    @chat_model(name="Thinks")
    async def provider(messages: Any, options: Any) -> Any:
        yield ThinkingPart(["first ", "second"])
        yield "done"

    async def run() -> None:
        models = LanguageModels()
        models.register_language_model_chat_provider("own", provider)
        (model,) = await models.select_chat_models()
        response = await model.send_request([ChatMessage.user("Hi")])
        parts = [part async for part in response.stream]
        assert [part for part in parts if isinstance(part, ThinkingPart)] == [ThinkingPart(["first ", "second"])]

    asyncio.run(run())
