"""Gives every answer a usage: where the provider reported none, one that is counted and estimated here.

Without it Copilot's context widget shows zeros, and its compaction of long conversations goes by nothing
(`ExtensionContributedChatEndpoint` in Copilot 0.67 reads the data part `usage`). Knows no wire.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from partstream.json_codec import dumps
from partstream.parts import DataPart
from partstream.tokens import CHARACTERS_PER_TOKEN, characters_of, estimate_tokens
from partstream.usage import USAGE_MIME_TYPE

if TYPE_CHECKING:
    from partstream.messages import RequestOptions
    from partstream.parts import ResponsePart
    from partstream.provider import DrainingProgress

__all__ = ["UsageWatch", "estimated_usage"]

SOURCE_KEY: Final = "partstream_source"
"""A field of our own beside Copilot's, which ignores it: a number says where it comes from."""


class UsageWatch:
    """A progress that hands everything on, and notices whether a usage was among it.

    Attributes:
        has_usage: Whether the provider reported one.
        characters: What the model has written so far, in characters.
    """

    __slots__ = ("_progress", "characters", "has_usage")

    def __init__(self, progress: DrainingProgress) -> None:
        self._progress = progress
        self.has_usage = False
        self.characters = 0

    def report(self, part: ResponsePart) -> None:
        """Hands on one part."""
        self._progress.report(part)
        self.characters += characters_of(part)
        if isinstance(part, DataPart) and part.mime_type == USAGE_MIME_TYPE:
            self.has_usage = True

    async def drain(self) -> None:
        """Waits for a slow reader."""
        await self._progress.drain()


def estimated_usage(prompt_tokens: int, options: RequestOptions, characters: int) -> DataPart:
    """The usage of an answer whose provider reported none.

    Args:
        prompt_tokens: The tokens of the messages.
        options: Holds the tools, whose tokens are estimated by their text.
        characters: The length of the answer, whose tokens are estimated by it.
    """
    if options.tools:
        tools = [[tool.name, tool.description, tool.input_schema] for tool in options.tools]
        prompt_tokens += estimate_tokens(dumps(tools).decode())
    completion_tokens = math.ceil(characters / CHARACTERS_PER_TOKEN)
    return DataPart.json(
        {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
            SOURCE_KEY: "estimated",
        },
        USAGE_MIME_TYPE,
    )
