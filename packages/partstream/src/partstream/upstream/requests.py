"""A host's question as one model of one upstream is asked it: prepared, counted, sent and reported.

`RequestSender` knows the upstream; `ModelRequest` is one question to one model. A `TranslatedRequest` prepares it in no
protocol's words and writes it on the upstream's wire; a `ForwardedRequest` sends a client's request on as it came. Both
have the tokens estimated, beside the request where the number is not needed before, and are sent over
:mod:`partstream.upstream.transport`, one HTTP request at a time. :mod:`partstream.upstream.attempts` decides whether
another one follows; `ModelRequest.with_less` says what the request can do without after a refusal: state of earlier
answers, or optional fields of the body. `RefusedFields` remembers what each model refused.

`AttemptReport` reports parts as they arrive, then the marker for the next request, then the usage, which consumers take
for the last part. The cost of an answer follows from a person's prices, else the upstream reports it, else it follows
from list prices.
"""

from __future__ import annotations
import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import lru_cache, partial
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final

from partstream import errors
from partstream.codec.checks import MOST_DOLLARS, as_amount, as_count, dataclass, replace, unusable_counts
from partstream.codec.limits import LARGE_BYTES, dumps_in_pieces, is_long
from partstream.conversation import preparation, turns
from partstream.conversation.media import is_address
from partstream.conversation.provider_state import Carried, Origin
from partstream.lm import parts
from partstream.lm.messages import ToolMode
from partstream.lm.outputs import FileMode, Finish, Outcome, StreamOutput, Unmapped
from partstream.lm.parts import UnifiedFinishReason
from partstream.protocols.errors import ErrorKind, Overflow, wait_in_sentence
from partstream.protocols.protocol import PROTOCOLS, CountEndpoint, asking
from partstream.settings.known_servers import KnownServer, known_server, server_at
from partstream.tokens import CountSource, TokenCount
from partstream.tokens.accounting import LIMIT_SECONDS, RequestEstimate, TokenAccounting, size_of_message, size_of_tools
from partstream.tokens.amounts import usage_cost
from partstream.tokens.counting import weight_of
from partstream.upstream.attempts import MOST_PAUSES, Attempts, Sending
from partstream.upstream.context import in_thread, report_dropped
from partstream.upstream.discovery import ModelList, document_in
from partstream.upstream.forwarding import Obstacle, is_usual, obstacle_at, says_something
from partstream.upstream.http import Connections, UpstreamHTTP
from partstream.upstream.http_errors import advise_on_key, in_own_words
from partstream.upstream.transport import Transport, UpstreamRequest, body_document, fetched_file

if TYPE_CHECKING:
    from partstream.errors import LanguageModelError
    from partstream.lm.cancellation import CancellationToken
    from partstream.lm.messages import ChatMessage, RequestOptions
    from partstream.lm.outputs import PausingStream
    from partstream.lm.parts import ResponsePart, Usage
    from partstream.lm.provider import FinishingProgress, LanguageModelChatInformation, Progress
    from partstream.protocols.serve import WireRequest
    from partstream.tokens.ledger import Ledger
    from partstream.upstream.configuration import GatewayConfiguration
    from partstream.upstream.detection import Detected
    from partstream.upstream.discovery import Fetch
    from partstream.upstream.forwarding import Passage, RawRequest
    from partstream.upstream.model_information import Pricing
    from partstream.upstream.spending import Admission, Spending

_logger = logging.getLogger("partstream.upstreams")


@dataclass(slots=True)  # not frozen, see `RawRequest`
class ModelCall:
    """A conversation whose next message is asked for; a value, for any of the models that may be asked.

    The host names the model as `shown_model_id`; `token` is cancelled when no caller waits for the answer any more.
    """

    shown_model_id: str
    messages: Sequence[ChatMessage]
    options: RequestOptions
    progress: ForwardingProgress
    token: CancellationToken

    @property
    def may_be_asked_again(self) -> bool:
        """Whether another attempt may follow: nothing was reported, and the caller still waits."""
        return not self.progress.has_begun and not self.token.is_cancellation_requested


_MAX_SAID: Final = 1000
_MOST_KEPT: Final = 256
"""The models whose completed settings are kept."""


class RequestSender:
    """Asks the models of one upstream in one protocol; serves any number of questions at once.

    Args:
        fingerprint: Its identity: a digest, never an address.
        ledger: Has what the models refused before; None where it is learned anew.
        spending: Admits each request; None where there is no budget and no limit of requests.
        on_change: Called when the list of models, or the limit of one, has changed.
        detected: How the protocol was found out; None where it was set.
        chat: Who asks the same upstream for its chats, where this is an endpoint beside that.
    """

    def __init__(
        self,
        configuration: GatewayConfiguration,
        connections: Connections,
        fingerprint: str,
        accounting: TokenAccounting,
        ledger: Ledger | None,
        spending: Spending | None,
        on_change: Callable[[], None],
        detected: Detected | None = None,
        chat: RequestSender | None = None,
    ) -> None:
        self.configuration = configuration
        self.detected = detected
        self.protocol = PROTOCOLS[configuration.protocol]
        self.writer = asking(configuration.protocol)
        self.http = http = UpstreamHTTP(configuration, connections)
        self.transport = Transport(http, configuration.timeouts)
        self.counts = UpstreamCounts(http.fetch, http.base_path, self.writer.count)
        self.fingerprint = fingerprint
        self.models: ModelList = ModelList(configuration, http.fetch, on_change) if chat is None else chat.models
        self.accounting = accounting
        self.on_change = on_change
        self.refused = RefusedFields(fingerprint, ledger)
        self.spending = spending
        self.server: KnownServer | None = server_at(configuration.base_url) if chat is None else chat.server
        if detected is not None and detected.server:
            self.server = known_server(detected.server)
        self._said: set[str] = set()
        self._known: dict[str, tuple[object, preparation.RequestSettings, preparation.ConversationRules]] = {}
        self._is_usual = lru_cache(_MOST_KEPT)(partial(is_usual, configuration))

    async def open(self, model: LanguageModelChatInformation, question: ModelCall) -> ModelRequest:
        """The request that asks a model.

        Raises:
            LanguageModelError: The request cannot be expressed on this wire.
        """
        passage = question.progress.passage
        if passage is not None:
            size = len(passage.request.body or b"") or _weight(question)
            forwarded = await in_thread(size, self._forwarded, model, question, size, passage)
            if isinstance(forwarded, ForwardedRequest):
                return forwarded
            _logger.debug("the request to %s is translated: %s", model.id, forwarded.value)
            passage.leave()
            passage.request.check_translatable()
            if passage.request.unread:
                report_dropped(passage.request.unread)
        weight = _weight(question)
        request = await in_thread(weight, TranslatedRequest, self, model, question, weight)
        await request.prepare()
        return request

    async def forward_count(self, model: LanguageModelChatInformation, raw: RawRequest) -> bytes | None:
        """The document in which the upstream counts the tokens of a request of its own wire; None where it is not
        asked, or does not say it in time."""
        opened, obstacle = self._judged(model, raw, (raw.messages, raw.options))
        if obstacle not in (None, Obstacle.LIMIT):  # an answer alone has a limit
            return None
        settings = self.configuration.request_settings(model.id)
        question, content = opened.wire(model.id, {}, self.writer.document_headers)
        found = await self.counts.answer(question, content, settings.extra_headers)
        return None if found is None else found[1]

    def _forwarded(
        self, model: LanguageModelChatInformation, question: ModelCall, size: int, passage: Passage
    ) -> ForwardedRequest | Obstacle:
        raw, obstacle = self._judged(model, passage.request, (question.messages, question.options))
        obstacle = obstacle if passage.is_open else Obstacle.BEGUN
        return obstacle or ForwardedRequest(self, model, question, size, passage, raw)

    def _judged(
        self, model: LanguageModelChatInformation, raw: RawRequest, asked: tuple[object, object]
    ) -> tuple[RawRequest, Obstacle | None]:
        """The request for this upstream, and why it is translated; None where it is not."""
        opened = raw.opened(Origin(self.fingerprint, model.id), seals=self.http.seals) if raw.is_sealed else raw
        if opened is None:
            return raw, Obstacle.OWN_STATE
        reads, is_plain = self.models.capabilities(model.id).reads_tool_choice, self._is_usual(model.id)
        about = self.configuration, self.writer.path, model.id
        return opened, obstacle_at(opened, asked, *about, reads_tool_choice=reads, is_usual=is_plain)

    def completed(
        self, settings: preparation.RequestSettings, model: LanguageModelChatInformation
    ) -> tuple[preparation.RequestSettings, preparation.ConversationRules]:
        """The settings of requests to a model, with what is known of it and its server, and the rules of that."""
        made_of = settings, self.models.capabilities(model.id), model
        known = self._known.get(model.id)
        if known is None or known[0] != made_of:
            whole = replace(settings, capabilities=made_of[1])
            completed = self.writer.complete_settings(whole, self.configuration.base_url, model, self.server)
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            known = self._known[model.id] = made_of, completed, self.writer.conversation_rules(completed, model.id)
        return known[1:]

    def exchange(
        self, request: WireRequest, settings: preparation.RequestSettings, session: str | None, **passing: Any
    ) -> UpstreamRequest:
        """A request and how its answer is read, with what its kind has besides."""
        writer, stream = self.writer, self.configuration.stream
        own, loads = settings.extra_headers, writer.loads_models
        read = self.protocol, writer.errors, stream
        return UpstreamRequest(request, *read, own, loads_models=loads, session=session, **passing)

    def check_tools(self, model_id: str, options: RequestOptions) -> None:
        """Names tools that no prompt of the model has.

        Raises:
            RequestNotExpressibleError: The model must call one of them.
        """
        if not options.tools or not self.models.capabilities(model_id).drops_tools:
            return
        if options.tool_mode is ToolMode.REQUIRED:
            expected = f"ToolMode.AUTO: {_DROPS_TOOLS}"
            raise errors.RequestNotExpressibleError("a demand for a call", "tool_mode", expected)
        self.say([turns.Note(f"no tools reach {model_id}: {_DROPS_TOOLS}", "tools")])
        report_dropped(["tools"])

    def say(self, notes: Iterable[turns.Note]) -> None:
        """Logs each kind of note once, because every request repeats the conversation."""
        for note in notes:
            if note.subject not in self._said and len(self._said) < _MAX_SAID:
                self._said.add(note.subject)
                _logger.warning("%s: %s; said once", note.where, note.subject)


_DROPS_TOOLS: Final = "the chat template of the model names none, so its server leaves them out of the prompt"
_WEIGHT_OF_TOOL: Final = 512


def _weight(question: ModelCall) -> int:
    return _WEIGHT_OF_TOOL * len(question.options.tools) + weight_of(question.messages)


class ModelRequest:
    """One question to one model of one upstream; lives for one question. `weight` is about how many bytes it has, and
    `first` how it is sent at first."""

    first = Sending()

    def __init__(
        self, sender: RequestSender, model: LanguageModelChatInformation, question: ModelCall, weight: int
    ) -> None:
        self._sender = sender
        self._model = model
        self._question = question
        self.weight = weight
        asked, pricing = (question.messages, question.options), sender.models.pricing(model.id)
        self._tokens = RequestTokens(sender.accounting, model, *asked, pricing, sender.on_change)
        self._tokens.weight = weight
        self._passage: Passage | None = None
        self._doubted: frozenset[str] = frozenset()  # fields that only a text of the request may have named as refused
        self.admission: Admission | None = None  # None without limits
        sender.check_tools(model.id, question.options)
        self._exchange: UpstreamRequest
        self._next: UpstreamRequest  # the same, or what goes on with its answer
        self._report: AttemptReport

    def with_less(self, error: errors.UpstreamError, sending: Sending) -> Sending:
        """How it is sent without what an error refuses; the same way where the error is about something else."""
        raise NotImplementedError

    def _refused(self, error: errors.UpstreamError, body: Mapping[str, Any]) -> frozenset[str]:
        """The fields of a body that an error refuses, in the server's own words if these name any."""
        refused_fields = self._sender.writer.errors.refused_fields
        if fields := refused_fields(error, body):
            if own := refused_fields(in_own_words(error, body), body):
                return own
            self._doubted |= fields
        return fields

    def _begin(self, sending: Sending) -> tuple[UpstreamRequest, AttemptReport]:
        """The request as it is sent, and the report of its answer."""
        raise NotImplementedError

    async def admit(self, spending: Spending) -> None:
        """Waits until a budget and the limits of requests let it begin.

        Raises:
            LanguageModelError: They do not.
        """
        sender, model, price = self._sender, self._model, self._tokens.pricing
        from partstream.upstream.spending import bound_of  # noqa: PLC0415 - few have limits

        question, limit = self._question, sender.configuration.request_settings(model.id).max_output_tokens
        weight = max(self.weight, weight_of(question.messages))
        bound = await in_thread(weight, bound_of, model, question, limit, price)
        self.admission = await spending.admit(model.id, bound, question.progress.wait)

    def give_up(self, error: BaseException) -> None:
        """Takes the failure of the request; it is not sent again."""
        if self.admission is not None:
            self.admission.settle(error)
        self._tokens.close()
        if isinstance(error, errors.UpstreamError):
            advise_on_key(error, self._sender.configuration)

    async def send(self, attempts: Attempts) -> PausingStream | None:
        """Sends it once, and reports the answer; gives the answer if the upstream has paused it.

        Raises:
            ContextLengthExceededError: The upstream says that its input is too long.
            UpstreamError: What else the upstream did wrong.
        """
        sender, paused = self._sender, attempts.paused
        if paused is None:
            self._exchange, self._report = await in_thread(self.weight, self._begin, attempts.sending)
            if self.weight > LARGE_BYTES:
                self._exchange = replace(self._exchange, is_large=True)
            self._next = self._exchange
            self._tokens.estimate_beside()
        elif paused.paused is not None:  # once: what is sent again after a failure is the same
            request = sender.writer.resume(self._exchange.request, paused.paused)
            self._next = replace(self._exchange, request=request, paused=paused)
        exchange = self._next
        if attempts.pauses >= MOST_PAUSES:
            exchange = replace(exchange, goes_on=False)
        fetches = self._passage is None and sender.configuration.stream.files is FileMode.FETCH
        try:
            paused = await sender.transport.ask(exchange, attempts, self._fetch if fetches else self._take)
            failure = self._report.failure
            if failure is not None:
                # Some servers begin a stream, and say only then, with a status, that they are busy.
                has_status = isinstance(failure, errors.UpstreamFailureError) and failure.http_status is not None
                is_new = attempts.paused is None and not self._question.progress.has_begun
                attempts.is_unread = is_new and has_status
                # Here, so that a traceback that shows variables shows nothing that the upstream sent.
                raise failure
        except errors.UpstreamError as error:
            if (too_long := await self._read(error, exchange)) is None:
                raise
            raise too_long from error
        if paused is None and (left_out := attempts.sending.left_out - self._doubted):
            sender.refused.keep(self._model.id, left_out)
        return paused

    async def _read(
        self, error: errors.UpstreamError, exchange: UpstreamRequest
    ) -> errors.ContextLengthExceededError | None:
        """Learns from a failure, but for what it repeats of the request; gives the error of an input that is too long,
        if it says that."""
        said, of_wire = getattr(error, "provider_message", None), self._sender.writer.errors
        if error.retry_after is not None and wait_in_sentence(said) == error.retry_after:
            own = await in_thread(self.weight, in_own_words, error, exchange.request.body)
            error.retry_after = wait_in_sentence(own.provider_message)
        overflow = of_wire.overflow(error)
        is_wordless = isinstance(error, errors.UpstreamHTTPError) and error.http_status == 400 and not error.body
        if overflow is None and not is_wordless:
            return None
        await self._tokens.estimated()
        if overflow is None and not self._tokens.is_nearly_full:
            return None
        # Cerebras refuses what is too long without a word.
        own = await in_thread(self.weight, in_own_words, error, exchange.request.body)
        return self._tokens.refused(error, overflow or Overflow(), teaches=overflow == of_wire.overflow(own))

    def _take(self, outputs: list[StreamOutput]) -> Awaitable[object] | None:
        """Reports the outputs of one read; gives what has to be awaited before the next read."""
        question, passage = self._question, self._passage
        if passage is not None and not passage.has_begun and says_something(outputs):
            passage.commit()
        admission = self.admission
        for output in outputs:
            if question.token.is_cancellation_requested:
                return None
            if isinstance(output, Finish):
                return self._end(output)
            if admission is not None:
                admission.see(output)
            self._report.hand_on(output)
        return question.progress.drain()

    async def _fetch(self, outputs: list[StreamOutput]) -> None:
        """Reports the outputs of one read with the files that they name."""
        for output in outputs:
            if isinstance(output, parts.DataPart) and is_address(output):
                output = await fetched_file(self._sender.configuration, output)  # noqa: PLW2901 - the same file
            if (waiting := self._take([output])) is not None:
                await waiting

    async def _end(self, finish: Finish) -> None:
        if self._passage is not None:
            self._passage.settle()
        await self._tokens.settled()  # the end says how far the estimate was off
        finish = self._tokens.believed(finish)
        if self.admission is not None and finish.usage is not None:
            self.admission.report(cost_of(finish, self._tokens.pricing), finish.usage)
        self._report.end(finish)
        if (waiting := self._question.progress.drain()) is not None:
            await waiting


class TranslatedRequest(ModelRequest):
    """A request that is written on the upstream's wire."""

    def __init__(
        self, sender: RequestSender, model: LanguageModelChatInformation, question: ModelCall, weight: int
    ) -> None:
        super().__init__(sender, model, question, weight)
        configuration, writer = sender.configuration, sender.writer
        settings, rules = sender.completed(configuration.request_settings(model.id), model)
        self._origin = Origin(sender.fingerprint, model.id)
        prefix = configuration.stream.call_id_prefix
        prepared = preparation.prepare(self._origin, question.messages, question.options, settings, prefix, rules)
        if notes := (*prepared.notes, *writer.notes(prepared.whole)):
            sender.say(notes)
            report_dropped(name for note in notes for name in note.dropped)
        self._prepared = prepared

    async def prepare(self) -> None:
        """Has the tokens counted where the request or a setting needs them, and leaves out what was refused before."""
        sender, prepared = self._sender, self._prepared
        if carried := prepared.carries:
            carried &= sender.writer.carries
        is_counted = prepared.whole.settings.count_tokens is preparation.CountTokens.UPSTREAM
        if is_counted or prepared.rules.fits_answer:
            await self._tokens.estimate()
            if is_counted:
                asked = self._asked(carried)
                question, headers = sender.writer.write(asked), asked.settings.extra_headers
                self._tokens.counted(await sender.counts.count(question, headers))
            self._tokens.log_expected()
        self.first = Sending(carried, sender.refused.of(self._model.id))
        if (unsaid := self.first.left_out.difference(sender.refused.said.get(self._model.id, ()))) and (
            missing := self._changing(sender.writer.write(asked := self._asked(carried)), unsaid)
        ):
            # Refused before this program began: a person may not know of it.
            sender.refused.said[self._model.id] |= missing
            level, whose = self._importance(asked, missing)
            _logger.log(level, "%s refused %s before%s: left out", self._model.id, _shown(missing), whose)

    def with_less(self, error: errors.UpstreamError, sending: Sending) -> Sending:
        """See :meth:`ModelRequest.with_less`."""
        writer, asked = self._sender.writer, self._asked(sending.carried)
        carried = sending.carried.without_first(writer.errors.refused(error))
        if carried != sending.carried:
            _logger.info("sending the whole request again: the upstream refused what it carried (%s)", error)
            return replace(sending, carried=carried)
        sent = self._written(asked, sending.left_out)
        fields = self._refused(error, sent.body) - sending.left_out
        less = writer.leave_out(sent, fields)
        if not fields or less == sent:
            return sending
        # The plain values that the second request has and the first had not: twins, other values, and headers.
        values = {**less.body, **{name: less.headers[name] for name in fields & less.headers.keys()}}
        in_its_place = {
            name: value
            for name, value in values.items()
            if isinstance(value, str | int | float) and sent.body.get(name, sent.headers.get(name)) != value
        }
        how = ", ".join(f"with {name} {value!r:.40}" for name, value in in_its_place.items()) or "without it"
        level, whose = self._importance(asked, fields)
        if any(not name.startswith("max_") for name in in_its_place):
            level = logging.WARNING
        told = "%s refuses %s%s: sent again %s; %s"
        _logger.log(level, told, self._model.id, _shown(fields), whose, how, error)
        return replace(sending, left_out=sending.left_out | fields)

    def _importance(self, asked: preparation.ChatRequest, names: frozenset[str]) -> tuple[int, str]:
        """The level at which the log says that fields are left out, and which of them a person chose: by an option, in
        the picker, or in a setting. It is a warning where the answer may be another one than that person asked for."""
        settings, _ = self._sender.completed(preparation.RequestSettings(), self._model)
        plain = replace(asked, options={}, reasoning_effort=None, context_size=None, settings=settings)
        chosen = names - self._changing(self._sender.writer.write(plain), names)
        return (logging.WARNING, f" (you set {_shown(chosen)})") if chosen else (logging.INFO, "")

    def _changing(self, request: WireRequest, names: frozenset[str]) -> frozenset[str]:
        """The fields without which a request is another one."""
        return frozenset(name for name in names if self._sender.writer.leave_out(request, {name}) != request)

    def _written(self, asked: preparation.ChatRequest, left_out: frozenset[str]) -> WireRequest:
        """A request on its wire, without the optional fields that are left out.

        Raises:
            RequestNotExpressibleError: The protocol has no form for something in the request.
        """
        writer = self._sender.writer
        request = writer.write(asked)
        if writer.identify is not None:
            request = writer.identify(request, token_hex(_IDENTITY_SIZE))
        return writer.leave_out(request, left_out) if left_out else request

    def _asked(self, carried: Carried) -> preparation.ChatRequest:
        """The request with at most the state in `carried`, and with its expected tokens where it needs them."""
        asked = self._prepared.request(carried)
        return replace(asked, input_tokens=self._tokens.expected) if self._prepared.rules.fits_answer else asked

    def _begin(self, sending: Sending) -> tuple[UpstreamRequest, AttemptReport]:
        sender, asked = self._sender, self._asked(sending.carried)
        state = preparation.ResponseState(self._origin, self._prepared.names)
        prefix = sender.configuration.stream.call_id_prefix
        request = self._written(asked, sending.left_out)
        most = as_count(request.body.get("max_output_tokens")), asked.settings.capabilities.context_window
        report = AttemptReport(self._question, state, self._tokens, prefix, most, stores=asked.settings.stores)
        return sender.exchange(request, asked.settings, asked.cache_key, goes_on=sender.writer.pauses), report


_NAMES_OF_FILES: Final = (b"url", b"uri", b"Uri", b"file")
"""One of them is in the name of every field by which a wire names a file."""


class ForwardedRequest(ModelRequest):
    """A client's request that goes on as it came, see :mod:`partstream.upstream.forwarding`."""

    def __init__(
        self,
        sender: RequestSender,
        model: LanguageModelChatInformation,
        question: ModelCall,
        weight: int,
        passage: Passage,
        raw: RawRequest,
    ) -> None:
        super().__init__(sender, model, question, weight)
        _logger.debug("the request to %s is sent on as it came", model.id)
        self._settings = settings = sender.configuration.request_settings(model.id)
        self._passage = passage
        self._raw = raw = raw.limited(settings.max_output_tokens)
        completed, _ = sender.completed(settings, model)
        self._window = completed.capabilities.context_window
        self._usage = sender.writer.usage_fields(raw.document, completed, model.id) if raw.stream_type else {}
        if raw.body and max(map(raw.body.find, _NAMES_OF_FILES)) < 0:
            self._tokens.sizes = (len(raw.body),)
        if refused := sender.refused.of(model.id):
            self.first = Sending(left_out=refused)

    def with_less(self, error: errors.UpstreamError, sending: Sending) -> Sending:
        """See :meth:`ModelRequest.with_less`; of what the client has sent, nothing is left out."""
        sent = {**self._raw.document, **self._usage}
        fields = self._refused(error, sent) & self._usage.keys()
        return replace(sending, left_out=sending.left_out | fields)

    def give_up(self, error: BaseException) -> None:
        """Lets another model or another provider answer, in parts."""
        super().give_up(error)
        is_whole = isinstance(error, errors.EmptyAnswerError | errors.ToolArgumentsError)  # the client may get it
        if self._passage is None or self._passage.has_begun or is_whole:
            return
        failure = error if isinstance(error, errors.UpstreamFailureError) else None
        is_of_key = failure and self._sender.writer.errors.kind_of(failure) is ErrorKind.NO_PERMISSION
        self._passage.leave(None if is_of_key else failure)

    def _begin(self, sending: Sending) -> tuple[UpstreamRequest, AttemptReport]:
        sender, raw, settings = self._sender, self._raw, self._settings
        asked = {name: value for name, value in self._usage.items() if name not in sending.left_out}
        wire, content = raw.wire(self._model.id, settings.extra_body, sender.writer.document_headers, asked)
        hides = raw.rules.tells_usage if asked else None  # the events by which usage was asked for
        exchange = sender.exchange(
            wire, settings, self._tokens.conversation, passage=self._passage, content=content, hides=hides
        )
        most = as_count(raw.document.get("max_output_tokens")), self._window
        prefix = sender.configuration.stream.call_id_prefix
        return exchange, AttemptReport(self._question, None, self._tokens, prefix, most)


# ---- The report to the host ----

_HELP: Final = {
    UnifiedFinishReason.LENGTH: "allow more output tokens (`maxOutputTokens`), or less thinking (`reasoningEffort`)",
    UnifiedFinishReason.CONTENT_FILTER: "a filter of the server stopped the answer",
}
"""What helps against an empty answer, by its finish reason."""

_UNNAMED: Final = "completed"
"""The reason of an answer whose server only says that it has ended: llama.cpp says so of one that it cut, too
(docs/wires/openresponses.md#llamacpp)."""


class AttemptReport:
    """The report of one attempt at an answer. `failure` is the error that ended it, once it has ended; None for none.

    Args:
        state: The state for the next request; None where the client has the upstream's own.
        prefix: The prefix of the ids of calls.
        most: The most tokens of the answer, and of prompt and answer together; None where they are unknown.
        stores: Whether the upstream was asked to store the answer.
    """

    def __init__(
        self,
        question: ModelCall,
        state: preparation.ResponseState | None,
        tokens: RequestTokens,
        prefix: str,
        most: tuple[int | None, int | None],
        *,
        stores: bool = False,
    ) -> None:
        self._most = most
        self._question = question
        self._progress = question.progress
        self._state = state
        self._tokens = tokens
        self._prefix = prefix
        self._stores = stores
        self._unmapped: dict[str, int] = {}
        self._is_empty = True
        options = question.options
        self._lacks_call = bool(options.tools) and options.tool_mode is ToolMode.REQUIRED
        self.failure: LanguageModelError | None = None

    def hand_on(self, output: StreamOutput) -> None:
        """Takes the next output of the adapter."""
        match output:
            case parts.TextPart() | parts.ThinkingPart() | parts.ToolCallPart() | parts.DataPart():
                self._is_empty = self._is_empty and isinstance(output, parts.ThinkingPart)
                self._lacks_call = self._lacks_call and not isinstance(output, parts.ToolCallPart)
                self._progress.report(output if self._state is None else self._state.see(output))
            case Unmapped(type=kind):
                self._unmapped[kind] = self._unmapped.get(kind, 0) + 1

    def end(self, finish: Finish) -> None:
        """Takes the end of the answer."""
        if self._is_cut(finish):
            reason = finish.reason and replace(finish.reason, unified=UnifiedFinishReason.LENGTH)
            if isinstance(finish.error, errors.ToolArgumentsError):  # as wires say it that name the limit
                self._unmapped |= {f"tool call {name} (incomplete)": 1 for _, name, _ in finish.error.calls}
            finish = replace(finish, outcome=Outcome.INCOMPLETE, reason=reason, error=None)
        if self._is_empty and finish.error is None:
            reason, usage = finish.reason, finish.usage
            emptiness = errors.EmptyAnswerError(
                None if reason is None else reason.raw or reason.unified,
                None if usage is None else usage.output_tokens,
                None if usage is None else usage.reasoning_tokens,
                advice=finish.explanation or ("" if reason is None else _HELP.get(reason.unified, "")),
            )
            finish = replace(finish, outcome=Outcome.FAILED, error=emptiness)
        elif isinstance(finish.error, errors.ToolArgumentsError):
            calls = (parts.RawCallPart.of(self._prefix + call_id, *said) for call_id, *said in finish.error.calls)
            seen = calls if self._state is None else map(self._state.see_call, calls)
            finish.error.calls = tuple((one.call_id, one.name, one.arguments) for one in seen)
        if self._unmapped:
            finish = replace(finish, dropped=(*finish.dropped, *self._unmapped))
        self._progress.last = finish
        self._log_end(finish)
        if finish.error is None and self._state is not None:
            # Before the usage, which consumers take for the last part.
            history = partial(preparation.history_digest, self._question.messages)
            response_id = finish.response_id if self._stores else None
            marker = self._state.marker(self._question.shown_model_id, response_id, history)
            if marker is not None:
                self._progress.report(marker)
        # A host that gets the upstream's own bytes has the usage in the end of the answer, the cost in the ledger.
        shown = self._tokens.answered(finish, is_shown=self._state is not None)
        # An answer that failed before its first part reports no usage: another attempt may follow.
        if shown is not None and (self._progress.has_begun or finish.error is None):
            self._progress.report(shown)
        self.failure = finish.error

    def _is_cut(self, finish: Finish) -> bool:
        """Whether the answer has reached a limit of tokens where its server named none."""
        reason, usage = finish.reason, finish.usage
        if reason is None or reason.raw != _UNNAMED or usage is None or usage.output_tokens is None:
            return False
        came = usage.output_tokens, usage.output_tokens + (usage.input_tokens or 0)
        is_open = reason.unified is UnifiedFinishReason.STOP or isinstance(finish.error, errors.ToolArgumentsError)
        return is_open and any(most and tokens >= most for tokens, most in zip(came, self._most, strict=True))

    def _log_end(self, finish: Finish) -> None:
        reason = finish.reason
        if reason is not None and (cause := parts.CUTS.get(reason.unified)) is not None:
            # The hosts say it where a person looks: the chat, the log of VS Code, the line of a served answer.
            word = f" ({reason.raw})" if reason.raw else ""
            _logger.debug("the answer of %s was cut: %s%s", self._question.shown_model_id, cause, word)
        if self._lacks_call and reason is not None and reason.unified is UnifiedFinishReason.STOP:
            _logger.warning("%s had to call a tool, and called none", self._question.shown_model_id)
        if self._unmapped:
            _logger.info("the answer held what has no part: %s", self._unmapped)
        if finish.dropped:
            _logger.debug("nothing reads these fields of the answer: %s", ", ".join(finish.dropped))


class ForwardingProgress:
    """Passes the parts of an answer to the caller's progress, and its end once. Several attempts may be made at one
    answer: with less carried state, or of a fallback model.

    Attributes:
        passage: The way of the answer's own bytes, if the caller has one for them.
        progress: The progress that gets the parts.
        last: The end of the last attempt; None before it, or where it said none.
    """

    def __init__(self, progress: Progress) -> None:
        self.passage: Passage | None = getattr(progress, "passage", None)
        self._has_parts = False
        self.progress = progress
        self._drain: Callable[[], Awaitable[None]] | None = getattr(progress, "drain", None)
        self._finish: Callable[[Finish], object] | None = getattr(progress, "finish", None)
        self._wait: Callable[[str, float], object] | None = getattr(progress, "wait", None)
        self.last: Finish | None = None

    @property
    def has_begun(self) -> bool:
        """Whether a part was reported, or bytes were passed on; then no other attempt may follow."""
        return self._has_parts or (self.passage is not None and self.passage.has_begun)

    def through(self, other: FinishingProgress) -> None:
        """Passes what follows on to another progress, which passes it on to the caller's."""
        self.progress, self._finish = other, other.finish

    def report(self, part: ResponsePart) -> None:
        """Reports a part."""
        self._has_parts = True
        self.progress.report(part)

    def drain(self) -> Awaitable[None] | None:
        """Waits for a consumer that is slower than the upstream; None for one that never is."""
        return None if self._drain is None else self._drain()

    def wait(self, reason: str, seconds: float) -> None:
        """Announces that the next attempt begins after some seconds."""
        if self._wait is not None:
            self._wait(reason, seconds)

    def ended(self, error: LanguageModelError | None = None) -> None:
        """Passes on the end of the last attempt, if it had one; or that the answer fails, with its other facts."""
        last = self.last
        if error is not None:
            # An attempt that got no response at all says nothing; what is kept then is of the attempt before it.
            if last is None or last.error is None or last.error not in (error, error.__cause__):
                last = Finish(Outcome.FAILED)
            last = replace(last, error=error)
        if last is not None and self._finish is not None:
            self._finish(last)


# ---- Refused fields ----

_IDENTITY_SIZE: Final = 12
"""The bytes of the identity of a request, on wires where each has one."""
_MOST_OF_A_MODEL: Final = 100
"""A person may try any number of values; the oldest refusals are forgotten first."""


class RefusedFields:
    """Remembers which optional fields each model of one upstream refused; serves any number of requests at once.

    A field is tried again after as long as a learned limit is valid: servers are replaced. Where only a value was
    refused, that is remembered as long as this object lives: the value may be a person's own.

    Args:
        upstream: The identity of the upstream: a digest, never an address.
        ledger: Remembers longer than this object; None for a memory of this object alone.

    Attributes:
        said: Which of the fields of a model the log has named.
    """

    def __init__(
        self, upstream: str = "", ledger: Ledger | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._upstream = upstream
        self._ledger = ledger
        self._clock = clock
        self._is_read = False
        self._learned: dict[str, dict[str, float]] = {}
        self.said: defaultdict[str, set[str]] = defaultdict(set)

    def of(self, model_id: str) -> frozenset[str]:
        """The names of the fields that a model refuses."""
        if self._ledger is not None and not self._is_read:  # what was learned before this object
            known = self._ledger.refusals(self._upstream)
            self._is_read = known is not None  # not in time: read again with the next request
            for one, learned in (known or {}).items():
                self._learned[one] = {**learned, **self._learned.get(one, {})}
        if (refused := self._learned.get(model_id)) is None:
            return frozenset()
        since = self._clock() - LIMIT_SECONDS
        return frozenset(name for name, learned in refused.items() if learned >= since)

    def keep(self, model_id: str, names: frozenset[str]) -> None:
        """Remembers the fields without which a model answered."""
        new, now = names - self.of(model_id), self._clock()
        learned = self._learned.setdefault(model_id, {})
        for name in new:
            if len(learned) >= _MOST_OF_A_MODEL:
                values = [one for one in learned if "=" in one] or [*learned]  # people invent values, not fields
                oldest = min(values, key=learned.__getitem__)
                del learned[oldest]
                self.said[model_id].discard(oldest)
            learned[name] = now
            self.said[model_id].add(name)
            if self._ledger is not None and "=" not in name:
                self._ledger.keep_refusal(self._upstream, model_id, name, now)
        if self._ledger is not None and new:
            self._ledger.flush()


def _shown(names: Collection[str]) -> str:
    """The fields without their values, which may be private."""
    return ", ".join(sorted({name.partition("=")[0] for name in names}))


# ---- Tokens ----

NEARLY_FULL: Final = 0.9
"""The part of the input limit from which on a request is named in the log. It is sent all the same: an estimate can be
wrong, and the upstream knows."""


class RequestTokens:
    """The known tokens of one request.

    The sender makes the estimate with :meth:`estimate`, or beside the request with :meth:`estimate_beside`, so that no
    answer waits for the ledger's file. Otherwise it is made when it is first needed: it is not where the log does not
    show it, where the request is far from the model's limit, and where enough other answers teach the same. When the
    limit of the model has changed, `on_limit_change` is called. `weight` is about how many bytes the request has, and
    `sizes` are those of its body, where that names no file.
    """

    def __init__(
        self,
        accounting: TokenAccounting,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        pricing: Pricing | None = None,
        on_limit_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._accounting = accounting
        self._model = model
        self.pricing = pricing
        self._on_limit_change = on_limit_change
        self._messages = messages
        self._tools = options.tools
        self._estimate: RequestEstimate | None = None
        self._estimating: asyncio.Task[None] | None = None
        self._teaches = True
        self.weight = 0
        self.sizes: Sequence[int | None] = ()
        conversation = options.model_options.get("_conversationId")
        self.conversation = conversation if isinstance(conversation, str) and conversation else None

    async def estimate(self) -> None:
        """Estimates the tokens; other answers go on while the ledger's file is read."""
        weight = max(self.weight, weight_of(self._messages))
        self._estimate = await self._accounting.read_and_estimate(self._model, self._messages, self._tools, weight)

    def estimate_beside(self) -> None:
        """Estimates the tokens beside the request, if anybody needs them: a request need not wait for the number."""
        if self._estimating is not None:
            return
        self._teaches = self._accounting.may_learn()
        if self._estimate is not None:
            return
        if not (self._teaches or _logger.isEnabledFor(logging.INFO)):
            # A token has a byte or more; a file that is named has tokens, and hardly any bytes.
            sizes = self.sizes or [*map(size_of_message, self._messages), size_of_tools(self._tools)]
            if None not in sizes and sum(filter(None, sizes)) < self._model.max_input_tokens / 2:
                return

        async def estimate_and_log() -> None:
            await self.estimate()
            self.log_expected()

        self._estimating = asyncio.create_task(estimate_and_log())

    def close(self) -> None:
        """Ends the estimate that is made beside the request."""
        estimating = self._estimating
        if estimating is not None:
            estimating.cancel()
            if estimating.done() and not estimating.cancelled():
                estimating.exception()  # raised by `settled`, unless the request failed before that

    async def estimated(self) -> None:
        """Has the tokens estimated, or waits until they are."""
        await self.settled()
        if self._estimate is None:
            await self.estimate()

    async def settled(self) -> None:
        """Waits for the estimate that is made beside the request, if one is."""
        if self._estimating is not None:
            await self._estimating

    @property
    def _made(self) -> RequestEstimate:
        if self._estimate is None:
            self._estimate = self._accounting.estimate_request(self._model, self._messages, self._tools)
        return self._estimate

    @property
    def expected(self) -> int:
        """The tokens that the request is expected to have."""
        return self._made.total.tokens

    @property
    def is_nearly_full(self) -> bool:
        """Whether the expected tokens come near the model's limit, or exceed it."""
        return self._made.total.tokens >= NEARLY_FULL * self._model.max_input_tokens

    def log_expected(self) -> None:
        """Logs the expected tokens; as a warning if they come near the model's limit or exceed it."""
        total, limit = self._made.total, self._model.max_input_tokens
        if self.is_nearly_full:
            _logger.warning(
                "the request to %s has %s tokens (%s), of %s that it takes; sent all the same",
                self._model.id,
                f"{total.tokens:,}",
                total.source,
                f"{limit:,}",
            )
        elif _logger.isEnabledFor(logging.INFO):
            factor = self._accounting.factor(self._model.family)
            _logger.info(
                "the request to %s has %d tokens (%s, factor %.3f)", self._model.id, total.tokens, total.source, factor
            )

    def counted(self, count: TokenCount | None) -> None:
        """Replaces the estimate by the upstream's own count; None changes nothing."""
        if count is not None:
            self._estimate = replace(self._made, total=count)

    def believed(self, finish: Finish) -> Finish:
        """The end of an answer, without a usage whose input or output cannot be: none of its numbers is charged, shown
        or kept, and an estimate takes its place."""
        usage = finish.usage
        if usage is None:
            return finish
        given, written = usage.input_tokens, usage.output_tokens
        counts = {"input_tokens": given or 0, "output_tokens": written or 0, "total_tokens": usage.total_tokens or 0}
        impossible = unusable_counts(counts)
        unusable = unusable_counts(usage.raw) or impossible
        if not unusable:
            return finish
        shown = ", ".join(unusable)
        _logger.warning("%s reports numbers of tokens that cannot be, they count as unknown: %s", self._model.id, shown)
        return replace(finish, usage=None) if impossible or None in (given, written) else finish

    def answered(self, finish: Finish, *, is_shown: bool = True) -> parts.DataPart | None:
        """Learns from the end of an answer, and makes the usage part for the host; None without a reported usage, and
        where it is not shown. The log has the reported tokens beside the expected ones, and what they taught.

        An answer whose request was not estimated teaches nothing, nor does one where others have taught enough; its
        usage is kept all the same.
        """
        usage, model, accounting = finish.usage, self._model, self._accounting
        cost = cost_of(finish, self.pricing)
        if finish.edits:
            _logger.info("%s took out of the conversation by itself: %s", model.id, "; ".join(finish.edits))
        if finish.error is None and usage is not None:
            # A model that took more than its limit: its local server was loaded with a larger context. It is advertised
            # with the limit that was learned, here or by another process. So an input below what is advertised lifts
            # none but one that was learned here meanwhile, and the file of the ledger is not read for it: all other
            # answers would wait for that.
            taken = (usage.input_tokens if usage.context_tokens is None else usage.context_tokens) or 0
            may_be_lower = taken > model.max_input_tokens or accounting.has_learned_limit(model)
            if may_be_lower and accounting.took(model, taken):
                _logger.info("%s took %s tokens, more than it was said to take", model.id, f"{taken:,}")
                self._on_limit_change()
        is_estimated = self._estimate is not None or self._estimating is not None
        if (is_estimated and self._teaches) or _logger.isEnabledFor(logging.INFO):
            self._learn(usage, cost)
        else:
            if usage is not None:
                accounting.record_usage(model.id, usage, conversation=self.conversation, cost=cost)
            accounting.flush()
        return parts.usage_part(usage, cost, finish.edits) if is_shown and usage is not None else None

    def _learn(self, usage: Usage | None, cost: float | None) -> None:
        factor = self._accounting.factor(self._model.family)
        self._accounting.answered(self._made, usage, conversation=self.conversation, cost=cost)
        if usage is None or usage.input_tokens is None:
            _logger.info("%s reported no tokens of the request", self._model.id)
            return
        total = self._made.total
        _logger.info(
            "%s took %d tokens where %d were expected (%s), and gave %s; factor %.3f, before %.3f",
            self._model.id,
            usage.input_tokens,
            total.tokens,
            total.source,
            "no number" if usage.output_tokens is None else usage.output_tokens,
            self._accounting.factor(self._model.family),
            factor,
        )

    def refused(
        self, error: errors.UpstreamError, overflow: Overflow, *, teaches: bool
    ) -> errors.ContextLengthExceededError:
        """Learns from the refusal of a too long input, whose numbers `overflow` has, and makes its error."""
        limit = overflow.limit
        if teaches and not limit and overflow.speaks_of_tokens:  # too many bytes of a request do not limit its tokens
            # A limit below the sent tokens, so that the next request is shorter; at least half of the known limit.
            known = self._model.max_input_tokens
            limit = max(known // 2, min(known, int(self._made.total.tokens * NEARLY_FULL)))
        if teaches:
            self._accounting.overflowed(self._made, limit=limit, actual=overflow.count)
            self._on_limit_change()
        return errors.ContextLengthExceededError(
            self._model.name,
            limit=overflow.limit,
            count=overflow.count,
            http_status=error.http_status,
            provider_code=error.provider_code,
        )


COUNT_SECONDS: Final = 2.0
"""Seconds that an upstream has to count; the request waits for it."""
_MOST_FAILURES: Final = 3


class UpstreamCounts:
    """The counting endpoint of one upstream; None for a protocol without one. It is not asked any more after three
    `failures` in a row."""

    def __init__(self, fetch: Fetch, base_path: str, endpoint: CountEndpoint | None) -> None:
        self._fetch = fetch
        self._base_path = base_path.rstrip("/")
        self._endpoint = endpoint
        self.failures = 0

    async def count(self, request: WireRequest, headers: Mapping[str, str]) -> TokenCount | None:
        """The tokens of a request; None where the upstream does not say it in time. Headers that were set for it win
        over those of the protocol."""
        if self._endpoint is None or self.failures >= _MOST_FAILURES:
            return None
        question = self._endpoint.question(request)
        size = LARGE_BYTES + is_long(question.body)
        document = await in_thread(size, body_document, question.body, dumps_in_pieces)
        found = await self.answer(question, document, headers)
        return None if found is None else TokenCount(found[0], CountSource.COUNTED)

    async def answer(
        self, question: WireRequest, content: bytes, headers: Mapping[str, str]
    ) -> tuple[int, bytes] | None:
        """A count, and the document in which the upstream gives it to a question of its wire; None as for
        :meth:`count`."""
        if self._endpoint is None or self.failures >= _MOST_FAILURES:
            return None
        path = self._base_path + question.path + (f"?{question.query}" if question.query else "")
        sent = {**question.headers, **headers, "content-type": "application/json"}
        try:
            async with asyncio.timeout(COUNT_SECONDS):
                answer = await self._fetch(path, sent, content)
            document, field = document_in(answer.body) if answer.status == 200 else None, self._endpoint.answer_field
            tokens = as_count(document.get(field)) if isinstance(document, dict) else None  # {"input_tokens": 14}
            if tokens is None:
                got = repr(answer.body[:200]) if answer.status == 200 else f"HTTP {answer.status}"
                where, expected = f"the answer of {path}", "a number of tokens of at least 0"
                raise errors.UpstreamProtocolError(event_type=where, field=field, got=got, expected=expected)
        except (errors.UpstreamError, TimeoutError) as error:
            self.failures += 1
            rest = "; it is not asked any more" if self.failures == _MOST_FAILURES else ""
            said = str(error) or f"not within {COUNT_SECONDS:g} s"
            _logger.info("the upstream did not count a request, time %d in a row: %s%s", self.failures, said, rest)
            return None
        self.failures = 0
        return tokens, answer.body


# ---- Costs ----

_MOST_DIGITS: Final = 40
_TICK: Final = Decimal("1e-10")
"""US dollars. Recording xai-text: 1,466,250 ticks are 1 token at $0.30, 11 at $0.075 and 291 at $0.50 a million."""


def cost_of(finish: Finish, pricing: Pricing | None) -> float | None:
    """The cost of an answer in US dollars: by a person's own prices, else as the server reports it, else by the list;
    None if neither the cost nor all needed prices are known."""
    if pricing is not None and pricing.is_own and finish.usage is not None:
        cost = _list_cost(finish.usage, pricing)
    else:
        # The Vercel AI Gateway's `providerMetadata.gateway.cost`, a string.
        said = [about.get("cost") for about in finish.provider_metadata.values() if isinstance(about, dict)]
        cost = next((one for one in map(_dollars, said) if one is not None), None)
        if cost is None and finish.usage is not None:
            cost = _cost_in_usage(finish.usage.raw)
            if cost is None and pricing is not None:
                cost = _list_cost(finish.usage, pricing)
    return None if cost is None else as_amount(float(cost), MOST_DOLLARS)


def _cost_in_usage(raw: Mapping[str, Any]) -> Decimal | None:
    """OpenRouter's `usage.cost`, a number; Perplexity's `usage.cost.total_cost`; xAI's `usage.cost_in_usd_ticks`
    (recordings of Chat Completions)."""
    cost = raw.get("cost")
    if isinstance(cost, dict):
        return _dollars(cost.get("total_cost"))
    if cost is None:
        ticks = _dollars(raw.get("cost_in_usd_ticks"), most=MOST_DOLLARS / _TICK)
        return None if ticks is None else ticks * _TICK
    charged, details = _dollars(cost), raw.get("cost_details")
    if charged is None or raw.get("is_byok") is not True or not isinstance(details, dict):
        return charged
    # With a key of one's own, OpenRouter charges its fee alone, and the provider of the model sends a bill too.
    return charged + (_dollars(details.get("upstream_inference_cost")) or 0)


def _list_cost(usage: Usage, pricing: Pricing) -> Decimal | None:
    """The tokens times their prices; None if a price or a number is missing.

    Not all servers report the tokens written into the cache; there the true cost may be some per cent higher.
    """
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    prices = pricing
    if pricing.long_context is not None and usage.input_tokens >= (pricing.long_context_from or 0):
        prices = pricing.long_context
    if prices.input is None or prices.output is None:
        return None
    return usage_cost(usage, (prices.input, prices.output, prices.cache_read, prices.cache_write))


def _dollars(value: Any, most: Decimal = Decimal(MOST_DOLLARS)) -> Decimal | None:
    """The amount in a number or a text, or None; the log names a value that is none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        amount = Decimal(str(value)[:_MOST_DIGITS])
    except (InvalidOperation, ValueError):  # an integer of thousands of digits has no text
        amount = Decimal("NaN")
    if amount.is_finite() and 0 <= amount <= most:
        return amount
    _logger.warning("the upstream reports a cost that is no amount in dollars (%.40s); it counts as unknown", amount)
    return None
