"""The reference provider, which plays a script and keeps every requirement of the kit."""

from __future__ import annotations
import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from partstream.codec.checks import replace
from partstream.errors import LanguageModelError
from partstream.lm import provider as providers
from partstream.lm.parts import TextPart, ToolCallPart, Usage, usage_part
from partstream.tokens import estimate_tokens
from partstream.upstream.context import run_until_cancelled

if TYPE_CHECKING:
    from partstream.lm.cancellation import CancellationToken
    from partstream.lm.messages import ChatMessage, RequestOptions
    from partstream_devtools.conformance.scripts import Script

NAMESPACE: Final = "reference-"
"""The prefix of its call ids."""

_MODEL: Final = providers.LanguageModelChatInformation(
    id="reference",
    name="Reference",
    family="reference",
    version="1",
    max_input_tokens=128_000,
    max_output_tokens=16_000,
    capabilities=providers.LanguageModelChatCapabilities(image_input=True, tool_calling=True),
)


class ReferenceProvider(providers.LanguageModelChatProvider):
    """Offers one model, which says what a script says."""

    def __init__(self, script: Script) -> None:
        self._script = script

    async def provide_language_model_chat_information(
        self, silent: bool, token: CancellationToken
    ) -> Sequence[providers.LanguageModelChatInformation]:
        del silent, token
        return [_MODEL]

    async def provide_language_model_chat_response(
        self,
        model: providers.LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: providers.Progress,
        token: CancellationToken,
    ) -> None:
        del model, options
        await run_until_cancelled(self._play(messages, progress), token)

    async def provide_token_count(
        self, model: providers.LanguageModelChatInformation, text: str | ChatMessage, token: CancellationToken
    ) -> int:
        del model, token
        said = text if isinstance(text, str) else "".join(p.value for p in text.content if isinstance(p, TextPart))
        return estimate_tokens(said)

    async def _play(self, messages: Sequence[ChatMessage], progress: providers.Progress) -> None:
        answer = self._script.answer_to(messages)
        finish, is_visible = answer.finish(), False
        for part in answer.parts(messages):
            await asyncio.sleep(answer.pace)
            is_visible |= isinstance(part, TextPart | ToolCallPart)
            progress.report(replace(part, call_id=NAMESPACE + part.call_id) if isinstance(part, ToolCallPart) else part)
        if finish.error is None and not is_visible:
            finish = replace(finish, error=LanguageModelError("The model has only thought."))
        elif finish.error is None and (used := usage_part(finish.usage or Usage())) is not None:
            progress.report(used)
        if isinstance(progress, providers.FinishingProgress):
            progress.finish(finish)
        if finish.error is not None:
            raise finish.error


def conformance(script: Script) -> ReferenceProvider:
    """The hook of this module: a provider whose model says what a script says."""
    return ReferenceProvider(script)
