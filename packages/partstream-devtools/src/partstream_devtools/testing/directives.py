"""Finds the directives to the scripted model in the text of a message, and the parts that scenarios depend on.

The directives are `scenario:NAME[=VALUE]`, `fault:NAME[=VALUE]` (any number of them), `pace:MILLISECONDS` and
`call:NAME{...}` with the arguments as a JSON object. No scenario and no fault is known here. The last user text, the
results of tools and the images are read part by part, because wires group parts differently: the result of a tool can
be a message of its own, or precede the text in the user's next message.
"""

from __future__ import annotations
import json
import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

from partstream.codec.checks import dataclass
from partstream.conversation.media import is_address
from partstream.lm.messages import ChatMessage, Role
from partstream.lm.parts import DataPart, MessagePart, TextPart, ToolCallPart, ToolResultPart

# ---- Directives ----


class NamedValue(NamedTuple):
    """A name in a table, with its value; without a value, the value is empty."""

    name: str
    value: str = ""

    def __str__(self) -> str:
        """The form in messages and headers."""
        return f"{self.name}={self.value}" if self.value else self.name


class AskedCall(NamedTuple):
    """A tool call that a message requests."""

    name: str
    arguments: dict[str, Any]


_NAME_AND_VALUE: Final = r"([A-Za-z][\w-]*)(?:=([\w.:-]*\w))?"
_SCENARIO: Final = re.compile(rf"\bscenario:{_NAME_AND_VALUE}")
_FAULT: Final = re.compile(rf"\bfault:{_NAME_AND_VALUE}")
_PACE: Final = re.compile(r"\bpace:(\d{1,6})\b")
_CALL: Final = re.compile(r"\bcall:([A-Za-z_][\w-]*)(?=\{)")


def whole_number(text: str, most: int) -> int | None:
    """The number from 0 to `most` that a text is in decimal digits, or None."""
    if not (text.isascii() and text.isdecimal()) or len(text) > len(str(most)):
        return None
    number = int(text)
    return number if number <= most else None


def read_scenario(text: str) -> NamedValue | None:
    """The last scenario in `text`, or None."""
    found = _SCENARIO.findall(text)
    return _choice(*found[-1]) if found else None


def read_faults(text: str) -> tuple[NamedValue, ...]:
    """The faults in `text`, in order."""
    return tuple(_choice(*match) for match in _FAULT.findall(text))


def read_pace(text: str) -> float | None:
    """The last pace in `text`, in seconds between two pieces of the answer, or None."""
    found = _PACE.findall(text)
    return int(found[-1]) / 1000 if found else None


def read_calls(text: str) -> tuple[AskedCall, ...]:
    """The tool calls in `text`, in order; a name without a JSON object after it is not a call."""
    calls = []
    for match in _CALL.finditer(text):
        try:
            arguments, _ = json.JSONDecoder().raw_decode(text, match.end())
        except (ValueError, RecursionError):  # no JSON, or too many levels of it
            continue
        calls.append(AskedCall(match[1], arguments))
    return tuple(calls)


def parse_choices(text: str) -> tuple[NamedValue, ...]:
    """Reads `NAME[=VALUE]`, or several of them separated by commas, as in a header or an option."""
    parts = (part.strip().partition("=") for part in text.split(",") if part.strip())
    return tuple(_choice(name, value) for name, _, value in parts)


def _choice(name: str, value: str) -> NamedValue:
    return NamedValue(name.replace("-", "_"), value)


# ---- The parts of a conversation ----


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The text of a tool result, and the name of the tool, or None if the conversation does not contain the call."""

    call_id: str
    name: str | None
    text: str


class _Placed(NamedTuple):
    """A part, with the number and the role of its message."""

    message: int
    role: Role
    part: MessagePart


def user_text(messages: Sequence[ChatMessage]) -> str:
    """The text of the last consecutive user messages that have text, one line per message; empty if there are none."""
    placed = _placed(messages)
    end = _after_user_text(placed)
    start = end
    while start and _is_said_by_user(placed[start - 1]):
        start -= 1
    run = groupby(placed[start:end], lambda one: one.message)
    return "\n".join(filter(None, (_text(one.part for one in parts) for _, parts in run)))


def tool_outputs(messages: Sequence[ChatMessage]) -> tuple[ToolOutput, ...]:
    """The results of tools after the last user text, in order."""
    placed = _placed(messages)
    names = {one.part.call_id: one.part.name for one in placed if isinstance(one.part, ToolCallPart)}
    return tuple(
        ToolOutput(one.part.call_id, names.get(one.part.call_id), _text(one.part.content))
        for one in placed[_after_user_text(placed) :]
        if isinstance(one.part, ToolResultPart)
    )


def rounds_of_calls(messages: Sequence[ChatMessage]) -> int:
    """The number of answers with calls after the last user text."""
    placed = _placed(messages)
    calling = {one.message for one in placed[_after_user_text(placed) :] if isinstance(one.part, ToolCallPart)}
    return len(calling)


def new_images(messages: Sequence[ChatMessage]) -> tuple[str, ...]:
    """Each image after the last answer of the model, also in results of tools: media type and size, or its address."""
    placed = _placed(messages)
    start = 1 + max((place for place, one in enumerate(placed) if one.role is Role.ASSISTANT), default=-1)
    return tuple(
        image.data.decode(errors="replace") if is_address(image) else f"{image.mime_type}, {len(image.data)} bytes"
        for one in placed[start:]
        for image in images_in(one.part)
    )


def images_in(part: MessagePart) -> tuple[DataPart, ...]:
    """The images in a part, including images that are given by their address."""
    content = part.content if isinstance(part, ToolResultPart) else (part,)
    return tuple(
        one for one in content if isinstance(one, DataPart) and (one.mime_type.startswith("image") or is_address(one))
    )


def _placed(messages: Iterable[ChatMessage]) -> list[_Placed]:
    return [_Placed(number, message.role, part) for number, message in enumerate(messages) for part in message.content]


def _after_user_text(placed: Sequence[_Placed]) -> int:
    """The index after the last user text and the other parts of its message; 0 if there is no user text."""
    end = len(placed)
    while end and not _is_user_text(placed[end - 1]):
        end -= 1
    while 0 < end < len(placed) and _is_said_by_user(placed[end]) and placed[end].message == placed[end - 1].message:
        end += 1
    return end


def _is_said_by_user(one: _Placed) -> bool:
    return one.role is Role.USER and not isinstance(one.part, ToolResultPart)


def _is_user_text(one: _Placed) -> bool:
    return one.role is Role.USER and isinstance(one.part, TextPart) and bool(one.part.value)


def _text(parts: Iterable[object]) -> str:
    return "".join(part.value for part in parts if isinstance(part, TextPart))
