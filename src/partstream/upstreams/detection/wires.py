"""The protocols among which is chosen, as values that the decision needs of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from partstream.protocols.registry import PROTOCOLS, asked_protocols

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.protocols.errors import Errors
    from partstream.protocols.protocol import SpokenAt

__all__ = ["Wire", "known_wires", "probed_wires"]

_MOST_PROBED = 2
"""With the list of models, three requests."""


@dataclass(frozen=True, slots=True)
class Wire:
    """A protocol that a server may be asked in.

    Attributes:
        name: The protocol's name.
        title: What people call it.
        path: The path of its endpoint below a base URL.
        empty_request: The body that shows at no cost whether the endpoint is there; None for no such body.
        rows: What is known of it at known servers.
        errors: How its servers say what went wrong.
    """

    name: str
    title: str
    path: str
    empty_request: Mapping[str, Any] | None
    rows: tuple[SpokenAt, ...]
    errors: Errors

    def row_at(self, server: str) -> SpokenAt | None:
        """What is known of it at a server, by the server's name."""
        return next((row for row in self.rows if row.server == server), None)


def known_wires() -> tuple[Wire, ...]:
    """All protocols in which a server can be asked, the better one first."""
    return tuple(_wire(name) for name in asked_protocols())


def probed_wires(wires: Sequence[Wire]) -> tuple[Wire, ...]:
    """The protocols whose endpoints are asked for where the address alone does not tell."""
    return tuple(wire for wire in wires if wire.empty_request is not None)[:_MOST_PROBED]


def _wire(name: str) -> Wire:
    protocol = PROTOCOLS[name]
    assert protocol.write_request is not None  # noqa: S101 - for the type checker: it is one that is asked
    corner = protocol.write_request()
    rows = () if protocol.spoken_at is None else protocol.spoken_at()
    return Wire(name, protocol.shown_title, corner.path, corner.empty_request, rows, corner.errors)
