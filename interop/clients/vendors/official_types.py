"""Holds a JSON value against the types of an official package, as a server with strict models does.

The types are those of `interop/freshness/fields`. A value has to be of its type, a field has to be known, and a needed
one has to be there; of a choice, the member counts whose words (such as `type` and `role`) the value has. `null` passes
for a field that may be left out, because the kept types do not say which of them may be null.
"""

from __future__ import annotations
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

__all__ = ["Mismatch", "Wrong", "mismatches"]


class Wrong(Enum):
    """What is wrong with a value."""

    UNKNOWN = "unknown field"
    MISSING = "missing field"
    TYPE = "wrong type"
    WORD = "unknown word"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A place of a value that is not as its type says.

    Attributes:
        path: The names of fields and the numbers of entries that lead there.
        wrong: What is wrong.
        got: The value; None for a field that is missing.
        expected: The type, or the words.
    """

    path: tuple[str | int, ...]
    wrong: Wrong
    got: Any
    expected: str


_PLAIN: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "bytes": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}


def mismatches(value: Any, kind: Any, types: Mapping[str, Any], path: tuple[str | int, ...] = ()) -> Iterator[Mismatch]:
    """What is not as a type says; nothing for a value of the type.

    Args:
        value: The value.
        kind: The type, in the form that `interop/freshness/workers/python_fields.py` explains.
        types: The objects, by their names.
        path: Where the value is.
    """
    match kind:
        case "anything":
            pass
        case str():
            if not isinstance(value, _PLAIN[kind]) or (isinstance(value, bool) and kind != "boolean"):
                yield Mismatch(path, Wrong.TYPE, value, kind)
        case {"words": words}:
            if value not in words:
                yield Mismatch(path, Wrong.WORD, value, ", ".join(map(repr, words)))
        case {"one": several}:
            yield from _nearest(value, several, types, path)
        case _:
            yield from _within(value, kind, types, path)


def _within(
    value: Any, kind: Mapping[str, Any], types: Mapping[str, Any], path: tuple[str | int, ...]
) -> Iterator[Mismatch]:
    """What is wrong in a list or an object."""
    if "list" in kind and isinstance(value, list):
        for number, one in enumerate(value):
            yield from mismatches(one, kind["list"], types, (*path, number))
    elif "is" in kind and isinstance(value, dict):
        yield from _of_object(value, types[kind["is"]], types, path)
    elif "map" in kind and isinstance(value, dict):
        for name, one in value.items():
            yield from mismatches(one, kind["map"], types, (*path, name))
    else:
        yield Mismatch(path, Wrong.TYPE, value, "list" if "list" in kind else "object")


def _of_object(
    value: Mapping[str, Any], entry: Mapping[str, Any], types: Mapping[str, Any], path: tuple[str | int, ...]
) -> Iterator[Mismatch]:
    for name in entry["required"]:
        if name not in value:
            yield Mismatch((*path, name), Wrong.MISSING, None, "a value")
    for name, one in value.items():
        if name not in entry["fields"]:
            yield Mismatch((*path, name), Wrong.UNKNOWN, one, "")
        elif one is not None or name in entry["required"]:
            yield from mismatches(one, entry["fields"][name], types, (*path, name))


def _nearest(
    value: Any, several: list[Any], types: Mapping[str, Any], path: tuple[str | int, ...]
) -> Iterator[Mismatch]:
    """What is wrong by the member of a choice that fits best: the words count more than all other fields."""
    best: tuple[int, list[Mismatch]] | None = None
    for member in several:
        found = list(mismatches(value, member, types, path))
        if not found:
            return
        words = [one for one in found if one.wrong is Wrong.WORD and len(one.path) == len(path) + 1]
        is_kind = any(one.wrong is Wrong.TYPE and one.path == path for one in found)
        weight = len(found) + 1_000 * len(words) + 1_000_000 * is_kind
        if best is None or weight < best[0]:
            best = weight, words or found
    if best is not None:
        yield from best[1]
