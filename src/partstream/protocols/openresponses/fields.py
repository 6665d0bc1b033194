"""Reads fields of wire events: a missing field is None, and a field of the wrong type is an error of the upstream."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from partstream.errors import UpstreamProtocolError
from partstream.protocols.read_response import shown

__all__ = ["ENCRYPTED_REASONING", "Wire", "identifier", "index", "mapping", "sequence", "text"]

ENCRYPTED_REASONING: Final = "reasoning.encrypted_content"
"""What a request puts into `include` to get the state of reasoning."""

Wire: TypeAlias = dict[str, Any]
"""A JSON object as it came. Real servers deviate, so nothing about it is certain."""


def text(event: Wire, name: str) -> str:
    """The string in a field; empty if it is null or missing.

    Raises:
        UpstreamProtocolError: The field holds something else.
    """
    value = event.get(name)
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    raise _wrong_type(event, name, value, "a string")


def mapping(event: Wire, name: str) -> Wire:
    """The object in a field; empty if it is null or missing.

    Raises:
        UpstreamProtocolError: The field holds something else.
    """
    value = event.get(name)
    if value is None:
        return {}
    if isinstance(value, dict):
        return value
    raise _wrong_type(event, name, value, "an object")


def sequence(event: Wire, name: str) -> list[Wire]:
    """The objects in a list field; empty if it is null or missing (Ollama sends `output: null`).

    Raises:
        UpstreamProtocolError: The field holds something else, or the list holds something other than objects.
    """
    value = event.get(name)
    if value is None:
        return []
    if isinstance(value, list) and all(isinstance(element, dict) for element in value):
        return value
    raise _wrong_type(event, name, value, "a list of objects")


def index(event: Wire, name: str) -> int | None:
    """The integer in a field, or None. Some servers leave indices out; an index of the wrong type counts as missing."""
    value = event.get(name)
    return value if type(value) is int else None


def identifier(event: Wire, name: str) -> str | None:
    """The non-empty string in a field, or None."""
    value = event.get(name)
    return value if isinstance(value, str) and value else None


def _wrong_type(event: Wire, name: str, value: object, expected: str) -> UpstreamProtocolError:
    return UpstreamProtocolError(
        event_type=identifier(event, "type"),
        field=name,
        got=f"{type(value).__name__} {shown(value)}",
        expected=expected,
    )
