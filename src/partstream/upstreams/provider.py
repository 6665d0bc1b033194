"""The provider of a model server: its models, its answers, its token counts."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from partstream.errors import LanguageModelError, UpstreamError, with_facts
from partstream.lm.cancellation import EventEmitter
from partstream.lm.outputs import ErrorMode, error_text
from partstream.lm.provider import LanguageModelChatProvider
from partstream.tokens.accounting import TokenAccounting
from partstream.upstream.configuration import CaptureMode
from partstream.upstream.context import current_capture, is_one_attempt, logging_from, run_until_cancelled
from partstream.upstream.requests import ForwardingProgress, ModelCall, RequestTokens
from partstream.upstreams.fallbacks import ask_in_turn, with_fallbacks
from partstream.upstreams.model_list import with_learned_limits
from partstream.upstreams.spoken_upstream import Upstream
from partstream.upstreams.warnings import with_protocol, with_warnings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.lm.cancellation import CancellationToken
    from partstream.lm.messages import ChatMessage, RequestOptions
    from partstream.lm.provider import LanguageModelChatInformation, Progress
    from partstream.tokens import Counters, TokenCount
    from partstream.tokens.ledger import Ledger
    from partstream.upstream.configuration import GatewayConfiguration

__all__ = ["GatewayProvider"]

_logger = logging.getLogger("partstream.upstreams")


class GatewayProvider(LanguageModelChatProvider):
    """Offers the models of one upstream.

    Args:
        configuration: Which upstream, and how.
        ledger: What was learned of tokens before; without one it is learned anew, and so where the configuration
            wants none. Whoever made it closes it.
        counters: The exact counters of tokens; without them texts are estimated.

    Example:
        >>> import asyncio
        >>> from partstream import GatewayConfiguration, GatewayProvider, LanguageModelChatInformation, LanguageModels
        >>> listed = (LanguageModelChatInformation("m", "M", "m", "1", 8_000, 1_000),)
        >>> async def main():
        ...     provider = GatewayProvider(GatewayConfiguration("http://127.0.0.1:1234/v1", models=listed))
        ...     async with LanguageModels() as models:
        ...         models.register_language_model_chat_provider("desk", provider)
        ...         found = await models.select_chat_models({"vendor": "desk"})
        ...     await provider.aclose()
        ...     return [model.id for model in found]
        >>> asyncio.run(main())
        ['m']
    """

    def __init__(
        self, configuration: GatewayConfiguration, *, ledger: Ledger | None = None, counters: Counters | None = None
    ) -> None:
        self._configuration = configuration
        self._did_change: EventEmitter[None] = EventEmitter()
        self.on_did_change_language_model_chat_information = self._did_change.event
        kept = ledger if configuration.ledger else None
        self._upstream = Upstream(configuration, self._tokens_of, self._announce_change, kept)
        self._accounting = TokenAccounting(configuration.fingerprint, kept, counters)
        self.on_did_correct_token_counts = self._accounting.on_did_correct

    @property
    def configuration(self) -> GatewayConfiguration:
        """Which upstream it asks, and how."""
        return self._configuration

    async def provide_language_model_chat_information(
        self, silent: bool, token: CancellationToken
    ) -> Sequence[LanguageModelChatInformation]:
        """The configured models, or those that the upstream lists: the last known list at once, a new one behind.

        Raises:
            UpstreamError: There is no list yet, and none can be had now.
        """
        with logging_from(self._configuration.log_level):
            models = with_learned_limits(await self._upstream.information(), self._accounting)
        told = with_protocol(with_fallbacks(models, self._configuration.fallbacks), self._upstream.detected)
        return with_warnings(told, self._configuration.warnings)

    async def provide_language_model_chat_response(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: Progress,
        token: CancellationToken,
    ) -> None:
        """Sends the request and reports the answer as it streams; the usage comes last, as a data part.

        A :class:`~partstream.lm.provider.FinishingProgress` is told how the answer ended, also when it failed.

        Raises:
            LanguageModelError: What the upstream did wrong, or what the request cannot express; nothing where the
                configuration wants errors as text.
        """
        captured = current_capture()
        if captured is not None and self._configuration.capture is CaptureMode.OFF:
            captured.leave_out()
        question = ModelCall(model.id, messages, options, ForwardingProgress(progress), token)
        with logging_from(self._configuration.log_level):
            await run_until_cancelled(self._answer(model, question), token)

    async def provide_token_count(
        self, model: LanguageModelChatInformation, text: str | ChatMessage, token: CancellationToken
    ) -> int:
        """The tokens of a text or a message, see :meth:`token_count`."""
        return self.token_count(model, text).tokens

    def token_count(self, model: LanguageModelChatInformation, text: str | ChatMessage) -> TokenCount:
        """The tokens of a text or a message, and whether they were reported, counted or estimated."""
        return self._accounting.count(model, text)

    def token_count_factor(self, model: LanguageModelChatInformation) -> float:
        """The factor that corrects estimates for a model, from its upstream's reports; 1 while it is unknown."""
        return self._accounting.factor(model.family)

    async def aclose(self) -> None:
        """Closes the connections that are kept open."""
        await self._upstream.aclose()

    async def _answer(self, model: LanguageModelChatInformation, question: ModelCall) -> None:
        """Asks for the answer, fallback models included, and passes the end to the progress."""
        try:
            candidates = [model, *await self._fallbacks_of(model)]
            errors = await self._upstream.errors()
            await ask_in_turn(candidates, partial(self._upstream.send, question=question), question, errors)
        except LanguageModelError as error:
            if question.token.is_cancellation_requested:
                raise
            if _logger.isEnabledFor(logging.DEBUG):  # the hosts say it where a person looks
                _logger.debug("%s could not answer: %s", question.shown_model_id, with_facts(str(error), error))
            self._failed(error, question)
            return
        if not question.token.is_cancellation_requested:
            question.progress.answered()

    def _failed(self, error: LanguageModelError, question: ModelCall) -> None:
        """Ends an answer with an error, in the way that the configuration says.

        Raises:
            LanguageModelError: The error, unless a text of the answer says it.
        """
        progress = question.progress
        if self._configuration.errors is ErrorMode.TEXT:
            said = with_facts(str(error), error)
            _logger.error("%s could not answer, which a text of the answer says: %s", question.shown_model_id, said)
            progress.report(error_text(error, has_begun=progress.has_begun))
            progress.failed(error)
            return
        progress.failed(error)
        raise error

    async def _fallbacks_of(self, model: LanguageModelChatInformation) -> list[LanguageModelChatInformation]:
        """The fallback models of a model; unknown ones are taken to be like it. None where somebody else has others."""
        ids = self._configuration.fallbacks.get(model.id, ())
        if not ids or is_one_attempt():
            return []
        try:
            models = with_learned_limits(await self._upstream.information(), self._accounting)
        except UpstreamError as error:
            _logger.info("nothing is known of the models to fall back on: %s", error)
            models = ()
        known = {one.id: one for one in models}
        return [known.get(model_id) or replace(model, id=model_id) for model_id in ids]

    def _tokens_of(self, model: LanguageModelChatInformation, question: ModelCall) -> RequestTokens:
        pricing = self._upstream.pricing(model.id)
        return RequestTokens(
            self._accounting, model, question.messages, question.options, pricing, self._announce_change
        )

    def _announce_change(self) -> None:
        """Announces that the list of models changed."""
        self._did_change.fire(None)
