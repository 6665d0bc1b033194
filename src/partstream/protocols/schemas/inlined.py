"""Puts definitions where they are referred to: for servers that know no `$ref`, such as Qwen and Gemini.

Sources: docs/wires/chat-completions.md#tools-and-schemas and docs/wires/gemini.md#tools-and-schemas.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from partstream.protocols.schemas.walking import Schema, with_inner_schemas

__all__ = ["inlined"]

_DEFINITIONS: Final = frozenset({"$defs", "definitions"})
_MOST_INLINED: Final = 500
"""The most references that are followed: definitions that double each other grow without end."""


def inlined(schema: Mapping[str, Any]) -> Schema:
    """The schema without `$defs` and local `$ref`.

    A definition that refers to itself ends in an object of any kind, because no finite schema says the same; so does a
    reference to what is not there.
    """
    return _Inlining(schema).resolved(schema, ())


class _Inlining:
    """The references of one schema."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._followed = 0

    def resolved(self, schema: Mapping[str, Any], within: tuple[str, ...]) -> Schema:
        """The schema with its references resolved, but for those to definitions that it stands within."""
        reference = schema.get("$ref")
        beside = {name: value for name, value in schema.items() if name != "$ref" and name not in _DEFINITIONS}
        inner = with_inner_schemas(beside, partial(self.resolved, within=within))
        if not isinstance(reference, str):
            return inner
        meant = None if reference in within or self._followed >= _MOST_INLINED else self._target(reference)
        if meant is None:
            return {"type": "object"} | inner
        self._followed += 1
        return self.resolved(meant, (*within, reference)) | inner

    def _target(self, reference: str) -> Mapping[str, Any] | None:
        """What a JSON pointer within the schema points to (RFC 6901), or None."""
        if not reference.startswith("#"):
            return None
        target: Any = self._root
        for step in reference[1:].split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(target, Mapping) or name not in target:
                return None
            target = target[name]
        return target if isinstance(target, Mapping) else None
