"""The provider of a model server: joins configuration, a protocol and the transport."""

from __future__ import annotations

import logging
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from partstream.answering import run_until_cancelled
from partstream.conversation.answer import AnswerState
from partstream.conversation.continuation import history_digest
from partstream.conversation.digest import short_digest
from partstream.conversation.preparation import prepare
from partstream.conversation.settings import CountTokens
from partstream.conversation.state_marker import Origin
from partstream.errors import LanguageModelError, UpstreamError
from partstream.events import EventEmitter
from partstream.protocols.registry import PROTOCOLS, asking
from partstream.provider import DrainingProgress, LanguageModelChatProvider
from partstream.tokens.accounting import TokenAccounting
from partstream.upstreams.answer_end import AnswerEnd
from partstream.upstreams.answer_report import AnswerReport
from partstream.upstreams.exchange import Exchange
from partstream.upstreams.fallbacks import has_more_room, helps_another_model, with_fallbacks
from partstream.upstreams.fetching import DocumentFetcher
from partstream.upstreams.http import UpstreamHTTP
from partstream.upstreams.model_list import ModelList, with_learned_limits
from partstream.upstreams.request_tokens import RequestTokens
from partstream.upstreams.transport import Transport
from partstream.upstreams.upstream_counts import UpstreamCounts
from partstream.upstreams.warnings import with_warnings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from partstream.cancellation import CancellationToken
    from partstream.conversation.chat_request import ChatRequest
    from partstream.conversation.turns import Note
    from partstream.messages import ChatMessage, RequestOptions
    from partstream.provider import LanguageModelChatInformation, Progress
    from partstream.tokens import Counters, TokenCount
    from partstream.tokens.ledger.ledger import Ledger
    from partstream.upstreams.configuration import GatewayConfiguration

__all__ = ["GatewayProvider"]

_logger = logging.getLogger("partstream.upstreams")

_MAX_SAID: Final = 1000


@dataclass(frozen=True, slots=True)
class _Question:
    """What the host asks, whichever models are asked for the answer.

    Attributes:
        shown_model_id: The model as the host names it.
        messages: The conversation.
        options: What goes with it.
        progress: Where the answer is reported.
        end: Told how each attempt at the answer ended.
        token: Cancelled when nobody waits for the answer any more.
    """

    shown_model_id: str
    messages: Sequence[ChatMessage]
    options: RequestOptions
    progress: Progress
    end: AnswerEnd
    token: CancellationToken


class GatewayProvider(LanguageModelChatProvider):
    """Offers the models of one upstream.

    Args:
        configuration: Which upstream, and how.
        ledger: What was learned of tokens before; without one it is learned anew, and so where the configuration
            wants none. Whoever made it closes it.
        counters: The exact counters of tokens; without them texts are estimated.
    """

    def __init__(
        self, configuration: GatewayConfiguration, *, ledger: Ledger | None = None, counters: Counters | None = None
    ) -> None:
        self._configuration = configuration
        self._protocol = PROTOCOLS[configuration.protocol]
        self._upstream = asking(configuration.protocol)
        self._http = UpstreamHTTP(configuration)
        self._transport = Transport(self._http, configuration.timeouts, configuration.retry)
        self._fingerprint = short_digest(f"{configuration.protocol} {configuration.base_url.rstrip('/')}")
        fetch = DocumentFetcher(self._http)
        self._counts = UpstreamCounts(fetch, self._http.base_path, self._upstream.count)
        self._accounting = TokenAccounting(self._fingerprint, ledger if configuration.ledger else None, counters)
        self.on_did_correct_token_counts = self._accounting.on_did_correct
        self._said: set[str] = set()
        self._did_change: EventEmitter[None] = EventEmitter()
        self.on_did_change_language_model_chat_information = self._did_change.event
        self._models = ModelList(configuration, fetch, lambda: self._did_change.fire(None))

    async def provide_language_model_chat_information(
        self, silent: bool, token: CancellationToken
    ) -> Sequence[LanguageModelChatInformation]:
        """The configured models, or those that the upstream lists: the last known list at once, a new one behind.

        Raises:
            UpstreamError: There is no list yet, and none can be had now.
        """
        models = with_learned_limits(await self._models.information(), self._accounting)
        return with_warnings(with_fallbacks(models, self._configuration.fallbacks), self._configuration.warnings)

    async def provide_language_model_chat_response(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: Progress,
        token: CancellationToken,
    ) -> None:
        """Sends the request and reports the answer as it streams; the usage comes last, as a data part.

        A :class:`~partstream.provider.FinishingProgress` is told how the answer ended, also when it failed.

        Raises:
            LanguageModelError: What the upstream did wrong, or what the request cannot express.
        """
        question = _Question(model.id, messages, options, progress, AnswerEnd(progress), token)
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
        """What estimates for a model are multiplied with, by what its upstream reported; 1 while nothing is known."""
        return self._accounting.factor(model.family)

    async def aclose(self) -> None:
        """Closes the connections that are kept open."""
        await self._models.aclose()
        await self._http.aclose()

    async def _answer(self, model: LanguageModelChatInformation, question: _Question) -> None:
        """Asks for the answer, and tells the progress how it ended."""
        try:
            await self._ask_in_turn(model, question)
        except LanguageModelError as error:
            if not question.token.is_cancellation_requested:
                question.end.failed(error)
            raise
        if not question.token.is_cancellation_requested:
            question.end.answered()

    async def _ask_in_turn(self, model: LanguageModelChatInformation, question: _Question) -> None:
        """Asks the model, and those that it falls back on while none has reported a part."""
        candidates = [model, *await self._fallbacks_of(model)]
        for number, asked in enumerate(candidates, 1):
            error = await self._answer_of(asked, question)
            if error is None or question.token.is_cancellation_requested:
                return
            following = candidates[number] if number < len(candidates) else None
            if following is None or not (
                helps_another_model(error, self._upstream.errors) or has_more_room(following, asked, error)
            ):
                raise error
            _logger.warning("%s cannot answer, asking %s in its place: %s", asked.id, following.id, error)

    async def _fallbacks_of(self, model: LanguageModelChatInformation) -> list[LanguageModelChatInformation]:
        """The models to ask in the place of one; those of which nothing is known are taken to be like it."""
        ids = self._configuration.fallbacks.get(model.id, ())
        if not ids:
            return []
        try:
            models = with_learned_limits(await self._models.information(), self._accounting)
        except UpstreamError as error:
            _logger.info("nothing is known of the models to fall back on: %s", error)
            models = ()
        known = {one.id: one for one in models}
        return [known.get(model_id) or replace(model, id=model_id) for model_id in ids]

    async def _answer_of(self, model: LanguageModelChatInformation, question: _Question) -> UpstreamError | None:
        """Sends the request; again with less carried state where the upstream refuses what it carries, each once.

        Gives back the error of an answer of which no part was reported, and raises that of any other.
        """
        configuration, messages, options = self._configuration, question.messages, question.options
        origin = Origin(self._fingerprint, model.id)
        prefix = configuration.stream.call_id_prefix
        chosen = configuration.request_settings(model.id)
        settings = self._upstream.complete_settings(chosen, configuration.base_url, model)
        prepared = prepare(origin, messages, options, settings, prefix)
        self._say(prepared.notes)
        pricing = self._models.pricing(model.id)
        tokens = RequestTokens(self._accounting, model, messages, options, pricing, lambda: self._did_change.fire(None))
        carried = prepared.carries & self._upstream.carries
        if settings.count_tokens is CountTokens.UPSTREAM:
            tokens.counted(await self._counted_upstream(prepared.request(carried)))
        tokens.before_sending()
        while True:
            request = prepared.request(carried)
            report = AnswerReport(
                question.progress,
                AnswerState(origin, prepared.names),
                request.settings,
                question.shown_model_id,
                partial(history_digest, messages),
                tokens,
                question.end,
            )
            try:
                await self._stream(request, report, question.token)
            except UpstreamError as error:
                if (overflow := self._upstream.errors.overflow(error)) is not None:
                    too_long = tokens.refused(error, overflow)
                    too_long.__cause__ = error
                    if report.reported:
                        raise too_long from error
                    return too_long
                if report.reported:
                    raise
                refused = self._upstream.refused(error) & carried
                if not refused:
                    return error
                _logger.info("sending the whole request again: the upstream refused what it carried (%s)", error)
                carried &= ~refused
            else:
                return None

    async def _counted_upstream(self, request: ChatRequest) -> TokenCount | None:
        return await self._counts.count(self._upstream.write(request).body, request.settings.extra_headers)

    async def _stream(self, request: ChatRequest, report: AnswerReport, token: CancellationToken) -> None:
        exchange = Exchange(
            self._upstream.write(request),
            self._protocol,
            self._upstream.errors,
            self._configuration.stream,
            request.settings.extra_headers,
        )
        batches = self._transport.stream(exchange)
        async with aclosing(batches):
            async for outputs in batches:
                for output in outputs:
                    if token.is_cancellation_requested:
                        return
                    report.hand_on(output)
                if isinstance(report.progress, DrainingProgress):
                    await report.progress.drain()

    def _say(self, notes: Iterable[Note]) -> None:
        """Logs each kind of note once: what is in a conversation comes again with every request."""
        for note in notes:
            if note.subject not in self._said and len(self._said) < _MAX_SAID:
                self._said.add(note.subject)
                _logger.warning("%s: %s; said once", note.where, note.subject)
