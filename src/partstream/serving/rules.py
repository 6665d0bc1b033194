"""What a server that stands for another one does otherwise: how strict it is, and how it names its replies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.lm.outputs import InboundRequest, Reply
    from partstream.protocols.serve import WireRequest
    from partstream.serving.endpoints import Endpoint

__all__ = ["ServerOverrides"]


@dataclass(frozen=True, slots=True)
class ServerOverrides:
    """The rules of a server beyond its settings; without any it is as lenient as its clients need.

    Attributes:
        admit: Called with every request for an answer, before a provider is: where it came, the request, and what it
            asks for. To refuse it, it raises what :func:`partstream.serving.failures.failure_of` knows.
        identify: Makes what identifies the reply to a request; None for the id of the request and the time.
        remembers: Whether requests may refer to earlier answers. Otherwise they are answered as they stand, whatever
            ids they name.
        corrects_paths: Whether a path is understood that has `/v1` once too often or not at all.
    """

    admit: Callable[[Endpoint, WireRequest, InboundRequest], object] | None = None
    identify: Callable[[WireRequest], Reply] | None = None
    remembers: bool = True
    corrects_paths: bool = True
