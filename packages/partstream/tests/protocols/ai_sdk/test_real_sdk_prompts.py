"""The published AI SDK, versions 5 to 7, takes every conversation that is written for it and passes all of it on."""

import asyncio
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ai_sdk import MAJORS, needs_ai_sdk, perform
from conversation.samples import PDF, PNG, assistant, called, gave, system, user
from conversation.strategies import LINKED
from copilot_requests import copilot_requests
from partstream import ChatMessage, DataPart, TextPart
from partstream.runtime.translation import ModelMessages, to_model_messages
from protocols.ai_sdk.messages import CONVERSATIONS, HIDDEN, SIGNED, SIGNED_CALL, listed

pytestmark = needs_ai_sdk

PIXEL, PAPER = DataPart(PNG, "image/png"), DataPart(PDF, "application/pdf")
NOTE = DataPart(b'{"tide": "high"}', "application/json")

WRITTEN: dict[str, list[ChatMessage]] = {
    "a conversation": [user("Hi"), assistant("Ho"), user("Hm")],
    "instructions": [system("Be brief."), system("Be kind."), user("Hi")],
    "words of all kinds": [user("naïve 東京 🚀 \u200b \\ \" ' \n\t </s>"), assistant("\u0000\ufeff"), user("é")],
    "two in a row": [user("Hi"), user("Are you there?"), assistant("Yes"), assistant("I am"), user("Good")],
    "an image and a file": [user([TextPart("Look"), PIXEL, PAPER, NOTE])],
    "an image and a file at addresses": [user([TextPart("Look"), *LINKED])],
    "a result with an image at an address": [user("Read"), assistant([called()]), user([gave("gw-1", *LINKED)])],
    "a file of the assistant": [user("Draw"), assistant([TextPart("Here"), PIXEL]), user("Nice")],
    "a call": [user("Read"), assistant([TextPart("Let me"), called()]), user([gave("gw-1", "three lines")])],
    "parallel calls": [
        user("Read"),
        assistant([called("gw-1"), called("gw-2")]),
        user([gave("gw-2", "two"), gave("gw-1", "one")]),
    ],
    "an empty result": [user("Read"), assistant([called()]), user([gave("gw-1")])],
    "a failed result": [user("Read"), assistant([called()]), user([gave("gw-1", "no such file", is_error=True)])],
    "a result with an image": [user("Read"), assistant([called()]), user([gave("gw-1", "see", PIXEL, PAPER, NOTE)])],
    "an unanswered call": [user("Read"), assistant([called()]), user("Never mind")],
    "a result without a call": [user([gave("gw-1", "three lines")])],
    "signed thinking": [
        user("Think"),
        assistant([listed(SIGNED, HIDDEN, value="hm"), TextPart("So")]),
        user("Go on"),
    ],
    "a signed call": [user("Read"), assistant([listed(SIGNED_CALL), called("gw-1")]), user([gave("gw-1", "x")])],
}


def _takes(messages: Sequence[Sequence[ChatMessage]]) -> list[tuple[int, ModelMessages, dict[str, Any]]]:
    """What was written for each version, and what the SDK made of it; conversations without a message are left out."""
    written = [(major, to_model_messages(one, major)) for one in messages for major in MAJORS]
    asked = [(major, one) for major, one in written if one.messages]
    jobs = [{"kind": "prompt", "major": major, "system": one.system, "messages": one.messages} for major, one in asked]
    results = asyncio.run(perform(jobs))
    return [(major, one, result) for (major, one), result in zip(asked, results, strict=True)]


def _parts(messages: list[dict[str, Any]]) -> list[tuple[str, str, Any]]:
    """All that is said: role, kind and content of each part, whichever form it has."""
    parts = []
    for message in messages:
        content = message["content"]
        listed_parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        parts += [(message["role"], *_said(part)) for part in listed_parts]
    # The SDK leaves out texts without a character.
    return [part for part in parts if part[1:] != ("text", "")]


def _as_in_javascript(value: Any) -> Any:
    """Its only number is a double: an integer of more than 53 bits is the one beside it."""
    return float(value) if type(value) is int else value


def _said(part: dict[str, Any]) -> tuple[str, Any]:
    kind = part["type"]
    if kind == "text":
        return kind, part["text"]
    if kind == "reasoning":
        return kind, (part["text"], part.get("providerOptions"))
    if kind == "tool-call":
        arguments = {name: _as_in_javascript(value) for name, value in part["input"].items()}
        return kind, (part["toolCallId"], part["toolName"], arguments, part.get("providerOptions"))
    if kind == "tool-result":
        return kind, (part["toolCallId"], part["toolName"], part["output"])
    assert kind in {"file", "image"}
    data = part.get("image") or part["data"]
    return "file", (part["mediaType"], data[data["type"]] if isinstance(data, dict) else data)


def _check(major: int, written: ModelMessages, result: dict[str, Any]) -> None:
    assert "error" not in result, (major, result, written)
    assert result["warnings"] == []
    prompt = result["prompt"]
    if written.system:
        head, *prompt = prompt
        assert (head["role"], head["content"]) == ("system", written.system)
    assert _parts(prompt) == _parts(written.messages)


@cache
def _taken() -> dict[tuple[str, int], tuple[ModelMessages, dict[str, Any]]]:
    corpus = WRITTEN | {name: request.messages for name, request in copilot_requests().items()}
    taken = iter(_takes(list(corpus.values())))
    return {(name, major): next(taken)[1:] for name in corpus for major in MAJORS}


@pytest.mark.parametrize("major", MAJORS)
@pytest.mark.parametrize("name", [*WRITTEN, *copilot_requests()])
def test_a_conversation_reaches_the_model_whole(name: str, major: int) -> None:
    _check(major, *_taken()[name, major])


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(CONVERSATIONS, min_size=10, max_size=20))
def test_whatever_is_said_reaches_the_model_whole(conversations: list[list[ChatMessage]]) -> None:
    for major, written, result in _takes(conversations):
        _check(major, written, result)


def test_what_the_sdk_does_not_take_would_be_seen() -> None:
    wrong = {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "1", "result": "x"}]}
    jobs = [{"kind": "prompt", "major": major, "system": "", "messages": [wrong]} for major in MAJORS]
    assert all("error" in result for result in asyncio.run(perform(jobs)))
