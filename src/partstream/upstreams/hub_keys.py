"""What the key of a Partstream hub looks like, so that a hub is known by the key that it gave, wherever it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from partstream.upstreams.secret import Secret

__all__ = ["MOST_KEY", "SESSION_HEADER", "is_hub_key"]

MOST_KEY: Final = 200
"""The most characters of a key."""

SESSION_HEADER: Final = "x-session-id"
"""The header with which programs name their conversation to a hub, so that it can add up what a conversation took."""

_KEY: Final = re.compile(r"psk_[A-Za-z0-9-]{1,60}_[A-Za-z0-9_-]{16,}", re.ASCII)
"""`psk_`, the id of the key, its secret."""


def is_hub_key(key: Secret | None) -> bool:
    """Whether a key is one that a hub gave to a person."""
    text = "" if key is None else key.reveal()
    return len(text) <= MOST_KEY and _KEY.fullmatch(text) is not None
