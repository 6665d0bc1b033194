"""Writes plain values as YAML, for files that people read and keep."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["yaml_text"]

_PLAIN: Final = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*")
"""Texts that need no quotes: with a letter or a slash first, they are no numbers."""
_WORDS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
"""What some readers take for something else than text."""


def yaml_text(value: Mapping[str, Any] | Sequence[Any]) -> str:
    """Mappings and lists, a line for each entry, and texts in quotes where they need them.

    Args:
        value: Mappings, lists, texts, numbers, booleans and None.
    """
    return "".join(f"{line}\n" for line in _lines(value))


def _lines(value: Any) -> Iterator[str]:
    entries = value.items() if isinstance(value, Mapping) else ((None, one) for one in value)
    for name, one in entries:
        head = "-" if name is None else f"{_scalar(name)}:"
        if not one or not isinstance(one, Mapping | list | tuple):
            yield f"{head} {_scalar(one)}"
        elif name is None:
            first, *rest = _lines(one)
            yield f"- {first}"
            yield from (f"  {line}" for line in rest)
        else:
            yield head
            yield from (f"  {line}" for line in _lines(one))


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    if isinstance(value, float):
        return format(Decimal(repr(value)), "f")  # readers of YAML 1.1 take `1e-05` for a text
    written = json.dumps(value, ensure_ascii=False)
    return "".join(one if one.isprintable() else f"\\U{ord(one):08x}" for one in written)
