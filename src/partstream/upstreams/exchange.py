"""One request to an upstream, and how its answer is read: the value that a transport takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from partstream.protocols.reader import StreamReader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.outputs import StreamOptions
    from partstream.protocols.errors import Errors
    from partstream.protocols.protocol import Protocol, WireRequest
    from partstream.protocols.tapped_reader import Tap

__all__ = ["Exchange"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request, and how its answer is read.

    Attributes:
        request: What is sent.
        protocol: What the answer is in.
        errors: How the upstream says what went wrong.
        options: How the answer is rendered.
        headers: Headers that somebody set for this request; they win over all others.
    """

    request: WireRequest = field(repr=False)
    protocol: Protocol
    errors: Errors
    options: StreamOptions
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)

    def make_reader(self, tap: Tap | None = None) -> StreamReader:
        """A new reader, for one attempt.

        Args:
            tap: Sees what is read; None for a reader that shows it to nobody.
        """
        if tap is None:
            return StreamReader(self.protocol, self.options)
        from partstream.protocols.tapped_reader import TappedReader  # noqa: PLC0415 - hardly anybody looks

        return TappedReader(tap, self.protocol, self.options)

    @property
    def takes_documents(self) -> bool:
        """Whether a document that the upstream sends in place of a stream can be read."""
        return self.protocol.read_response().events_of is not None
