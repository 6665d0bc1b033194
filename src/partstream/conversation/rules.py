"""What a server accepts in a conversation, as its protocol knows it; nobody sets it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.turns import ANY_IDS, ANY_NAME, CallIdRule, NameForm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["ANY_CONVERSATION", "ConversationRules"]


def _any_item(_item: Mapping[str, Any]) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class ConversationRules:
    """What a server accepts in a conversation.

    Attributes:
        call_ids: The ids of calls.
        tool_names: The names of tools.
        may_end: Whether an item that goes back, such as reasoning, may be the last thing of an answer. An item that
            only leads to what follows it is refused there, for instance the reasoning before a call that is gone.
    """

    call_ids: CallIdRule = ANY_IDS
    tool_names: NameForm = ANY_NAME
    may_end: Callable[[Mapping[str, Any]], bool] = _any_item


ANY_CONVERSATION: Final = ConversationRules()
"""What nearly every server accepts."""
