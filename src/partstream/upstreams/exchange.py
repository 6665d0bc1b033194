"""One request to an upstream, and how its answer is read: the value that a transport takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from partstream.protocols.reader import StreamReader

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.lm.outputs import PausingStream, StreamOptions
    from partstream.protocols.errors import Errors
    from partstream.protocols.protocol import Protocol
    from partstream.protocols.reader import Tap
    from partstream.protocols.serve import WireRequest

__all__ = ["UpstreamRequest"]


@dataclass(frozen=True, slots=True)
class UpstreamRequest:
    """A request, and how its answer is read.

    Attributes:
        request: What is sent.
        protocol: What the answer is in.
        errors: How the upstream says what went wrong.
        options: How the answer is rendered.
        headers: Headers that somebody set for this request; they win over all others.
        paused: The adapter of the answer that the upstream paused and that this request goes on with; None for a new
            answer.
        on_pause: Takes the adapter of an answer that the upstream paused, for another request that goes on with it;
            None where a pause is the end.
        loads_models: Whether the upstream may load a model before it says anything.
        session: The id of the conversation, see :attr:`partstream.upstream.http.HTTPRequest.session`.
    """

    request: WireRequest = field(repr=False)
    protocol: Protocol
    errors: Errors
    options: StreamOptions
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    paused: PausingStream | None = field(default=None, repr=False)
    on_pause: Callable[[PausingStream], object] | None = field(default=None, repr=False)
    loads_models: bool = False
    session: str | None = None

    def make_reader(self, tap: Tap | None = None) -> StreamReader:
        """A new reader, for one attempt.

        Args:
            tap: Sees what is read; None for a reader that shows it to nobody.
        """
        if tap is None:
            return StreamReader(self.protocol, self.options, paused=self.paused)
        from partstream.protocols.reader import TappedReader  # noqa: PLC0415 - hardly anybody looks

        return TappedReader(tap, self.protocol, self.options, paused=self.paused)

    def is_over(self, reader: StreamReader) -> bool:
        """Whether nothing more of the response is read: it has ended, or it is paused and another goes on with it."""
        if reader.finished:
            return True
        paused = None if self.on_pause is None else reader.paused
        if self.on_pause is None or paused is None:
            return False
        self.on_pause(paused)
        return True

    @property
    def takes_documents(self) -> bool:
        """Whether a document that the upstream sends in place of a stream can be read."""
        return self.protocol.read_response().events_of is not None
