"""How many tokens a text takes, when nobody can say exactly: an estimate, and always called one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from partstream.json_codec import dumps
from partstream.parts import TextPart, ThinkingPart, ToolCallPart, ToolResultPart

if TYPE_CHECKING:
    from partstream.messages import ChatMessage
    from partstream.parts import MessagePart
    from partstream.tokens.vocabularies import Vocabulary

__all__ = ["CHARACTERS_PER_TOKEN", "characters_of", "estimate_text", "estimate_tokens"]

CHARACTERS_PER_TOKEN: Final = 4
"""For English prose and code with the vocabularies in use."""

_MESSAGE_TOKENS: Final = 3
"""Tokens of a message beside its parts, as Copilot itself reckons."""


def estimate_tokens(text: str | ChatMessage) -> int:
    """About how many tokens a text or a message takes: four characters a token, data parts left out."""
    if isinstance(text, str):
        return math.ceil(len(text) / CHARACTERS_PER_TOKEN)
    characters = sum(characters_of(part) for part in text.content)
    return _MESSAGE_TOKENS + math.ceil(characters / CHARACTERS_PER_TOKEN)


def estimate_text(text: str, vocabulary: Vocabulary) -> int:
    """About how many tokens of a vocabulary a text takes."""
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)


def characters_of(part: MessagePart) -> int:
    """How many characters of a part a model reads; none of a data part's."""
    if isinstance(part, TextPart | ThinkingPart):
        return len(part.value)
    if isinstance(part, ToolCallPart):
        return len(part.name) + len(dumps(part.input))
    if isinstance(part, ToolResultPart):
        return sum(characters_of(item) for item in part.content)
    return 0
