"""Constructors check their values: a wrong one is refused where it is written, with what would be right."""

from collections import OrderedDict
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from partstream import (
    CallerError,
    ChatMessage,
    DataPart,
    Finish,
    FinishReason,
    InvalidArgumentError,
    LanguageModelChatCapabilities,
    LanguageModelChatInformation,
    ModelOverride,
    ModelSelection,
    Outcome,
    RequestOptions,
    Role,
    StreamOptions,
    TextPart,
    ThinkingPart,
    Tool,
    ToolCallPart,
    ToolFunction,
    ToolMode,
    ToolResultPart,
)
from partstream.lm.parts import text_part, thinking_part, tool_call_part, unchecked_part
from rows import one_test_for

TEXT = TextPart("text")
LOOK = Tool("look", "Looks.")

REFUSED: list[tuple[Any, tuple[Any, ...], dict[str, Any], str]] = [
    (TextPart, (5,), {}, "TextPart.value: got 5 (int), expected a text (str)"),
    (TextPart, (b"text",), {}, "TextPart.value: got 4 bytes, expected a text (str)"),
    (ThinkingPart, (None,), {}, "ThinkingPart.value: got None, expected a text (str)"),
    (ThinkingPart, (["a", 1],), {}, "ThinkingPart.value: got list, expected a text (str)"),
    (ThinkingPart, ("hm",), {"id": 7}, "ThinkingPart.id: got 7 (int), expected a text (str), or None"),
    (ThinkingPart, ("hm",), {"metadata": []}, "ThinkingPart.metadata: got list, expected a mapping"),
    (ToolCallPart, ("", "x", {}), {}, "ToolCallPart.call_id: got '' (str), expected a text (str) that is not empty"),
    (ToolCallPart, ("c", None, {}), {}, "ToolCallPart.name: got None, expected a text (str) that is not empty"),
    (ToolCallPart, ("c", "x", "{}"), {}, "ToolCallPart.input: got '{}' (str), expected a mapping, such as a dict"),
    (ToolResultPart, ("c", "text"), {}, "ToolResultPart.content: got 'text' (str), expected a list or a tuple"),
    (ToolResultPart, ("c", TEXT), {}, "ToolResultPart.content: got TextPart, expected a list or a tuple"),
    (ToolResultPart, ("c", [TEXT, "t"]), {}, "ToolResultPart.content[1]: got 't' (str), expected a TextPart or a Data"),
    (ToolResultPart, ("c", []), {"is_error": "no"}, "ToolResultPart.is_error: got 'no' (str), expected True or False"),
    (DataPart, ("abc", "text/plain"), {}, "DataPart.data: got 'abc' (str), expected bytes"),
    (DataPart, (b"abc", ""), {}, "DataPart.mime_type: got '' (str), expected a text (str) that is not empty"),
    (ChatMessage, ("user", "hi"), {}, "ChatMessage.role: got 'user' (str), expected Role.USER, Role.ASSISTANT or"),
    (ChatMessage, (Role.USER, 5), {}, "ChatMessage.content: got 5 (int), expected a list or a tuple, each item a part"),
    (ChatMessage.user, (["hi"],), {}, "ChatMessage.content[0]: got 'hi' (str), expected a part, such as a TextPart"),
    (ChatMessage.user, ({"type": "text"},), {}, "ChatMessage.content: got dict, expected a list or a tuple"),
    (ChatMessage.user, ("hi",), {"name": 1}, "ChatMessage.name: got 1 (int), expected a text (str), or None"),
    (Tool, ("look", None), {}, "Tool.description: got None, expected a text (str)"),
    (
        Tool,
        ("look", "Looks.", "{}"),
        {},
        "Tool.input_schema: got '{}' (str), expected a mapping, such as a dict, or None",
    ),
    (RequestOptions, (LOOK,), {}, "RequestOptions.tools: got Tool, expected a list or a tuple, each item a Tool"),
    (RequestOptions, (["look"],), {}, "RequestOptions.tools[0]: got 'look' (str), expected a Tool"),
    (
        RequestOptions,
        (),
        {"tool_mode": "auto"},
        "RequestOptions.tool_mode: got 'auto' (str), expected ToolMode.AUTO or",
    ),
    (
        Finish,
        ("completed",),
        {},
        "Finish.outcome: got 'completed' (str), expected an Outcome, such as Outcome.COMPLETED",
    ),
    (Finish, (Outcome.COMPLETED, "stop"), {}, "Finish.reason: got 'stop' (str), expected a FinishReason, or None"),
    (Finish, (Outcome.FAILED,), {"error": OSError()}, "Finish.error: got OSError, expected a LanguageModelError, or"),
    (FinishReason, ("stop",), {}, "FinishReason.unified: got 'stop' (str), expected a UnifiedFinishReason, such as"),
    (StreamOptions, ("text",), {}, "StreamOptions.thinking: got 'text' (str), expected a ThinkingMode, such as"),
    (ModelOverride, (5,), {}, "ModelOverride.name: got 5 (int), expected a text (str), or None"),
    (ModelOverride, (), {"context_window": "8K"}, "ModelOverride.context_window: got '8K' (str), expected a whole num"),
    (ModelOverride, (), {"reasoning_efforts": "low"}, "ModelOverride.reasoning_efforts: got 'low' (str), expected a l"),
    (ModelSelection, ("gpt-*",), {}, "ModelSelection.allow: got 'gpt-*' (str), expected a list or a tuple, each item"),
    (ModelSelection, (), {"overrides": [1]}, "ModelSelection.overrides: got list, expected a mapping, such as a dict"),
    (ToolFunction, ("look", len), {}, "ToolFunction.tool: got 'look' (str), expected a Tool"),
    (ToolFunction, (LOOK, "look"), {}, "ToolFunction.call: got 'look' (str), expected a function of the call's input"),
    (LanguageModelChatInformation, ("", *"Nfv", 1, 1), {}, "LanguageModelChatInformation.id: got '' (str), expected a"),
    (LanguageModelChatInformation, (*"inf1", 0, 1), {}, "LanguageModelChatInformation.max_input_tokens: got 0 (int),"),
    (LanguageModelChatCapabilities, ("yes",), {}, "LanguageModelChatCapabilities.image_input: got 'yes' (str), expec"),
    (RequestOptions, (), {"model_options": []}, "RequestOptions.model_options: got list, expected a mapping"),
]


@one_test_for(("made", "values", "named", "message"), REFUSED, ids=[row[3].split(",")[0] for row in REFUSED])
def test_a_wrong_value_is_refused_with_what_was_got_where_and_what_was_expected(
    made: Any, values: tuple[Any, ...], named: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        made(*values, **named)
    assert str(caught.value).startswith(message)
    assert str(caught.value) == f"{caught.value.where}: got {caught.value.got}, expected {caught.value.expected}"


def test_the_error_is_caught_as_the_errors_that_python_itself_would_raise() -> None:
    for kind in (CallerError, TypeError, ValueError):
        with pytest.raises(kind):
            TextPart(5)  # type: ignore[arg-type]


def test_a_message_shows_no_contents_of_containers_and_no_long_text() -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        TextPart({"api_key": "sk-planted"})  # type: ignore[arg-type]
    assert str(caught.value) == "TextPart.value: got dict, expected a text (str)"
    with pytest.raises(InvalidArgumentError) as caught:
        ToolCallPart("c", "x", "x" * 100_000)  # type: ignore[arg-type]
    assert len(str(caught.value)) < 200


def test_lists_are_taken_where_tuples_are_kept() -> None:
    assert ChatMessage(Role.USER, [TEXT]) == ChatMessage(Role.USER, (TEXT,)) == ChatMessage.user("text")
    assert ChatMessage(Role.USER, "text") == ChatMessage.user(part for part in [TEXT])
    assert ToolResultPart("c", [TEXT]) == ToolResultPart("c", (TEXT,))
    assert ModelSelection(["a*"]) == ModelSelection(("a*",))
    assert ModelOverride(reasoning_efforts=["low"]) == ModelOverride(reasoning_efforts=("low",))
    assert RequestOptions([LOOK]) == RequestOptions(tools=(LOOK,))
    assert (RequestOptions().model_options, RequestOptions(tool_mode=ToolMode.REQUIRED).tools) == ({}, ())


def test_what_fits_is_kept_as_it_is() -> None:
    class Text(str):
        __slots__ = ()

    assert type(TextPart(Text("a")).value) is Text
    listed = ThinkingPart(["a", "b"])  # VS Code's class has `string | string[]`
    assert (listed.value, listed.entries) == ("ab", ("a", "b"))
    for given in ({}, OrderedDict(a=1), MappingProxyType({"a": 1})):
        assert ToolCallPart("c", "x", given).input is given


def test_a_changed_copy_is_checked_too() -> None:
    assert replace(ToolResultPart("c", [TEXT]), call_id="d") == ToolResultPart("d", [TEXT])
    with pytest.raises(InvalidArgumentError, match=r"ChatMessage\.role"):
        replace(ChatMessage.user("hi"), role="user")  # type: ignore[arg-type]


def test_adapters_make_the_same_parts_without_the_checks() -> None:
    assert text_part("a") == TextPart("a")
    assert thinking_part("a", "id", {"b": 1}) == ThinkingPart("a", "id", {"b": 1})
    assert unchecked_part(DataPart, b"", "usage") == DataPart(b"", "usage")
    assert tool_call_part("c", "x", {"a": 1}) == ToolCallPart("c", "x", {"a": 1})
    assert tool_call_part("", "x", {}) == unchecked_part(ToolCallPart, "", "x", {})
