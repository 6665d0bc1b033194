"""Paths that name the model, or a thing that a server keeps: one pattern writes them and finds the name in them again.

A pattern is a path below the base URL that holds :data:`MODEL` once, such as `/models/{model}:streamGenerateContent`,
or :data:`ID` once, such as `/responses/{id}`, or neither.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import quote, unquote

__all__ = [
    "ID", "MODEL", "fits_path", "id_in_path", "literal_size", "model_in_path", "names_something", "path_for_model",
]  # fmt: skip

MODEL: Final = "{model}"
"""What stands in a pattern for the model."""

ID: Final = "{id}"
"""What stands in a pattern for the id of a thing, which is one segment of the path."""


def path_for_model(pattern: str, model_id: str) -> str:
    """The path of a pattern for one model, which is percent-encoded as one segment (RFC 3986 section 2.1)."""
    return pattern.replace(MODEL, quote(model_id, safe=""))


def model_in_path(pattern: str, path: str) -> str | None:
    """The model that a path names: empty for a pattern without a model, None for a path that does not fit the pattern.

    Slashes of a model may stand in the path as they are: some clients do not encode them.
    """
    before, place, behind = pattern.partition(MODEL)
    if not place:
        return "" if path == pattern else None
    named = _between(path, before, behind)
    return None if named is None else unquote(named)


def id_in_path(pattern: str, path: str) -> str | None:
    """The id that a path names; None for a path that does not fit the pattern, and for a pattern without an id."""
    before, place, behind = pattern.partition(ID)
    named = _between(path, before, behind) if place else None
    return None if named is None or "/" in named else unquote(named)


def _between(path: str, before: str, behind: str) -> str | None:
    fits = path.startswith(before) and path.endswith(behind) and len(path) > len(before) + len(behind)
    return path[len(before) : len(path) - len(behind)] if fits else None


def fits_path(pattern: str, path: str) -> bool:
    """Tells whether a path fits a pattern."""
    return (id_in_path if ID in pattern else model_in_path)(pattern, path) is not None


def names_something(pattern: str) -> bool:
    """Tells whether the paths of a pattern name a model or an answer; else it is a path itself."""
    return MODEL in pattern or ID in pattern


def literal_size(pattern: str) -> int:
    """The number of characters of a pattern that stand for themselves: of two that fit, the larger one says more."""
    return len(pattern.replace(MODEL, "").replace(ID, ""))
