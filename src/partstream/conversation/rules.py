"""What a server accepts in a conversation, as its protocol knows it; nobody sets it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from partstream.conversation.call_ids import ANY_IDS, CallIdRule
from partstream.conversation.tool_names import ANY_NAME, NameForm

__all__ = ["ANY_CONVERSATION", "ConversationRules"]


@dataclass(frozen=True, slots=True)
class ConversationRules:
    """What a server accepts in a conversation.

    Attributes:
        call_ids: The ids of calls.
        tool_names: The names of tools.
    """

    call_ids: CallIdRule = ANY_IDS
    tool_names: NameForm = ANY_NAME


ANY_CONVERSATION: Final = ConversationRules()
"""What nearly every server accepts."""
