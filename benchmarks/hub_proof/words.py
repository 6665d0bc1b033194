"""The provider of the proof: a last message of `30` is answered with 30 words, a few at a time, and their usage."""

from __future__ import annotations
import asyncio
from typing import TYPE_CHECKING, Final

from partstream import LanguageModelChatInformation, LanguageModelChatProvider, TextPart
from partstream.lm.outputs import Finish, Outcome
from partstream.lm.parts import FinishReason, UnifiedFinishReason, Usage
from partstream.lm.provider import FinishingProgress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream import CancellationToken, ChatMessage, Progress, RequestOptions

INPUT: Final = 5
"""The input tokens of every answer."""
_PACE: Final = 0.05
_WORDS: Final = LanguageModelChatInformation("words", "Words", "proof", "1", 100_000, 10_000)


class Provider(LanguageModelChatProvider):
    """Answers with as many words as the request asks for."""

    async def provide_language_model_chat_information(
        self, silent: bool, token: CancellationToken
    ) -> Sequence[LanguageModelChatInformation]:
        """The one model."""
        del silent, token
        return (_WORDS,)

    async def provide_language_model_chat_response(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: Progress,
        token: CancellationToken,
    ) -> None:
        """Says the words."""
        del model
        wanted = int("".join(part.value for part in messages[-1].content if isinstance(part, TextPart)))
        count = min(wanted, int(options.model_options.get("max_output_tokens", wanted)))
        for _ in range(count):
            if token.is_cancellation_requested:
                return
            progress.report(TextPart("word "))
            await asyncio.sleep(_PACE)
        if isinstance(progress, FinishingProgress):
            usage = Usage(INPUT, count, INPUT + count)
            progress.finish(Finish(Outcome.COMPLETED, FinishReason(UnifiedFinishReason.STOP), usage))

    async def provide_token_count(
        self, model: LanguageModelChatInformation, text: str | ChatMessage, token: CancellationToken
    ) -> int:
        """Exact, as the budget of a burst has to be."""
        del model, text, token
        return INPUT


provider = Provider()
