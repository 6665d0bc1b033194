"""Which state of earlier answers a request carries; a server may refuse either kind."""

from __future__ import annotations

from enum import Flag, auto

__all__ = ["Carried"]


class Carried(Flag):
    """State of earlier answers."""

    NOTHING = 0
    RESPONSE = auto()
    """The identifier of a stored response."""
    REASONING = auto()
    """Encrypted reasoning."""
    EVERYTHING = RESPONSE | REASONING
