"""Reads fields of JSON objects as servers send them: what is missing, null or of another type is None or empty."""

from __future__ import annotations

from typing import Any, TypeAlias

__all__ = ["Wire", "identifier", "index", "mapping", "objects", "text"]

Wire: TypeAlias = dict[str, Any]
"""A JSON object as it came. Real servers deviate, so nothing about it is certain."""


def text(source: Any, name: str) -> str:
    """The string in a field of an object; empty if there is none."""
    value = source.get(name) if isinstance(source, dict) else None
    return value if isinstance(value, str) else ""


def identifier(source: Any, name: str) -> str | None:
    """The non-empty string in a field, or None: many servers send `""` for what they do not know."""
    return text(source, name) or None


def index(source: Wire, name: str) -> int | None:
    """The integer in a field, or None."""
    value = source.get(name)
    return value if type(value) is int else None


def mapping(source: Any, name: str) -> Wire:
    """The object in a field; empty if there is none."""
    value = source.get(name) if isinstance(source, dict) else None
    return value if isinstance(value, dict) else {}


def objects(source: Any, name: str) -> list[Wire]:
    """The objects in a list field; empty if there are none."""
    value = source.get(name) if isinstance(source, dict) else None
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
