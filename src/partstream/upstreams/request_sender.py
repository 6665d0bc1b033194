"""Puts a question to one model: prepares the request, counts it, sends it and reports the answer."""

from __future__ import annotations

import logging
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from partstream.conversation.preparation import (
    UNKNOWN_CAPABILITIES,
    CountTokens,
    RequestSettings,
    ResponseState,
    prepare,
)
from partstream.conversation.provider_state import Origin
from partstream.errors import UpstreamError
from partstream.lm.outputs import FileMode, Finish
from partstream.lm.parts import DataPart
from partstream.protocols.errors import Overflow, says_nothing
from partstream.protocols.known_servers import server_at
from partstream.protocols.protocol import PROTOCOLS, asking
from partstream.upstream.http import DocumentFetcher
from partstream.upstream.http_errors import advise_on_key
from partstream.upstream.transport import Transport, UpstreamRequest, stream_over_pauses
from partstream.upstreams.answer_report import AttemptReport
from partstream.upstreams.linked_files import LinkedFiles, is_linked
from partstream.upstreams.refusals import RefusedFields, less_of, written
from partstream.upstreams.retry import Sending, send_without_what_is_refused
from partstream.upstreams.upstream_counts import UpstreamCounts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from partstream.conversation.preparation import ChatRequest, ModelCapabilities, Preparation
    from partstream.conversation.provider_state import Carried
    from partstream.conversation.turns import Note
    from partstream.lm.provider import LanguageModelChatInformation
    from partstream.protocols.known_servers import KnownServer
    from partstream.upstream.configuration import GatewayConfiguration
    from partstream.upstream.http import UpstreamHTTP
    from partstream.upstreams.question import ModelCall
    from partstream.upstreams.request_tokens import RequestTokens

__all__ = ["RequestSender"]

_logger = logging.getLogger("partstream.upstreams")

_MAX_SAID: Final = 1000


@dataclass(frozen=True, slots=True)
class _Request:
    """A question for one model.

    Attributes:
        question: The question.
        origin: The upstream and the model, by which state of earlier answers is known again.
        prepared: The request in no protocol's words.
        tokens: What is known of its tokens.
        model: The model.
        fits_answer: Whether the request says by its expected tokens how long the answer may be.
    """

    question: ModelCall
    origin: Origin
    prepared: Preparation
    tokens: RequestTokens
    model: LanguageModelChatInformation
    fits_answer: bool

    def asked(self, carried: Carried) -> ChatRequest:
        """The request with at most the state in `carried`, and with its expected tokens where it needs them."""
        asked = self.prepared.request(carried)
        return replace(asked, input_tokens=self.tokens.expected) if self.fits_answer else asked


class RequestSender:
    """Asks the models of one upstream; serves any number of questions at once.

    Args:
        configuration: Which upstream, and how requests to it are written.
        http: The connections to it.
        fingerprint: What tells it from others: a digest, never an address.
        tokens: Makes what is known of the tokens of a question to a model.
        refused: What the models refused before; None for nothing.
        server: The known server that it was found out to be; None for the one that the base URL tells.
        capabilities: Says what is known of a model by its id.
    """

    def __init__(
        self,
        configuration: GatewayConfiguration,
        http: UpstreamHTTP,
        fingerprint: str,
        tokens: Callable[[LanguageModelChatInformation, ModelCall], RequestTokens],
        refused: RefusedFields | None = None,
        server: KnownServer | None = None,
        capabilities: Callable[[str], ModelCapabilities] = lambda model_id: UNKNOWN_CAPABILITIES,
    ) -> None:
        self._configuration = configuration
        self._protocol = PROTOCOLS[configuration.protocol]
        self._upstream = asking(configuration.protocol)
        self._transport = Transport(http, configuration.timeouts, configuration.retry)
        self._files = LinkedFiles(configuration)
        self._counts = UpstreamCounts(DocumentFetcher(http), http.base_path, self._upstream.count)
        self._fingerprint = fingerprint
        self._tokens = tokens
        self._refused = refused or RefusedFields()
        self._server = server or server_at(configuration.base_url)
        self._capabilities = capabilities
        self._said: set[str] = set()

    async def send(self, model: LanguageModelChatInformation, question: ModelCall) -> None:
        """Asks a model and reports its answer.

        Raises:
            ContextLengthExceededError: The conversation is too long for the model.
            LanguageModelError: What else the upstream did wrong, or what the request cannot express.
        """
        try:
            await self._send(model, question)
        except UpstreamError as error:
            advise_on_key(error, self._configuration)
            raise

    async def _send(self, model: LanguageModelChatInformation, question: ModelCall) -> None:
        request = self._prepared(model, question)
        carried = request.prepared.carries & self._upstream.carries
        is_counted = request.prepared.whole.settings.count_tokens is CountTokens.UPSTREAM
        if is_counted or request.fits_answer:
            await self._estimate_first(request, carried, is_counted=is_counted)
        refused_before = self._refused.of(model.id)
        if refused_before:
            unset = self._completed(RequestSettings(), model)
            self._refused.say_what_is_left_out(self._upstream, request.asked(carried), unset)
        first = Sending(carried, refused_before)
        async with request.tokens.estimated_beside():
            answered = await send_without_what_is_refused(
                question, partial(self._attempt, request), first, partial(self._less_of, request)
            )
        self._refused.keep(model.id, answered.left_out)

    async def _estimate_first(self, request: _Request, carried: Carried, *, is_counted: bool) -> None:
        """Estimates the tokens before the request is sent, and has the upstream count them if that is wanted."""
        await request.tokens.estimate()
        if is_counted:
            asked = request.asked(carried)
            request.tokens.counted(await self._counts.count(self._upstream.write(asked), asked.settings.extra_headers))
        request.tokens.log_expected()

    def _less_of(self, request: _Request, error: UpstreamError, sending: Sending) -> Sending:
        """How the request is sent without what an error refuses."""
        unset = self._completed(RequestSettings(), request.model)
        return less_of(self._upstream, request.asked(sending.carried), unset, error, sending)

    def _prepared(self, model: LanguageModelChatInformation, question: ModelCall) -> _Request:
        configuration = self._configuration
        chosen = configuration.request_settings(model.id)
        settings = self._completed(chosen, model)
        origin = Origin(self._fingerprint, model.id)
        prefix = configuration.stream.call_id_prefix
        rules = self._upstream.conversation_rules(settings, model.id)
        prepared = prepare(origin, question.messages, question.options, settings, prefix, rules)
        self._say(prepared.notes)
        return _Request(question, origin, prepared, self._tokens(model, question), model, self._upstream.fits_answers)

    def _completed(self, settings: RequestSettings, model: LanguageModelChatInformation) -> RequestSettings:
        known = replace(settings, capabilities=self._capabilities(model.id))
        return self._upstream.complete_settings(known, self._configuration.base_url, model, self._server)

    async def _attempt(self, request: _Request, sending: Sending) -> None:
        """Sends the request once, in the given way.

        Raises:
            ContextLengthExceededError: The upstream says that its input is too long.
            UpstreamError: What else the upstream did wrong.
        """
        asked = request.asked(sending.carried)
        state = ResponseState(request.origin, request.prepared.names)
        report = AttemptReport(request.question, state, request.tokens, stores=asked.settings.stores)
        try:
            await self._stream(asked, sending.left_out, report, request)
        except UpstreamError as error:
            await request.tokens.settled()
            overflow = self._upstream.errors.overflow(error)
            if overflow is None and says_nothing(error) and request.tokens.is_nearly_full:
                overflow = Overflow()  # Cerebras refuses what is too long without a word
            if overflow is None:
                raise
            raise request.tokens.refused(error, overflow) from error

    async def _stream(
        self, asked: ChatRequest, left_out: frozenset[str], report: AttemptReport, request: _Request
    ) -> None:
        question = request.question
        exchange = UpstreamRequest(
            written(self._upstream, asked, left_out),
            self._protocol,
            self._upstream.errors,
            self._configuration.stream,
            asked.settings.extra_headers,
            loads_models=self._upstream.loads_models,
            session=asked.cache_key,
        )
        fetches = self._configuration.stream.files is FileMode.FETCH
        answer = stream_over_pauses(self._transport, exchange, self._upstream.resume, question.progress.wait)
        async with aclosing(answer) as batches:
            async for outputs in batches:
                for output in outputs:
                    if question.token.is_cancellation_requested:
                        return
                    if fetches and isinstance(output, DataPart) and is_linked(output):
                        output = await self._files.fetched(output)  # noqa: PLW2901 - the same file
                    if isinstance(output, Finish):
                        await request.tokens.settled()  # the end says how far the estimate was off
                    report.hand_on(output)
                await question.progress.drain()

    def _say(self, notes: Iterable[Note]) -> None:
        """Logs each kind of note once, because every request repeats the conversation."""
        for note in notes:
            if note.subject not in self._said and len(self._said) < _MAX_SAID:
                self._said.add(note.subject)
                _logger.warning("%s: %s; said once", note.where, note.subject)
