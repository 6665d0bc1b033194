"""Counts the requests that an agent has made of its model, as far as its events show them."""

from __future__ import annotations

__all__ = ["Steps"]


class Steps:
    """The steps of one run: whatever the model says behind results of tools is another request.

    Attributes:
        number: The number of the request that speaks now, from 1.
    """

    __slots__ = ("_is_over", "number")

    def __init__(self) -> None:
        self.number = 1
        self._is_over = False

    def speaks(self) -> None:
        """The model says something."""
        if self._is_over:
            self._is_over = False
            self.number += 1

    def ended(self) -> None:
        """A tool has returned: what follows is said by another request."""
        self._is_over = True
