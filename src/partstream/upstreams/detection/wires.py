"""The protocols among which is chosen, as values that the decision needs of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.protocol import PROTOCOLS, asked_protocols
from partstream.protocols.serve import path_for_model

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.protocols.errors import Errors
    from partstream.protocols.protocol import ServerProtocol

__all__ = ["CandidateProtocol", "known_wires", "probed_elsewhere", "probed_wires"]

_MOST_PROBED: Final = 3
"""With the list of models, four requests below each base URL."""
_MOST_ELSEWHERE: Final = 2
_NO_MODEL: Final = "partstream"
"""What stands in a path that names the model: no server has it, and none is asked to answer."""


@dataclass(frozen=True, slots=True)
class CandidateProtocol:
    """A protocol that a server may be asked in.

    Attributes:
        name: The protocol's name.
        title: What people call it.
        path: The path of its endpoint below a base URL, with `{model}` where it names the model.
        empty_request: The body that shows at no cost whether the endpoint is there; None for no such body.
        rows: What is known of it at known servers.
        errors: How its servers say what went wrong.
        own_base_path: Where below a host its servers stand; empty for one that stands beside the others.
    """

    name: str
    title: str
    path: str
    empty_request: Mapping[str, Any] | None
    rows: tuple[ServerProtocol, ...]
    errors: Errors
    own_base_path: str = ""

    @property
    def probed_path(self) -> str:
        """The path that is asked with an empty request."""
        return path_for_model(self.path, _NO_MODEL)

    def row_at(self, server: str) -> ServerProtocol | None:
        """What is known of it at a server, by the server's name."""
        return next((row for row in self.rows if row.server == server), None)


def known_wires() -> tuple[CandidateProtocol, ...]:
    """All protocols in which a server can be asked, the better one first."""
    return tuple(_wire(name) for name in asked_protocols())


def probed_wires(wires: Sequence[CandidateProtocol]) -> tuple[CandidateProtocol, ...]:
    """The protocols whose endpoints are asked for where the address alone does not tell."""
    return tuple(one for one in wires if one.empty_request is not None and not one.own_base_path)[:_MOST_PROBED]


def probed_elsewhere(wires: Sequence[CandidateProtocol]) -> tuple[CandidateProtocol, ...]:
    """Those of them that stand below a base path of their own."""
    return tuple(one for one in wires if one.empty_request is not None and one.own_base_path)[:_MOST_ELSEWHERE]


def _wire(name: str) -> CandidateProtocol:
    protocol = PROTOCOLS[name]
    assert protocol.write_request is not None  # noqa: S101 - for the type checker: it is one that is asked
    corner = protocol.write_request()
    rows = () if protocol.spoken_at is None else protocol.spoken_at()
    return CandidateProtocol(
        name, protocol.shown_title, corner.path, corner.empty_request, rows, corner.errors, corner.own_base_path
    )
