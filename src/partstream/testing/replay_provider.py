"""The provider behind the replay upstream: it gives the answer that the admission of the request has planned."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from partstream.errors import EmptyAnswerError, LanguageModelError, UpstreamFailureError
from partstream.lm.outputs import Finish, InboundRequest, Outcome
from partstream.lm.parts import ThinkingPart
from partstream.lm.provider import DrainingProgress, FinishingProgress
from partstream.server.models import CataloguedModel, served_model
from partstream.testing.replaying import CURRENT, noting_bugs
from partstream.testing.scripted import MODELS, ScriptedProvider
from partstream.testing.token_rule import INPUT_PRICE, OUTPUT_PRICE, count_prompt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.lm.cancellation import CancellationToken
    from partstream.lm.messages import ChatMessage, RequestOptions
    from partstream.lm.provider import LanguageModelChatInformation, Progress
    from partstream.testing.scenarios import Outputs

__all__ = ["REPLAY_MODELS", "SERVED_MODELS", "ReplayProvider"]


def _cents_for_a_million(price: str) -> float:
    """The price of a token in US dollars as a cost of :class:`partstream.lm.provider.ModelFields`."""
    return float(Decimal(price) * 100 * 1_000_000)


_EXTRA: Final = {
    "inputCost": _cents_for_a_million(INPUT_PRICE),
    "outputCost": _cents_for_a_million(OUTPUT_PRICE),
    "configurationSchema": {"properties": {"reasoningEffort": {"type": "string"}}},
}
REPLAY_MODELS: Final = tuple(replace(model, extra=_EXTRA) for model in MODELS)
"""The scenarios as models with a price, which think when they are asked to."""

SERVED_MODELS: Final = tuple(
    served_model(CataloguedModel(one.id, "replay", ScriptedProvider(), one)) for one in REPLAY_MODELS
)
"""The scenarios, as documents of a server tell of them."""


class ReplayProvider(ScriptedProvider):
    """The scripted model for requests that arrive over a wire: with the ids, the usage and the price of the wire."""

    async def provide_language_model_chat_information(
        self, silent: bool, token: CancellationToken
    ) -> Sequence[LanguageModelChatInformation]:
        """One model for each scenario."""
        del silent, token
        return REPLAY_MODELS

    def find_unlisted_model(self, model_id: str) -> LanguageModelChatInformation:
        """Any other model answers with the default scenario."""
        return replace(REPLAY_MODELS[0], id=model_id) if model_id else REPLAY_MODELS[0]

    async def provide_request_token_count(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        token: CancellationToken,
    ) -> int:
        """Counts by the token rule of the scripted model, as the usage of an answer does."""
        del token
        return count_prompt(InboundRequest(model.id, tuple(messages), options)).all

    async def provide_language_model_chat_response(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: Progress,
        token: CancellationToken,
    ) -> None:
        """Gives the planned answer."""
        del model, messages, options
        plan = CURRENT.get().plan
        if plan is not None:
            with noting_bugs():
                await _report(plan.outputs, progress, token)


def _own(finish: Finish) -> Finish:
    """The end, as that of the server itself: a failure is no failure of a server behind it."""
    error = finish.error
    own = LanguageModelError(error.provider_message or "") if isinstance(error, UpstreamFailureError) else error
    return replace(finish, error=own)


async def _report(outputs: Outputs, progress: Progress, token: CancellationToken) -> None:
    """Gives an answer.

    Raises:
        EmptyAnswerError: Nothing that a person sees was in it. Some scenarios are so on purpose: the application shall
            not warn of a provider that has forgotten its answer.
    """
    draining = progress if isinstance(progress, DrainingProgress) else None
    is_empty = True
    for output in outputs:
        if token.is_cancellation_requested:
            return
        if isinstance(output, Finish):
            if isinstance(progress, FinishingProgress):
                progress.finish(_own(output))
            if is_empty and output.outcome is Outcome.COMPLETED:
                raise EmptyAnswerError(None)
            return
        is_empty &= isinstance(output, ThinkingPart)
        progress.report(output)
        if draining is not None:
            await draining.drain()
