"""The texts that we put into a conversation to replace a field that a protocol lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from partstream.conversation.media import MediaKind

__all__ = ["FAILED", "FAILED_SILENTLY", "SHOWN_BY_ASSISTANT", "in_next_user_message"]

FAILED: Final = "The tool failed: "
FAILED_SILENTLY: Final = "The tool failed and did not say why."
"""Without this text, the model would take an error for a result."""

SHOWN_BY_ASSISTANT: Final = "[shown by the assistant]"


def in_next_user_message(kind: MediaKind, number: int) -> str:
    """The text in a result that replaces an image or a file in the next message of the user."""
    return f"[{kind} {number} of the next user message]"
