"""Shows the beginning of a wrong value in an error, whatever the value is."""

from __future__ import annotations

from typing import Final

__all__ = ["shown"]

_LENGTH: Final = 60
"""Characters."""


def shown(value: object) -> str:
    """The beginning of what Python writes for a value; only the class for one that nests too deeply to be written."""
    try:
        return repr(value)[:_LENGTH]
    except (RecursionError, ValueError):  # ValueError: an integer of more digits than Python writes
        return f"a {type(value).__name__} that cannot be shown"
