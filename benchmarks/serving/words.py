"""A provider for `partstream serve`: says as many words as the last message asks for, one a turn of the event loop.

The first part is the time at which it was reported, so that its reader knows how long it was on its way.
"""

from __future__ import annotations
import asyncio
import time
from typing import TYPE_CHECKING, Any

from partstream import (
    LanguageModelChatInformation,
    LanguageModelChatProvider,
    TextPart,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream import CancellationToken, ChatMessage, Progress, RequestOptions

PARTS = [TextPart(f"lorem{number:02} ") for number in range(64)]


class Words(LanguageModelChatProvider):
    """Offers one model."""

    async def provide_language_model_chat_information(
        self, _options: Any, _token: CancellationToken
    ) -> list[LanguageModelChatInformation]:
        """The model."""
        return [LanguageModelChatInformation("words", "Words", "words", "1", 1_000_000, 1_000_000)]

    async def provide_language_model_chat_response(
        self,
        _model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        _options: RequestOptions,
        progress: Progress,
        _token: CancellationToken,
    ) -> None:
        """Says the words."""
        count = int("".join(part.value for part in messages[-1].content if isinstance(part, TextPart)))
        progress.report(TextPart(f"t={time.monotonic_ns()};"))
        for number in range(1, count):
            progress.report(PARTS[number % 64])
            await asyncio.sleep(0)

    async def provide_token_count(self, _model: Any, _text: Any, _token: CancellationToken) -> int:
        """One, because counting is not measured here."""
        return 1
