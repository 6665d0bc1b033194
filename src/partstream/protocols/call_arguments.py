"""Reads the arguments of a tool call, in whichever form they come."""

from __future__ import annotations

from typing import Any

from partstream.codec.json_codec import JSONDecodeError, is_json, loads, nests_too_deeply

__all__ = ["read_arguments"]


def read_arguments(arguments: object) -> dict[str, Any] | None:
    """The JSON object that arguments are, or None where they are none.

    Args:
        arguments: An object, or the JSON text of one; an empty text stands for an empty object.
    """
    value = arguments
    if isinstance(arguments, str):
        try:
            value = None if nests_too_deeply(arguments) else loads(arguments) if arguments.strip() else {}
        except JSONDecodeError:
            return None
    return value if isinstance(value, dict) and is_json(value) else None
