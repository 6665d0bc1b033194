"""Asks a model for a short answer, to find out whether one comes: the only check that may cost something."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from partstream.configuration.advice import explained
from partstream.configuration.findings import CheckStatus, Finding
from partstream.errors import LanguageModelError, UpstreamError
from partstream.lm.cancellation import CancellationToken
from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.lm.parts import UnifiedFinishReason
from partstream.lm.provider import LanguageModelChatInformation
from partstream.upstream.configuration import RetryPolicy
from partstream.upstream.provider import GatewayProvider

if TYPE_CHECKING:
    from partstream.configuration.advice import Advice
    from partstream.lm.outputs import Finish
    from partstream.lm.parts import ResponsePart
    from partstream.upstream.configuration import GatewayConfiguration
    from partstream.upstream.model_information import ModelSelection

__all__ = ["MOST_TOKENS", "ask_model"]

MOST_TOKENS: Final = 16
"""The most tokens of the answer: OpenAI's Responses refuse a smaller limit."""

_QUESTION: Final = "Say yes."


class _Answer:
    """What came of the answer."""

    def __init__(self) -> None:
        self.parts: list[ResponsePart] = []
        self.finish_of_answer: Finish | None = None

    def report(self, part: ResponsePart, /) -> None:
        self.parts.append(part)

    def finish(self, finish: Finish, /) -> None:
        self.finish_of_answer = finish


async def ask_model(gateway: GatewayConfiguration, model_id: str, advice: Advice) -> Finding:
    """Asks a model once, for at most :data:`MOST_TOKENS` tokens; nothing of it is remembered."""
    configuration = replace(
        gateway,
        max_output_tokens=MOST_TOKENS,
        selection=_with_short_answers(gateway.selection, model_id),
        retry=RetryPolicy(attempts=1),
        ledger=False,
        fallbacks={},
    )
    model = LanguageModelChatInformation(model_id, model_id, model_id, "1", 128_000, MOST_TOKENS)
    answer = _Answer()
    async with aclosing(GatewayProvider(configuration)) as provider:
        try:
            await provider.provide_language_model_chat_response(
                model, [ChatMessage.user(_QUESTION)], RequestOptions(), answer, CancellationToken()
            )
        except LanguageModelError as error:
            # A model may think for more tokens than that: it works, though nothing of its answer came.
            if not _was_cut(answer):
                return _failed(model_id, error, gateway, advice)
    return Finding("model", CheckStatus.FINE, f"{model_id} answers{_tokens(answer)}")


def _with_short_answers(selection: ModelSelection, model_id: str) -> ModelSelection:
    """The selection, without longer answers that a person allows this model."""
    said = selection.overrides.get(model_id)
    if said is None:
        return selection
    short = replace(said, max_output_tokens=MOST_TOKENS)
    return replace(selection, overrides={**selection.overrides, model_id: short})


def _was_cut(answer: _Answer) -> bool:
    finish = answer.finish_of_answer
    return finish is not None and finish.reason is not None and finish.reason.unified is UnifiedFinishReason.LENGTH


def _failed(model_id: str, error: LanguageModelError, gateway: GatewayConfiguration, advice: Advice) -> Finding:
    explained(error, gateway, advice)
    statement, helps = (error.statement, error.advice) if isinstance(error, UpstreamError) else (error.message, "")
    return Finding("model", CheckStatus.PROBLEM, f"{model_id} was asked, and {statement}", helps)


def _tokens(answer: _Answer) -> str:
    usage = None if answer.finish_of_answer is None else answer.finish_of_answer.usage
    if usage is None or usage.input_tokens is None or usage.output_tokens is None:
        return ""
    return f", for {usage.input_tokens} tokens in and {usage.output_tokens} out"
