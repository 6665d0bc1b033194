"""The words that we put into a conversation where a protocol has no field for what there is to say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from partstream.conversation.media import MediaKind

__all__ = ["FAILED", "FAILED_SILENTLY", "SHOWN_BY_ASSISTANT", "in_next_user_message"]

FAILED: Final = "The tool failed: "
FAILED_SILENTLY: Final = "The tool failed and did not say why."
"""Without the words the model takes an error for a result."""

SHOWN_BY_ASSISTANT: Final = "[shown by the assistant]"


def in_next_user_message(kind: MediaKind, number: int) -> str:
    """What stands in a result for an image or a file that the next message of the user shows."""
    return f"[{kind} {number} of the next user message]"
