"""The provider of a model server: joins configuration, a protocol and the transport."""

from __future__ import annotations

import logging
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Final

from partstream.answering import run_until_cancelled
from partstream.conversation.answer import AnswerState
from partstream.conversation.continuation import history_digest
from partstream.conversation.digest import short_digest
from partstream.conversation.preparation import prepare
from partstream.conversation.state_marker import Origin
from partstream.errors import UpstreamError
from partstream.events import EventEmitter
from partstream.gateway.answer_report import AnswerReport
from partstream.gateway.fallbacks import helps_another_model, with_fallbacks
from partstream.gateway.model_list import ModelList
from partstream.gateway.transport import Transport
from partstream.protocols.registry import PROTOCOLS, UPSTREAM_PROTOCOLS
from partstream.provider import DrainingProgress, LanguageModelChatProvider
from partstream.tokens import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from partstream.cancellation import CancellationToken
    from partstream.conversation.chat_request import ChatRequest
    from partstream.conversation.turns import Note
    from partstream.gateway.configuration import GatewayConfiguration
    from partstream.messages import ChatMessage, RequestOptions
    from partstream.provider import LanguageModelChatInformation, Progress

__all__ = ["GatewayProvider"]

_logger = logging.getLogger("partstream.gateway")

_MAX_SAID: Final = 1000


class GatewayProvider(LanguageModelChatProvider):
    """Offers the models of one upstream.

    Args:
        configuration: Which upstream, and how.
    """

    def __init__(self, configuration: GatewayConfiguration) -> None:
        self._configuration = configuration
        self._protocol = PROTOCOLS[configuration.protocol]
        self._upstream = UPSTREAM_PROTOCOLS[configuration.protocol]
        self._transport = Transport(configuration)
        self._fingerprint = short_digest(f"{configuration.protocol} {configuration.base_url.rstrip('/')}")
        self._said: set[str] = set()
        self._did_change: EventEmitter[None] = EventEmitter()
        self.on_did_change_language_model_chat_information = self._did_change.event
        self._models = ModelList(configuration, lambda: self._did_change.fire(None))

    async def provide_language_model_chat_information(
        self, silent: bool, token: CancellationToken
    ) -> Sequence[LanguageModelChatInformation]:
        """The configured models, or those that the upstream lists: the last known list at once, a new one behind.

        Raises:
            UpstreamError: There is no list yet, and none can be had now.
        """
        return with_fallbacks(await self._models.information(), self._configuration.fallbacks)

    async def provide_language_model_chat_response(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: Progress,
        token: CancellationToken,
    ) -> None:
        """Sends the request and reports the answer as it streams; the usage comes last, as a data part.

        Raises:
            LanguageModelError: What the upstream did wrong, or what the request cannot express.
        """
        await run_until_cancelled(self._answer(model, messages, options, progress, token), token)

    async def provide_token_count(
        self, model: LanguageModelChatInformation, text: str | ChatMessage, token: CancellationToken
    ) -> int:
        """An estimate."""
        return estimate_tokens(text)

    async def aclose(self) -> None:
        """Closes the connections that are kept open."""
        await self._models.aclose()
        await self._transport.aclose()

    async def _answer(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: Progress,
        token: CancellationToken,
    ) -> None:
        """Asks the model, and those that it falls back on while none has reported a part."""
        candidates = (model.id, *self._configuration.fallbacks.get(model.id, ()))
        for number, model_id in enumerate(candidates, 1):
            error = await self._answer_of(model_id, model.id, messages, options, progress, token)
            if error is None or token.is_cancellation_requested:
                return
            if number == len(candidates) or not helps_another_model(error):
                raise error
            _logger.warning("%s cannot answer, asking %s in its place: %s", model_id, candidates[number], error)

    async def _answer_of(
        self,
        model_id: str,
        shown_model_id: str,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: Progress,
        token: CancellationToken,
    ) -> UpstreamError | None:
        """Sends the request; again with less carried state where the upstream refuses what it carries, each once.

        Gives back the error of an answer of which no part was reported, and raises that of any other.
        """
        configuration = self._configuration
        origin = Origin(self._fingerprint, model_id)
        prefix = configuration.stream.call_id_prefix
        settings = self._upstream.complete_settings(configuration.request_settings(model_id), configuration.base_url)
        prepared = prepare(origin, messages, options, settings, prefix)
        self._say(prepared.notes)
        carried = prepared.carries & self._upstream.carries
        while True:
            request = prepared.request(carried)
            report = AnswerReport(
                progress,
                AnswerState(origin, prepared.names),
                request.settings,
                shown_model_id,
                partial(history_digest, messages),
            )
            try:
                await self._stream(request, report, token)
            except UpstreamError as error:
                if report.reported:
                    raise
                refused = self._upstream.refused(error) & carried
                if not refused:
                    return error
                _logger.info("sending the whole request again: the upstream refused what it carried (%s)", error)
                carried &= ~refused
            else:
                return None

    async def _stream(self, request: ChatRequest, report: AnswerReport, token: CancellationToken) -> None:
        stream_options = self._configuration.stream
        batches = self._transport.stream(
            self._upstream.path,
            self._upstream.build_request(request),
            lambda: self._protocol.make_reader(stream_options),
            request.settings.extra_headers,
            partial(self._upstream.build_headers, request),
        )
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
