"""The built-in model: it calls the tool that fits, a round for each place, and answers from the results."""

import asyncio
from typing import Any

import pytest

from partstream.lm.cancellation import CancellationToken
from partstream.lm.messages import ChatMessage, RequestOptions, Tool, ToolMode
from partstream.lm.outputs import Finish
from partstream.lm.parts import (
    FinishReason,
    ResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    UnifiedFinishReason,
)
from partstream.runtime.demo_provider import DEMO_MODEL, DemoProvider
from rows import one_test_for

PLACE = {
    "type": "object",
    "properties": {"unit": {"enum": ["C", "F"]}, "city": {"type": "string"}},
    "required": ["city"],
}
TOOLS = (Tool("read_file", "Reads a file"), Tool("get_weather", "Weather of a city", PLACE))
CLOCK = Tool("clock", "Tells what time it is in a city", PLACE)


class Kept:
    def __init__(self) -> None:
        self.parts: list[ResponsePart] = []

    def report(self, part: ResponsePart) -> None:
        self.parts.append(part)


def answer(*messages: ChatMessage, **options: Any) -> list[ResponsePart]:
    kept = Kept()
    asked = RequestOptions(**options)
    asyncio.run(
        DemoProvider().provide_language_model_chat_response(DEMO_MODEL, messages, asked, kept, CancellationToken())
    )
    return kept.parts


def text(parts: list[ResponsePart]) -> str:
    return "".join(part.value for part in parts if isinstance(part, TextPart))


@one_test_for(
    ("question", "expected"),
    [
        ("Reply with exactly: recovered", "recovered"),
        ("Count from 1 to 5.", "1, 2, 3, 4, 5"),
        ("How are you?", "You said: How are you?"),
        ("<context>It is dark.</context>\n<userRequest>\nHow are you?\n</userRequest>", "You said: How are you?"),
        ("", "Hello! I am the demo model of Partstream."),
    ],
)
def test_it_thinks_and_answers(question: str, expected: str) -> None:
    parts = answer(ChatMessage.user(question))
    assert isinstance(parts[0], ThinkingPart)
    assert text(parts) == expected


def test_it_calls_the_tool_that_fits_with_arguments_by_its_schema() -> None:
    *thinking, call = answer(ChatMessage.user("What's the weather like in San Francisco?"), tools=TOOLS)
    assert all(isinstance(part, ThinkingPart) for part in thinking)
    assert isinstance(call, ToolCallPart)
    assert (call.name, call.input) == ("get_weather", {"city": "San Francisco"})


def test_it_calls_a_tool_for_each_place_one_in_a_round_and_says_the_results() -> None:
    messages = [ChatMessage.user("What is the weather in Rome and San Francisco?")]
    for place in ("Rome", "San Francisco"):
        call = answer(*messages, tools=TOOLS)[-1]
        assert isinstance(call, ToolCallPart)
        assert call.input == {"city": place}
        result = ToolResultPart(call.call_id, [TextPart(f"{place} is sunny")])
        messages += [ChatMessage.assistant([call]), ChatMessage.user([result])]
    assert text(answer(*messages, tools=TOOLS)) == "The tools say: Rome is sunny; San Francisco is sunny"


@one_test_for(
    ("question", "expected"),
    [
        ("What time is it in Tokyo?", [("clock", "Tokyo")]),
        ("What time is it?", [("clock", "here")]),
        (
            "How is the weather in Rome and San Francisco, and what time is it in Tokyo?",
            [("get_weather", "Rome"), ("get_weather", "San Francisco"), ("clock", "Tokyo")],
        ),
        ("What time is it in Tokyo? And the temperature in Oslo?", [("clock", "Tokyo"), ("get_weather", "Oslo")]),
        ("Say for the house in Rome what the weather in May is", [("get_weather", "Rome"), ("get_weather", "May")]),
        ("Is the weather in Rome good in May?", [("get_weather", "Rome")]),
    ],
)
def test_of_a_question_about_two_things_each_goes_to_its_tool(question: str, expected: list[tuple[str, str]]) -> None:
    messages = [ChatMessage.user(question)]
    called = []
    while isinstance(call := answer(*messages, tools=(*TOOLS, CLOCK))[-1], ToolCallPart):
        called.append((call.name, call.input["city"]))
        messages += [ChatMessage.assistant([call]), ChatMessage.user([ToolResultPart(call.call_id, [TextPart("?")])])]
    assert called == expected


def test_a_token_is_counted_for_every_four_characters_also_of_results() -> None:
    result = ToolResultPart("call_1", [TextPart("12345")])
    counts = {text: ChatMessage.user([TextPart(text), result]) for text in ("", "1234")}
    provider, token = DemoProvider(), CancellationToken()
    counted = [asyncio.run(provider.provide_token_count(DEMO_MODEL, one, token)) for one in ("12345", *counts.values())]
    assert counted == [2, 2, 3]


def test_it_calls_no_tool_without_a_reason_and_the_first_one_where_it_must() -> None:
    asked = ChatMessage.user("Hello.")
    assert text(answer(asked, tools=TOOLS)) == "You said: Hello."
    call = answer(asked, tools=TOOLS[:1], tool_mode=ToolMode.REQUIRED)[-1]
    assert isinstance(call, ToolCallPart)
    assert (call.name, call.input) == ("read_file", {})


def test_it_summarises_what_was_said() -> None:
    asked = ChatMessage.user("Summarise the conversation above so that it can go on.")
    said = text(answer(ChatMessage.user("Remember: slate."), ChatMessage.assistant("OK."), asked))
    assert "Remember: slate." in said
    assert "Summarise" not in said


@pytest.mark.parametrize("name", ["max_output_tokens", "max_completion_tokens", "max_tokens"])
def test_an_answer_is_as_long_as_the_request_lets_it_be_and_says_so(name: str) -> None:
    class Finishing(Kept):
        finish_of: Finish | None = None

        def finish(self, finish: Finish) -> None:
            self.finish_of = finish

    kept, asked = Finishing(), RequestOptions(model_options={name: 20})
    messages = (ChatMessage.user("Count from 1 to 500."),)
    asyncio.run(
        DemoProvider().provide_language_model_chat_response(DEMO_MODEL, messages, asked, kept, CancellationToken())
    )
    written = sum(len(part.value) for part in kept.parts if isinstance(part, TextPart | ThinkingPart))
    assert 60 < written <= 80
    assert kept.finish_of is not None
    assert kept.finish_of.reason == FinishReason(UnifiedFinishReason.LENGTH, "length")
