"""The rule for callers without a system role: assistant messages before the first user message are instructions.

VS Code's public API has no system role, so extensions put their instructions into leading assistant messages. A real
greeting stands in the same place and must stay a greeting: it says hello or offers help, and gives no orders.

Source: the documents' `fixSystemMessages`.
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from partstream.lm.messages import Role
from partstream.lm.parts import DataPart, TextPart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.lm.messages import ChatMessage

__all__ = ["leading_instructions"]

_LONGEST_GREETING: Final = 300
_HELLO: Final = re.compile(r"\W*(hi|hello|hey|welcome|greetings|good (morning|afternoon|evening|day))\b", re.IGNORECASE)
_OFFER: Final = re.compile(r"\b(help|assist|do for you)\b.*\?\s*$", re.IGNORECASE | re.DOTALL)
_ORDER: Final = re.compile(
    r"\b(you are(?=\s+\w)|you're|you (must|should|will)|your (task|role|job)|act as|always|never|respond|follow)\b",
    re.IGNORECASE,
)


def leading_instructions(messages: Sequence[ChatMessage]) -> int:
    """The number of messages at the start that are instructions of a caller without a system role; mostly 0."""
    if any(message.role is Role.SYSTEM for message in messages):
        return 0
    leading = list(takewhile(lambda message: message.role is Role.ASSISTANT, messages))
    if len(leading) == len(messages) or not all(map(_may_be_instructions, leading)):
        return 0
    return len(leading)


def _may_be_instructions(message: ChatMessage) -> bool:
    """Whether a leading assistant message is neither a real answer nor a greeting."""
    # Instructions may have cache marks; any other part that is not text comes from a model.
    if not all(isinstance(part, TextPart) or _is_cache_mark(part) for part in message.content):
        return False
    text = "".join(part.value for part in message.content if isinstance(part, TextPart)).strip()
    if len(text) > _LONGEST_GREETING or _ORDER.search(text):
        return True
    return not (_HELLO.match(text) or _OFFER.search(text))


def _is_cache_mark(part: object) -> bool:
    return isinstance(part, DataPart) and part.mime_type == "cache_control"
