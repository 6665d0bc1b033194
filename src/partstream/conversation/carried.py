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
    """Reasoning of the current turn: of the answers behind the last message of the user that is not only results of
    tools. Servers demand it back."""
    EARLIER = auto()
    """Reasoning of finished turns: of the answers before that message. Servers answer without it, too."""
    ALL_REASONING = REASONING | EARLIER
    EVERYTHING = RESPONSE | ALL_REASONING

    def without_first(self, refused: Carried) -> Carried:
        """What a request carries after a server has refused some of it.

        A server that refuses reasoning seldom says whose it means: that of finished turns goes first, and that of the
        current turn only if the server refuses again.

        Args:
            refused: What the server refuses.
        """
        if Carried.REASONING in refused and Carried.EARLIER in self:
            refused = (refused & ~Carried.REASONING) | Carried.EARLIER
        return self & ~refused
