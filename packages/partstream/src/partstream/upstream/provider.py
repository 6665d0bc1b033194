"""The provider of a model server: its models, its answers, its token counts.

`GatewayProvider` is what hosts see. It asks for the list of models and for answers, each in one loop of attempts
(:mod:`partstream.upstream.attempts`): `_Answering` has the models and protocols that a question may go to, `_Listing`
the protocols in which a list may be had. One `RequestSender` at a time asks the models of one protocol. A protocol that
is set is never doubted. One that is detected is detected again when its path is missing, and the request is sent once
more if the finding is another one.
"""

from __future__ import annotations
import logging
from collections.abc import AsyncGenerator, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import replace
from partstream.errors import LanguageModelError, UpstreamError, with_facts
from partstream.lm.cancellation import CancellationToken, EventEmitter
from partstream.lm.completions import COMPLETION
from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.lm.outputs import ErrorMode, PausingStream, error_text
from partstream.lm.provider import LanguageModelChatInformation, LanguageModelChatProvider, Progress
from partstream.protocols.protocol import DEFAULT_PROTOCOL
from partstream.protocols.serve import WireRequest
from partstream.tokens import Counters, TokenCount
from partstream.tokens.accounting import TokenAccounting
from partstream.tokens.ledger import Ledger
from partstream.upstream import http_errors
from partstream.upstream.attempts import Asking, Attempts, Sending, carry_out, has_more_room, helps_another_model
from partstream.upstream.configuration import CaptureMode, GatewayConfiguration, Limits, fingerprint_of
from partstream.upstream.context import IS_ONE_ATTEMPT, current_capture, logging_from, run_here_until_cancelled
from partstream.upstream.forwarding import KeptReply, RawRequest
from partstream.upstream.http import Connections, OutboundHTTPRequest
from partstream.upstream.requests import ForwardingProgress, ModelCall, ModelRequest, RequestSender

if TYPE_CHECKING:
    from partstream.upstream.completing import Completing, Way
    from partstream.upstream.detection import Detected, Detector
    from partstream.upstream.spending import Spending

_logger = logging.getLogger("partstream.upstreams")


class GatewayProvider(LanguageModelChatProvider):
    """Offers the models of one upstream; serves any number of requests at once.

    What was learned of tokens before, and what models have refused, is in the `ledger`, which the code that made it
    closes; without one, it is learned anew, and so where the configuration wants none. Without exact `counters`, texts
    are estimated. `spending` admits the requests; it is None where there is no budget and no limit of requests.

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

    hosts_tools = True

    def __init__(
        self, configuration: GatewayConfiguration, *, ledger: Ledger | None = None, counters: Counters | None = None
    ) -> None:
        self.configuration = configuration
        self._did_change: EventEmitter[None] = EventEmitter()
        self.on_did_change_language_model_chat_information = self._did_change.event
        self._ledger = ledger if configuration.ledger else None
        self._accounting = TokenAccounting(configuration.fingerprint, self._ledger, counters)
        self.on_did_correct_token_counts = self._accounting.on_did_correct
        self._announce_change = partial(self._did_change.fire, None)  # of the list of models, or of what it says
        self._connections = Connections(configuration)
        self.spending: Spending | None = None
        if replace(configuration.limits, owner="") != Limits():
            from partstream.upstream.spending import Spending  # noqa: PLC0415 - few have limits

            self.spending = Spending(configuration)
        self._detector: Detector | None = None
        if configuration.is_detected:
            from partstream.upstream.detection import Detector  # noqa: PLC0415 - most upstreams say what they speak

            self._detector = Detector(configuration, self._connections)
        self._clients: dict[tuple[str, str], RequestSender] = {}  # that are detected, or complete text
        self._client = None if configuration.is_detected else self._made(configuration)
        self._completing: Completing | None = None

    async def provide_language_model_chat_information(
        self, silent: bool, token: CancellationToken
    ) -> Sequence[LanguageModelChatInformation]:
        """The configured models, or those that the upstream lists: the last known list at once, a new one later.

        Raises:
            UpstreamError: There is no list yet, and none can be had now.
        """
        own = self.configuration
        with logging_from(own.log_level):
            models = await self._information()
        return as_shown(models, own, None if self._detector is None else self._detector.known)

    async def provide_language_model_chat_response(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: Progress,
        token: CancellationToken,
    ) -> None:
        """Sends the request and reports the answer as it streams; the usage comes last, as a data part.

        A :class:`~partstream.lm.provider.FinishingProgress` gets the end of the answer, also when it failed.

        Raises:
            LanguageModelError: What the upstream did wrong, or what the request cannot express; nothing where the
                configuration wants errors as text.
        """
        captured = current_capture()
        if captured is not None and self.configuration.capture is CaptureMode.OFF:
            captured.leave_out()
        question = ModelCall(model.id, messages, options, ForwardingProgress(progress), token)
        with logging_from(self.configuration.log_level):
            await run_here_until_cancelled(self._answer(model, question), token)

    async def provide_token_count(
        self, model: LanguageModelChatInformation, text: str | ChatMessage, token: CancellationToken
    ) -> int:
        """The tokens of a text or a message, see :meth:`token_count`."""
        return (await self._accounting.read_and_count(model, text)).tokens

    async def forward_count(
        self, model: LanguageModelChatInformation, request: RawRequest, token: CancellationToken
    ) -> bytes | None:
        """The document in which an upstream of the same wire counts the tokens of a request, see
        :class:`partstream.server.models.ForwardingProvider`."""
        with logging_from(self.configuration.log_level):
            try:
                return await (await self._spoken()).forward_count(model, request)
            except LanguageModelError as error:
                _logger.info("nothing is known of what the server speaks, so it counts nothing: %s", error)
                return None

    @asynccontextmanager
    async def forward_kept(self, model: LanguageModelChatInformation, asked: WireRequest) -> AsyncGenerator[KeptReply]:
        """The upstream's account of an answer that it keeps, see :class:`partstream.server.models.KeepingProvider`."""
        sender = await self._spoken()
        headers = {**sender.writer.document_headers, **asked.headers}
        own, path = sender.configuration.request_settings(model.id).extra_headers, sender.http.base_path + asked.path
        request = OutboundHTTPRequest(asked.method, path, asked.query, None, headers, own)
        async with sender.transport.kept(request) as reply:
            yield reply

    def token_count(self, model: LanguageModelChatInformation, text: str | ChatMessage) -> TokenCount:
        """The tokens of a text or a message, and whether they were reported, counted or estimated."""
        return self._accounting.count(model, text)

    def token_count_factor(self, model: LanguageModelChatInformation) -> float:
        """The factor that corrects estimates for a model, from its upstream's reports; 1 while it is unknown."""
        return self._accounting.factor(model.family)

    async def budget_standing(self) -> str | None:
        """The state of the budget, such as `Your budget: 1.20 USD of 5 USD/day`; None without one."""
        standing = None if self.spending is None else await self.spending.standing()
        return None if standing is None else str(standing)

    async def aclose(self) -> None:
        """Stops asking, and closes the connections that are kept open."""
        if self._detector is not None:
            await self._detector.aclose()
        for client in (*self._clients.values(), self._client):
            if client is not None:
                await client.models.aclose()
        await self._connections.aclose()
        if self.spending is not None:
            await self.spending.aclose()

    async def _information(self) -> Sequence[LanguageModelChatInformation]:
        """The models, each with the lower limit of its list and of its upstream's refusals.

        Raises:
            LanguageModelError: There is no list yet, and none can be had now.
        """
        models, limited = await self._listed(), []
        learned = self._accounting.learned_limits()
        for model in models:
            limit = learned.get(model.id)
            if limit is not None and limit < model.max_input_tokens:
                told = f"Input: {limit:,} tokens at most, as the server said when it refused more"
                tooltip = "\n".join(filter(None, (model.tooltip, told)))
                model = replace(model, max_input_tokens=limit, tooltip=tooltip)  # noqa: PLW2901 - the same model
            limited.append(model)
        return tuple(limited)

    async def _listed(self) -> Sequence[LanguageModelChatInformation]:
        if self.configuration.models:  # without a request
            return self.configuration.models
        if not self.configuration.discovers:  # nor here
            usual = self.configuration.spoken(DEFAULT_PROTOCOL, self.configuration.base_url)
            return await (self._client or self._made(usual)).models.information()
        listing = _Listing(self, await self._spoken())
        await carry_out(listing, Attempts())
        return listing.models

    async def _answer(self, model: LanguageModelChatInformation, question: ModelCall) -> None:
        """Asks for the answer, fallback models included, and passes the end to the progress.

        Raises:
            LanguageModelError: The error, unless the configuration wants a text of the answer to say it.
        """
        progress = question.progress
        try:
            await self._ask(model, question)
        except LanguageModelError as error:
            if question.token.is_cancellation_requested:
                raise
            said = with_facts(str(error), error)
            if self.configuration.errors is ErrorMode.REJECT:
                _logger.debug("%s could not answer: %s", question.shown_model_id, said)  # the hosts say it to people
                progress.ended(error)
                raise
            told = "%s could not answer, which a text of the answer says: %s"
            _logger.error(told, question.shown_model_id, said)  # noqa: TRY400
            progress.report(error_text(error, has_begun=progress.has_begun))
            progress.ended(error)
            return
        if not question.token.is_cancellation_requested:
            progress.ended()

    async def _ask(self, model: LanguageModelChatInformation, question: ModelCall) -> None:
        """Asks a model, and its fallback models where it fails; completions in the ways that the server has for them.

        Raises:
            LanguageModelError: What the upstream did wrong, or what the request cannot express.
        """
        chat = await self._spoken()

        asking = _Answering(self, chat, question)
        if COMPLETION not in question.options.model_options:
            await carry_out(asking, Attempts(await asking.open(model)))
            return

        async def ask(way: Way) -> None:
            asking = _Answering(self, chat, question)
            if way.protocol is not None:
                place = (way.protocol, way.base_url)
                if place not in self._clients:  # the upstream at another endpoint than that of its conversations
                    self._clients[place] = self._made(chat.configuration.spoken(*place), chat=chat)
                asking = _Completing(self, self._clients[place], question)
            await carry_out(asking, Attempts(await asking.open(model)))

        from partstream.upstream.completing import Completing, ways_at  # noqa: PLC0415 - most upstreams only chat

        self._completing = self._completing or Completing()
        ways = ways_at(chat.configuration, chat.server, model.id)
        await self._completing.complete(ways, model.id, question, ask)

    async def fallbacks_of(self, model: LanguageModelChatInformation) -> list[LanguageModelChatInformation]:
        """The fallback models of a model; unknown ones are taken to be like it. None where the caller has others."""
        ids = self.configuration.fallbacks.get(model.id, ())
        if not ids or IS_ONE_ATTEMPT.get():
            return []
        try:
            models = await self._information()
        except UpstreamError as error:
            _logger.info("nothing is known of the models to fall back on: %s", error)
            models = ()
        known = {one.id: one for one in models}
        return [known.get(model_id) or replace(model, id=model_id) for model_id in ids]

    # ---- the protocol, which is never doubted where it is set ----

    async def after(self, error: UpstreamError, client: RequestSender, if_right: str) -> RequestSender | None:
        """The upstream as it is detected after a path was missing; None with advice in the error if it is no other,
        which is `if_right` where the endpoint is there."""
        if self._detector is None or client.detected is None:
            from partstream.upstream.detection import advice_on_protocol  # noqa: PLC0415 - for an error alone

            try:
                error.advise(await advice_on_protocol(self.configuration, self._connections, if_right))
            except LanguageModelError as second:  # the key is gone meanwhile: the first error is what counts
                _logger.info("nothing is known of what the server speaks: %s", second)
            return None
        found = await self._detector.detected_again(client.detected)
        again = self._of(found) if found.is_certain else client
        if again is client:
            error.advise(if_right if found.is_certain else found.advice)
            return None
        _logger.warning("asking again at %s: %s; before, %s", found.shown_url, found.says, error.statement)
        return again

    async def _spoken(self) -> RequestSender:
        """The upstream in the protocol that is set or found out.

        Raises:
            CredentialError: The key cannot be had.
            LanguageModelError: The proxy or the certificates that this machine names are not usable.
        """
        if self._detector is not None:
            return self._of(await self._detector.detected())
        assert self._client is not None  # noqa: S101 - for the type checker: made at once where nothing is detected
        return self._client

    def _of(self, found: Detected) -> RequestSender:
        """The upstream as it was found out; the one before, which requests may still use, is closed at the end."""
        before, place = self._client, (found.protocol, found.base_url)
        self._client = client = self._clients.get(place) or self._made(self.configuration.spoken(*place), found)
        self._clients[place], client.detected = client, found
        if client is not before and (before is not None or not self.configuration.discovers):
            self._announce_change()  # the list was given without it
        return client

    def _made(
        self, own: GatewayConfiguration, found: Detected | None = None, chat: RequestSender | None = None
    ) -> RequestSender:
        """The upstream in one protocol, as it was found out or set; or at an endpoint beside that of its chats."""
        fingerprint = fingerprint_of(own.protocol, self.configuration.base_url)
        known = self._accounting, self._ledger, self.spending
        return RequestSender(own, self._connections, fingerprint, *known, self._announce_change, found, chat)


class _Spoken(Asking):
    """What an upstream is asked in the protocol that it speaks, as far as that is known. `if_right` is the advice where
    a path is missing all the same."""

    if_right = ""

    def __init__(self, provider: GatewayProvider, client: RequestSender) -> None:
        self._provider = provider
        self.client = client

    async def redetect(self, error: UpstreamError) -> Sending | None:
        again = await self._provider.after(error, self.client, self.if_right)
        if again is None or not self.may_begin_anew:
            return None
        self.client = again
        return await self.begin()

    async def begin(self) -> Sending:
        """How the request is sent at first."""
        return Sending()

    def give_up(self, error: BaseException) -> None:
        found = self.client.detected
        # Where a path is missing, detection advises.
        if isinstance(error, UpstreamError) and found is not None and not found.is_certain:
            error.advise("" if http_errors.says_path_is_missing(error) else found.advice)


class _Listing(_Spoken):
    """The request for the list of models."""

    models: Sequence[LanguageModelChatInformation] = ()
    if_right = http_errors.NO_LIST_ADVICE

    async def send(self, attempts: Attempts) -> None:
        self.models = await self.client.models.information()


class _Answering(_Spoken):
    """A question to a model, and to its fallback models."""

    def __init__(self, provider: GatewayProvider, client: RequestSender, question: ModelCall) -> None:
        super().__init__(provider, client)
        self._question = question
        self._others: list[LanguageModelChatInformation] | None = None
        self._model: LanguageModelChatInformation
        self._request: ModelRequest

    def announce(self, reason: str, seconds: float) -> None:
        self._question.progress.wait(reason, seconds)

    def send(self, attempts: Attempts) -> Coroutine[Any, Any, PausingStream | None]:
        sending, admission = self._request.send(attempts), self._request.admission
        return sending if admission is None else admission.metered(sending)

    def with_less(self, error: UpstreamError, sending: Sending) -> Sending:
        return self._request.with_less(error, sending)

    @property
    def may_begin_anew(self) -> bool:
        return self._question.may_be_asked_again

    def open(self, model: LanguageModelChatInformation) -> Coroutine[Any, Any, Sending]:
        """Has a model asked from now on; gives how the request to it is sent at first."""
        self._model = model
        return self.begin()

    async def begin(self) -> Sending:
        sender = self.client
        self.errors, self.policy = sender.writer.errors, sender.configuration.retry
        self.credentials = sender.http.credentials
        is_priced = sender.spending is not None and sender.spending.counts_money and not sender.configuration.models
        if is_priced and sender.models.pricing(self._model.id) is None:
            with suppress(LanguageModelError):  # then it has no price, which the request says
                await sender.models.information()
        self._request = await sender.open(self._model, self._question)
        self.weight = self._request.weight
        if sender.spending is not None:
            await self._request.admit(sender.spending)
        return self._request.first

    async def next_model(self, error: UpstreamError) -> Sending | None:
        if self._others is None:
            self._others = await self._provider.fallbacks_of(self._model)
        before = self._model
        if not self._others or not self.may_begin_anew:
            return None
        following = self._others[0]
        if not helps_another_model(error, self.errors) and not has_more_room(following, before, error):
            return None
        del self._others[0]
        _logger.warning("%s cannot answer, asking %s in its place: %s", before.id, following.id, error)
        return await self.open(following)

    def give_up(self, error: BaseException) -> None:
        super().give_up(error)
        self._request.give_up(error)


class _Completing(_Answering):
    """A question to an endpoint that completes text; where it is missing or fails, another way is tried."""

    async def begin(self) -> Sending:
        sending = await super().begin()
        self.policy = None  # some servers answer 500 to a suffix, and who types does not wait
        return sending

    async def redetect(self, error: UpstreamError) -> Sending | None:
        return None


# ---- What a list of models shows of the upstream as a whole ----

_ICON: Final = {"id": "warning"}
"""A `ThemeIcon` of VS Code, shown beside the model in the picker and in the editor of groups."""


def as_shown(
    models: Iterable[LanguageModelChatInformation], configuration: GatewayConfiguration, detected: Detected | None
) -> tuple[LanguageModelChatInformation, ...]:
    """The models of an upstream: the detail of each names its fallback models, and its tooltip how the protocol was
    found out. Warnings are a text with an icon: VS Code has no other place beside a group that works."""
    said, shown = "; ".join(configuration.warnings), []
    for model in models:
        changes: dict[str, Any] = {}
        if others := configuration.fallbacks.get(model.id):
            changes["detail"] = "; ".join(filter(None, (model.detail, f"falls back on {', '.join(others)}")))
        if detected is not None:
            changes["tooltip"] = "\n".join(filter(None, (model.tooltip, detected.says)))
        if said:
            texts: Any = model.extra.get("warningText", {})
            warned = {"statusIcon": _ICON, "warningText": {**texts, "partstream.settings": said}}
            tooltip = "\n\n".join(filter(None, (said, changes.get("tooltip", model.tooltip))))
            changes |= {"extra": {**model.extra, **warned}, "tooltip": tooltip}
        shown.append(replace(model, **changes) if changes else model)
    return tuple(shown)
