"""Reads types of a package where it is installed: standard input says which, standard output what they are, as JSON.

Knows no package: it looks into unions, enumerations, TypedDicts and pydantic models.
"""

from __future__ import annotations
import json
import sys
from enum import Enum
from importlib import import_module
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

Fields = dict[str, list[str]]


def members_of(kind: Any) -> list[Any]:
    """The types that a type is a choice of, without None."""
    kind = getattr(kind, "__value__", kind)
    if get_origin(kind) is Annotated:
        return members_of(get_args(kind)[0])
    if get_origin(kind) in {Union, UnionType}:
        return [member for choice in get_args(kind) for member in members_of(choice)]
    return [] if kind is NoneType else [kind]


def words_of(kind: Any) -> list[str]:
    """The words that a value of a type may be, if it may only be some."""
    words: list[str] = []
    for member in members_of(kind):
        if get_origin(member) is Literal:
            words += map(str, get_args(member))
        elif isinstance(member, type) and issubclass(member, Enum):
            words += (str(one.value) for one in member)
    return sorted(set(words))


def hints_of(owner: Any) -> dict[str, Any]:
    """The fields of an object as they are on the wire, each with its type; none for what is no object."""
    models = getattr(owner, "model_fields", None)
    if models is not None:
        return {field.alias or name: field.annotation for name, field in models.items()}
    # Of a TypedDict of `typing_extensions`, `is_typeddict` knows nothing.
    return get_type_hints(owner) if hasattr(owner, "__required_keys__") else {}


def found(address: str) -> Any:
    """The type at `module:Name`, or of a field of it at `module:Name.field`; a list is what it holds."""
    module, _, path = address.partition(":")
    name, *fields = path.split(".")
    kind = getattr(import_module(module), name)
    for field in fields:
        kind = hints_of(kind)[field]
        while get_origin(members_of(kind)[0]) is list:
            kind = get_args(members_of(kind)[0])[0]
    return kind


def described(asked: dict[str, str]) -> dict[str, Fields]:
    """The members of a type by their label, each with its fields and the words that a field may be.

    What is asked has `of`, the address, and `by`: the field whose word is the label. Without it the label of an object
    is its fields' own, and the words of an enumeration are labels without fields.
    """
    kind, by = found(asked["of"]), asked["by"]
    if not by:
        fields = {name: words_of(hint) for member in members_of(kind) for name, hint in hints_of(member).items()}
        objects: dict[str, Fields] = {name: {"": words} if words else {} for name, words in fields.items()}
        return objects or {word: {} for word in words_of(kind)}
    labelled: dict[str, Fields] = {}
    for member in members_of(kind):
        hints = hints_of(member)
        labels = words_of(hints[by]) if by in hints else []
        for label in labels or [getattr(member, "__name__", str(member))]:
            fields = labelled.setdefault(label, {})
            for name, hint in hints.items():
                if name != by:
                    fields[name] = sorted({*fields.get(name, []), *words_of(hint)})
    return labelled


json.dump([described(asked) for asked in json.load(sys.stdin)], sys.stdout, sort_keys=True)
