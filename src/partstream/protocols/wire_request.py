"""A request as it stands on the wire, as those who write it, read it and answer it know it."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["WireEvent", "WireRequest"]

WireEvent: TypeAlias = dict[str, Any]
"""One event of a wire as a JSON object."""


@dataclass(frozen=True, slots=True)
class WireRequest:
    """A request as it stands on the wire, without the key.

    Attributes:
        path: The path of the endpoint below the base URL, such as `/responses`.
        body: The JSON object.
        headers: The headers that the protocol itself has, names in lower case.
        query: The query of the URL, without its question mark.
        method: The HTTP method.
        base_path: The path of the base URL at which a server was asked; empty where nobody is asked yet.
    """

    path: str
    body: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    query: str = ""
    method: str = "POST"
    base_path: str = ""
