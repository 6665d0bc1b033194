"""Conversations for tests of what is written for the AI SDK, and the parts that they become."""

from base64 import b64encode
from typing import Any

from hypothesis import strategies as st

from conversation.samples import ORIGIN
from conversation.strategies import WORDS, conversations
from partstream import ChatMessage, DataPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart

SIGNED = {"type": "reasoning", "text": "hm", "providerOptions": {"anthropic": {"signature": "s"}}}
HIDDEN = {"type": "reasoning", "text": "", "providerOptions": {"anthropic": {"redactedData": "r"}}}
SIGNED_CALL = {"type": "tool-call", "toolCallId": "1", "providerOptions": {"google": {"thoughtSignature": "t"}}}


def listed(*items: dict[str, Any], value: str = "", origin: str = ORIGIN.key) -> ThinkingPart:
    """Thinking that brings these items back."""
    return ThinkingPart(value, None, {"reasoning_items": list(items), "origin": origin})


THINKING = st.sampled_from(
    [
        ThinkingPart("hm"),
        ThinkingPart("", None, {"signature": "s"}),
        listed(SIGNED, value="hm"),
        listed({**SIGNED, "after": [0, True]}, {**HIDDEN, "after": [1, False]}),
        listed({**SIGNED_CALL, "after": [0, False]}),
        ThinkingPart("h", "r1"),
    ]
) | st.builds(ThinkingPart, WORDS, st.none() | WORDS)
CONVERSATIONS = conversations(THINKING)


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def base64(data: bytes) -> str:
    return b64encode(data).decode()


def call(call_id: str = "1", name: str = "f", **more: Any) -> dict[str, Any]:
    return {"type": "tool-call", "toolCallId": call_id, "toolName": name, "input": {}, **more}


def result(output: Any, call_id: str = "1", name: str = "f") -> dict[str, Any]:
    return {"type": "tool-result", "toolCallId": call_id, "toolName": name, "output": output}


def message(role: str, *parts: dict[str, Any] | str) -> dict[str, Any]:
    return {"role": role, "content": [text(part) if isinstance(part, str) else part for part in parts]}


def check_calls(messages: list[dict[str, Any]]) -> None:
    """Every call has one result right behind its message, and every result its call: what providers demand."""
    owed: list[str] = []
    for said in messages:
        kinds = [part["type"] for part in said["content"]] if isinstance(said["content"], list) else []
        ids = [part["toolCallId"] for part in said["content"] if "toolCallId" in part] if kinds else []
        if said["role"] == "tool":
            assert sorted(ids) == sorted(owed)
            assert set(kinds) == {"tool-result"}
            owed = []
        else:
            assert not owed
            assert "tool-result" not in kinds
            owed = ids
    assert not owed


def strings(value: Any) -> list[str]:
    """Every string in a JSON value."""
    if isinstance(value, str):
        return [value]
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [found for child in children for found in strings(child)]


def contents(messages: list[ChatMessage]) -> list[TextPart | DataPart | ToolCallPart | ThinkingPart]:
    """All that is said, the contents of results included."""
    parts = [part for said in messages for part in said.content]
    return [inner for part in parts for inner in (part.content if isinstance(part, ToolResultPart) else (part,))]
