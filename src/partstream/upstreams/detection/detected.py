"""What was found out about a base URL, as a value."""

from __future__ import annotations

from dataclasses import dataclass, field

from partstream.protocols.protocol import PROTOCOLS
from partstream.settings.row import hidden_url

__all__ = ["Detected"]


@dataclass(frozen=True, slots=True)
class Detected:
    """What a base URL speaks.

    Attributes:
        protocol: The name of the protocol.
        base_url: Where its paths begin: the given URL, or the one that was meant by it; its query may hold a key.
        reason: Why, as a clause without secrets.
        is_certain: Whether the server's address or its answers say so. A guess is not kept: the next request finds out
            anew.
        advice: What to do where a request fails all the same; empty where nothing is known.
        server: The name of the known server that it is by its host, its list of models or its port; empty for none.
    """

    protocol: str
    base_url: str = field(repr=False)
    reason: str
    is_certain: bool = True
    advice: str = ""
    server: str = ""

    @property
    def title(self) -> str:
        """The name of the protocol for people."""
        return PROTOCOLS[self.protocol].shown_title

    @property
    def shown_url(self) -> str:
        """The base URL without its possible secrets."""
        return hidden_url(self.base_url)

    @property
    def says(self) -> str:
        """Protocol and reason as a sentence without a full stop."""
        verb = "Speaks" if self.is_certain else "Asked in"
        return f"{verb} {self.title}: {self.reason}"
