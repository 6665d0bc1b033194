"""The vendors whose servers the replay upstream plays, by the protocol that they speak.

Of other protocols, such as those of installed packages, nothing is known beyond the wire: the replay upstream refuses
what every server refuses, and bills no prompt.
"""

from __future__ import annotations
from collections.abc import Mapping
from typing import Final

from partstream_devtools.testing.vendors import anthropic_messages, chat_completions, gemini, ollama, openresponses
from partstream_devtools.testing.vendors.vendor import Vendor

__all__ = ["VENDORS", "Vendor"]

VENDORS: Final[Mapping[str, Vendor]] = {
    "openresponses": openresponses.VENDOR,
    "chat-completions": chat_completions.VENDOR,
    "anthropic-messages": anthropic_messages.VENDOR,
    "gemini": gemini.VENDOR,
    "ollama": ollama.VENDOR,
}
