"""Reads all types that some types of a package hold, where it is installed: standard input says which, standard output
what they are, as JSON.

Knows no package: it looks into unions, enumerations, TypedDicts and pydantic models. A type is a JSON value:

- a text is `string`, `integer`, `number`, `boolean`, `bytes` (base64 as text) or `anything`;
- `{"words": [...]}` is one of some values; `{"list": T}` a list of a type; `{"map": T}` an object whose fields have any
  name; `{"one": [T, ...]}` a choice; `{"is": "Name"}` an object of the table `types`.

The table has for each name the fields as they are on the wire, each with its type; `required` lists those without which
an object is none.
"""

from __future__ import annotations
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from enum import Enum
from importlib import import_module
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", bytes: "bytes", datetime: "string"}
MARKS = {"Required": True, "NotRequired": False}


class Types:
    """The types that have been met, by their names."""

    def __init__(self) -> None:
        self.met: dict[str, dict[str, Any]] = {}
        self._names: dict[Any, str] = {}

    def of(self, kind: Any) -> Any:
        """The JSON value of a type."""
        kind = getattr(kind, "__value__", kind)
        while getattr(get_origin(kind), "__name__", "") in {"Annotated", *MARKS}:
            kind = get_args(kind)[0]
        origin = get_origin(kind)
        said: Any = PLAIN.get(kind, "anything")
        if origin is Literal:
            said = {"words": [*get_args(kind)]}
        elif origin in {Union, UnionType}:
            said = self._choice(kind)
        elif isinstance(kind, type) and issubclass(kind, Enum):
            said = {"words": [one.value for one in kind]}
        elif hasattr(kind, "model_fields") or hasattr(kind, "__required_keys__"):
            said = {"is": self._object(origin or kind)}
        elif isinstance(origin, type) and issubclass(origin, Mapping):
            said = {"map": self.of(get_args(kind)[1])}
        elif isinstance(origin, type) and (issubclass(origin, Iterable) or origin.__name__ == "SequenceNotStr"):
            said = {"list": self.of(get_args(kind)[0])}
        return said

    def _choice(self, kind: Any) -> Any:
        found: list[Any] = []
        for member in get_args(kind):
            if member is NoneType or get_origin(member) is Callable or isinstance(member, TypeVar):
                continue
            said = self.of(member)
            several = said["one"] if isinstance(said, dict) and "one" in said else [said]
            found += [one for one in several if one not in found]
        if "string" in found:  # an open list of words is a text
            found = [one for one in found if not (isinstance(one, dict) and "words" in one)]
        return found[0] if len(found) == 1 else {"one": found}

    def _object(self, kind: Any) -> str:
        name = self._names.get(kind)
        if name is not None:
            return name
        parts = [*kind.__module__.split("."), kind.__name__]
        names = (".".join(parts[-size:]) for size in range(1, len(parts) + 1))
        name = self._names[kind] = next(one for one in names if one not in self.met)
        entry = self.met[name] = {}
        models = getattr(kind, "model_fields", None)
        if models is not None:
            hints = {field.alias or one: field.annotation for one, field in models.items()}
            required = [field.alias or one for one, field in models.items() if field.is_required()]
        else:
            given = get_type_hints(kind, include_extras=True)
            hints = {alias_of(hint) or one: hint for one, hint in given.items()}
            required = [alias_of(hint) or one for one, hint in given.items() if is_required(one, hint, kind)]
        entry["required"] = sorted(required)
        entry["fields"] = {one: self.of(hint) for one, hint in hints.items()}
        return name


def alias_of(hint: Any) -> str | None:
    """The name of a field on the wire, where a note beside its type says it."""
    while getattr(get_origin(hint), "__name__", "") in MARKS:
        hint = get_args(hint)[0]
    notes = hint.__metadata__ if get_origin(hint) is Annotated else ()
    return next((note.alias for note in notes if getattr(note, "alias", None)), None)


def is_required(name: str, hint: Any, owner: Any) -> bool:
    """Whether an object needs a field; `__required_keys__` knows nothing of annotations that are texts."""
    return MARKS.get(getattr(get_origin(hint), "__name__", ""), name in owner.__required_keys__)


def found(address: str) -> Any:
    """The type at `module:Name`."""
    module, _, name = address.partition(":")
    return getattr(import_module(module), name)


types = Types()
roots = {name: types.of(found(address)) for name, address in json.load(sys.stdin).items()}
json.dump({"roots": roots, "types": types.met}, sys.stdout)
