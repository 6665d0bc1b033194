"""What a request loses on its way over Anthropic Messages with default settings, to a server that nobody knows."""

from __future__ import annotations

from typing import Final

from partstream.protocols.prepared_losses import INSTRUCTIONS, PREPARED, TOOL_MODE

__all__ = ["REQUEST"]

REQUEST: Final = (*PREPARED, INSTRUCTIONS, TOOL_MODE)
"""In the order in which they are taken out."""
