"""The errors of Gemini: what its servers say beside what servers of several wires have (facts 9)."""

from __future__ import annotations

from typing import Final

from partstream.protocols.errors import Errors

__all__ = ["ERRORS"]

ERRORS: Final = Errors()
