"""The kinds of state from earlier answers that a request may carry; a server may refuse each of them."""

from __future__ import annotations

from enum import Flag, auto

__all__ = ["Carried"]


class Carried(Flag):
    """State of earlier answers."""

    NOTHING = 0
    RESPONSE = auto()
    """The id of a stored response."""
    REASONING = auto()
    """Encrypted reasoning."""
    EVERYTHING = RESPONSE | REASONING
