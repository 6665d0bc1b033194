"""The reference provider: plays a script and keeps every promise of the kit; the kit is tested with it.

`partstream conformance partstream.conformance.reference:conformance` runs the kit against it.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from partstream.errors import LanguageModelError
from partstream.lm.parts import TextPart, ToolCallPart, Usage, usage_part
from partstream.lm.provider import (
    FinishingProgress,
    LanguageModelChatCapabilities,
    LanguageModelChatInformation,
    LanguageModelChatProvider,
)
from partstream.tokens import estimate_tokens
from partstream.upstream.context import run_until_cancelled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from partstream.devtools.conformance.scripts import Script, ScriptedAnswer
    from partstream.lm.cancellation import CancellationToken
    from partstream.lm.messages import ChatMessage, RequestOptions
    from partstream.lm.parts import ResponsePart
    from partstream.lm.provider import Progress

__all__ = ["NAMESPACE", "ReferenceProvider", "conformance"]

NAMESPACE: Final = "reference-"
"""The prefix of its call ids."""

_MODEL: Final = LanguageModelChatInformation(
    id="reference",
    name="Reference",
    family="reference",
    version="1",
    max_input_tokens=128_000,
    max_output_tokens=16_000,
    capabilities=LanguageModelChatCapabilities(image_input=True, tool_calling=True),
)


class ReferenceProvider(LanguageModelChatProvider):
    """Offers one model, which says what a script says.

    Args:
        script: The script.
    """

    def __init__(self, script: Script) -> None:
        self._script = script

    async def provide_language_model_chat_information(
        self, silent: bool, token: CancellationToken
    ) -> Sequence[LanguageModelChatInformation]:
        """The one model."""
        del silent, token
        return [_MODEL]

    async def provide_language_model_chat_response(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: Progress,
        token: CancellationToken,
    ) -> None:
        """Plays the answer of the script.

        Raises:
            LanguageModelError: The script says so, or nothing of the answer can be seen.
        """
        del model, options
        await run_until_cancelled(self._play(messages, progress), token)

    async def provide_token_count(
        self, model: LanguageModelChatInformation, text: str | ChatMessage, token: CancellationToken
    ) -> int:
        """An estimate."""
        del model, token
        said = text if isinstance(text, str) else "".join(p.value for p in text.content if isinstance(p, TextPart))
        return estimate_tokens(said)

    async def _play(self, messages: Sequence[ChatMessage], progress: Progress) -> None:
        answer = self._script.answer_to(messages)
        finish, is_visible = answer.finish(), False
        for part in _namespaced(answer, messages):
            await asyncio.sleep(answer.pace)
            is_visible |= isinstance(part, TextPart | ToolCallPart)
            progress.report(part)
        if finish.error is None and not is_visible:
            finish = replace(finish, error=LanguageModelError("The model has only thought."))
        elif finish.error is None and (used := usage_part(finish.usage or Usage())) is not None:
            progress.report(used)
        if isinstance(progress, FinishingProgress):
            progress.finish(finish)
        if finish.error is not None:
            raise finish.error


def conformance(script: Script) -> ReferenceProvider:
    """The hook of this module: a provider whose model says what a script says."""
    return ReferenceProvider(script)


def _namespaced(answer: ScriptedAnswer, messages: Sequence[ChatMessage]) -> Iterator[ResponsePart]:
    for part in answer.parts(messages):
        yield replace(part, call_id=NAMESPACE + part.call_id) if isinstance(part, ToolCallPart) else part
