"""Finds the directives to the scripted model in the text of a message; knows no scenario and no fault.

The directives are `scenario:NAME[=VALUE]`, `fault:NAME[=VALUE]` (any number of them), `pace:MILLISECONDS` and
`call:NAME{...}` with the arguments as a JSON object.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, NamedTuple

__all__ = [
    "AskedCall",
    "NamedValue",
    "parse_choices",
    "read_calls",
    "read_faults",
    "read_pace",
    "read_scenario",
    "whole_number",
]


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
        except (ValueError, RecursionError):  # no JSON, or more levels of it than anybody sends
            continue
        calls.append(AskedCall(match[1], arguments))
    return tuple(calls)


def parse_choices(text: str) -> tuple[NamedValue, ...]:
    """Reads `NAME[=VALUE]`, or several of them separated by commas, as in a header or an option."""
    parts = (part.strip().partition("=") for part in text.split(",") if part.strip())
    return tuple(_choice(name, value) for name, _, value in parts)


def _choice(name: str, value: str) -> NamedValue:
    return NamedValue(name.replace("-", "_"), value)
