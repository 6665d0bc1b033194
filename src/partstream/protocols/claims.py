"""How sure a protocol is that an event is one of its own."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Claim"]


class Claim(IntEnum):
    """A protocol's word on one event of a recording."""

    NO = 0
    POSSIBLE = 1
    SURE = 2
    """No other protocol has an event like it."""
