"""Checks what a policy gives back, field by field, and makes plain values of it; pure.

Nothing of the policy's own classes gets through: an object that is one value while it is checked and another one when
it is used would do more than it may.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from partstream.codec.json_codec import dumps, loads
from partstream.errors import UnexpectedValueError
from partstream.hub.policy.values import Changed, Refusal
from partstream.messages import ChatMessage, Role
from partstream.part_json import part_json, part_of_json

__all__ = ["CheckedResult", "checked_result"]

_MOST_CHARACTERS: Final = 1000
_MOST_NAME: Final = 200
_MOST_MESSAGES: Final = 10_000
_MOST_PARTS: Final = 10_000
_MOST_TOKENS: Final = 10**9


class CheckedResult(NamedTuple):
    """What a policy has decided.

    Attributes:
        refusal: What the client is told, or None for a request that goes on.
        messages: The conversation in place of the one that came, or None.
        model: The model that is to answer, or None.
        max_output_tokens: The longest answer, or None.
    """

    refusal: str | None = None
    messages: tuple[ChatMessage, ...] | None = None
    model: str | None = None
    max_output_tokens: int | None = None


def checked_result(result: object, most_bytes: int) -> CheckedResult:
    """What a policy has decided.

    Args:
        result: What it gave back.
        most_bytes: The most bytes of a conversation.

    Raises:
        UnexpectedValueError: It is no result; nothing of its content is in the error.
    """
    if result is None:
        return CheckedResult()
    if type(result) is Refusal:
        return CheckedResult(refusal=_text("Refusal.message", result.message, _MOST_CHARACTERS))
    if type(result) is not Changed:
        raise _unexpected("the result", result, "None, a Refusal or a Changed")
    messages, model, tokens = result.messages, result.model, result.max_output_tokens
    if tokens is not None and (type(tokens) is not int or not 0 < tokens <= _MOST_TOKENS):
        raise _unexpected("Changed.max_output_tokens", tokens, f"a whole number from 1 to {_MOST_TOKENS:,}")
    return CheckedResult(
        None,
        None if messages is None else _messages(messages, most_bytes),
        None if model is None else _text("Changed.model", model, _MOST_NAME),
        tokens,
    )


def _text(where: str, value: object, most: int) -> str:
    if type(value) is not str or not value or len(value) > most or not value.isprintable():
        raise _unexpected(where, value, f"a text of one line with 1 to {most:,} characters")
    return value


def _messages(messages: object, most_bytes: int) -> tuple[ChatMessage, ...]:
    expected = f"a list or a tuple of 1 to {_MOST_MESSAGES:,} ChatMessage"
    if type(messages) not in {list, tuple}:
        raise _unexpected("Changed.messages", messages, expected)
    kept: list[Any] = list(messages)  # type: ignore[call-overload] # a list or a tuple
    if not 0 < len(kept) <= _MOST_MESSAGES:
        raise _unexpected("Changed.messages", kept, expected)
    left, made = most_bytes, []
    for place, message in enumerate(kept):
        where = f"Changed.messages[{place}]"
        if type(message) is not ChatMessage:
            raise _unexpected(where, message, "a ChatMessage")
        data = _data(where, message)
        left -= len(data)
        if left < 0:
            raise UnexpectedValueError("Changed.messages", "more", f"at most {most_bytes:,} bytes")
        made.append(_made(where, data))
    return tuple(made)


def _data(where: str, message: ChatMessage) -> bytes:
    """A message as JSON, which nothing else can be in."""
    role, name, content = message.role, message.name, message.content
    if type(role) is not Role or (name is not None and type(name) is not str):
        raise _unexpected(where, message, "a role of Role, and a text or None as name")
    if type(content) is not tuple or len(content) > _MOST_PARTS:
        raise _unexpected(f"{where}.content", content, f"at most {_MOST_PARTS:,} parts")
    try:
        return bytes(dumps([int(role), name, [part_json(part) for part in content]]))
    except (TypeError, ValueError, RecursionError, OverflowError):
        raise _unexpected(f"{where}.content", content, "parts that hold JSON values") from None


def _made(where: str, data: bytes) -> ChatMessage:
    role, name, parts = loads(data)
    try:
        return ChatMessage(Role(role), [part_of_json(part) for part in parts], name)
    except (UnexpectedValueError, TypeError, ValueError):
        raise UnexpectedValueError(f"{where}.content", "something else", "parts") from None


def _unexpected(where: str, value: object, expected: str) -> UnexpectedValueError:
    """The error for a value, of which only the class is named: the value itself may hold a prompt."""
    return UnexpectedValueError(where, type(value).__name__, expected)
