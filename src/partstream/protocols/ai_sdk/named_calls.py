"""Finds the first open call of a tool by the tool's name, without a look at every call."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["NamedCalls"]


class NamedCalls:
    """The ids of calls by the names of their tools, in order of first appearance.

    Args:
        name_of: The tool of a call; raises KeyError for a call that is over.
    """

    __slots__ = ("_ids", "_name_of")

    def __init__(self, name_of: Callable[[str], str | None]) -> None:
        self._name_of = name_of
        self._ids: dict[str | None, OrderedDict[str, None]] = {}

    def add(self, name: str | None, call_id: str) -> None:
        """Files a call under a name, beside those that it had before."""
        self._ids.setdefault(name, OrderedDict())[call_id] = None

    def first(self, name: str | None) -> str | None:
        """The first open call of a tool, or None. Calls that are over, or have another name now, are forgotten."""
        ids: OrderedDict[str, None] = self._ids.get(name, OrderedDict())
        while ids:
            call_id = next(iter(ids))
            try:
                if self._name_of(call_id) == name:
                    return call_id
            except KeyError:
                pass
            del ids[call_id]
        return None
