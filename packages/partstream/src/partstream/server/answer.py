"""One response: calls the provider, writes what it reports, and ends the reply in every case exactly once.

:class:`ProviderCall` knows no socket: a :class:`~partstream.server.replies.ReplySink` takes the bytes of an HTTP reply
or of a turn of a WebSocket. The provider runs in a task of its own and reports to a checked
:class:`ReplyProgress`, which writes each part at once and counts nothing but the text that it keeps for a count of
tokens. The first of these events ends the reply, and every later one does nothing: the provider returned or raised; the
client left; the client asked for the end; the response took too long or reached its limit; the server stops. Then no
further part passes, and the provider gets its cancellation.

The interface of a provider is VS Code's and has no place for the caller. :func:`current_answer` gives both directions:
the provider learns who asks with which program, and names the upstream that it asks.
"""

from __future__ import annotations
import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext, suppress
from contextvars import ContextVar
from threading import get_ident
from typing import TYPE_CHECKING, Any, Final

from partstream import errors
from partstream.codec.checks import MOST_DOLLARS, as_amount, as_count
from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.codec.values import dataclass, replace
from partstream.lm.cancellation import CancellationTokenSource
from partstream.lm.outputs import Finish, InboundRequest, Outcome
from partstream.lm.parts import (
    COST_KEY,
    USAGE_MIME_TYPE,
    DataPart,
    FinishReason,
    RawCallPart,
    ResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    UnifiedFinishReason,
    Usage,
)
from partstream.runtime.progress import AnswerExcerpt, CheckedProgress, failing_place, thinking_text
from partstream.server.models import CataloguedModel, counted_usage
from partstream.tokens.records import USAGE_ROWS, UsageRow
from partstream.upstream.context import CAPTURE, DROPPED, AnswerTap

if TYPE_CHECKING:
    from partstream.conversation.provider_state import CallersMemory
    from partstream.lm.contract import Violation
    from partstream.server.clients import Caller, RequestClient
    from partstream.server.replies import ReplySink, ReplyWriter
    from partstream.server.settings import AnswerTrace, Reported, ServingSettings
    from partstream.upstream.forwarding import Passage

UPSTREAM_HEADER: Final = "x-partstream-upstream"
"""The header of a reply that names the upstream, where the provider has named it."""

_CURRENT: Final[ContextVar[CurrentAnswer | None]] = ContextVar("partstream_answer", default=None)


@dataclass(slots=True)
class CurrentAnswer:
    """One response while it is made; `upstream` is the one that the provider asked last, "" where it names none, and
    `report_dropped` takes the paths of the fields of the request that it has no place for.
    """

    caller: Caller
    client: RequestClient
    upstream: str = ""
    report_dropped: Callable[[Iterable[str]], object] | None = None


def current_answer() -> CurrentAnswer | None:
    """The response that is being made here; None where no server asks."""
    return _CURRENT.get()


# ---- The call ----

_logger = logging.getLogger("partstream.serving")

_LIMITS: Final = frozenset({UnifiedFinishReason.LENGTH, UnifiedFinishReason.CONTENT_FILTER})
_STOPPED: Final = FinishReason(UnifiedFinishReason.OTHER, "server_stopped")
_CANCELLED: Final = FinishReason(UnifiedFinishReason.OTHER, "cancelled")


class ProviderCall:
    """One call of a provider, from its start until the provider has stopped.

    Args:
        model: The model that answers.
        asked: The request.
        reply: Writes the response.
        sink: Where the bytes of the reply go.
        settings: The limits of the server.
        stopped: The outcome with which the wire ends a response that the server stops.
        trace: Traces the call.
        is_kept: Whether the response is remembered: its end is written even if the client has left.
        has_own_ids: Whether clients return the id of the response to this server: it is not the upstream's then.
        thinking: The state of thinking that the caller got in earlier responses.
        capture: Captures the response.
        current: What the provider may know of its caller.
        reported: Looks at each part, and decides whether the response must end after it.

    Attributes:
        finish: The finish as it was written; None before it, and where the client left before.
        is_usage_counted: Whether its tokens were counted here.
        is_cancelled: Whether the client left.
        violations: How often each rule of the contract was broken, by its id.
        usage_rows: What the upstreams that the provider asked have entered into the ledger.
        progress: What the provider has reported.
    """

    def __init__(
        self,
        model: CataloguedModel,
        asked: InboundRequest,
        reply: ReplyWriter,
        sink: ReplySink,
        settings: ServingSettings,
        stopped: Outcome,
        trace: AnswerTrace | None = None,
        *,
        is_kept: bool = False,
        has_own_ids: bool = False,
        thinking: CallersMemory | None = None,
        capture: AnswerTap | None = None,
        current: CurrentAnswer | None = None,
        reported: Reported | None = None,
    ) -> None:
        self._model = model
        self._asked = asked if thinking is None else replace(asked, messages=thinking.restored(asked.messages))
        self._thinking = thinking
        self._reply = reply
        self._settings = settings
        self._stopped = stopped
        self._trace = trace
        self._is_kept = is_kept
        self._has_own_ids = has_own_ids
        self._source = CancellationTokenSource()
        self._capture = capture
        self._current = current
        self._reported = reported
        look = None if reported is None else self._look
        self.progress = ReplyProgress(reply, sink, self._fail, capture, look, reply.passage(self._asked))
        self.violations: Counter[str] = Counter()
        # A model sometimes invents a tool. Calls of unknown tools pass, so that the client can tell the model.
        self._checked = CheckedProgress(self.progress, tools=None, on_violation=self._note_violation)
        self._task: asyncio.Task[None] | None = None
        self.finish: Finish | None = None
        self.error: BaseException | None = None
        self._is_over = False
        self.is_cancelled = False
        self.is_usage_counted = False
        self.was_asked = False
        self.usage_rows: list[UsageRow] = []

    def start(self) -> None:
        """Calls the provider in a task of its own; a second call does nothing."""
        if self._task is None and not self._is_over:
            self._task = asyncio.get_running_loop().create_task(self._provide())

    def cancel(self) -> None:
        """Ends the response because its client has left. Later calls do nothing.

        Nothing more is written, except the end of a response that is remembered.
        """
        if not self._is_over:
            self.is_cancelled = True
            if self._is_kept:
                self._write(Finish(self._stopped, _CANCELLED))
            self.finish, self._is_over = None, True
            self._silence_provider()

    def stop_for_client(self) -> None:
        """Ends the response because its client asks for that, in the wire's own words. Later calls do nothing."""
        self.is_cancelled = self.is_cancelled or not self._is_over
        self._end_early(Finish(self._stopped, _CANCELLED))

    def end_empty(self) -> None:
        """Ends the response without asking the provider. Later calls do nothing."""
        self._end_early(Finish(Outcome.COMPLETED, usage=Usage(0, 0)))

    def stop(self) -> None:
        """Ends the response because the server is stopped, in the wire's own words. Later calls do nothing."""
        error = errors.UpstreamFailureError("the server is being stopped; ask again", http_status=529, retry_after=1.0)
        if self._reply.events == 0 or self._stopped is Outcome.FAILED:
            self._end_early(Finish(Outcome.FAILED, error=error))
        else:
            self._end_early(Finish(self._stopped, _STOPPED))

    def time_out(self) -> None:
        """Ends the response because it has taken too long. Later calls do nothing."""
        error = errors.UpstreamTimeoutError(errors.TimeoutPhase.TOTAL, self._settings.answer_seconds)
        self._end_early(Finish(Outcome.FAILED, error=error))

    async def wind_down(self) -> None:
        """Waits until the provider has stopped; cancels it if it does not stop by itself, and gives it up after that.

        Call it when the reply is over.
        """
        task, seconds = self._task, self._settings.stop_seconds
        if task is None:
            return
        if not task.done() and not self._is_over:
            self.cancel()
        for _ in range(2):
            if not task.done():
                await asyncio.wait({task}, timeout=seconds)
            if task.done():
                return
            task.cancel()
        error = errors.ProviderStuckError(self._model.provider_name, self._model.id, seconds)
        _logger.error("%s", error)

    def kill(self) -> None:
        """Cancels everything at once: the server itself was cancelled."""
        self.cancel()
        if self._task is not None:
            self._task.cancel()

    def _look(self, part: ResponsePart) -> None:
        """Ends the response as one that has reached its longest length, where its permit wants that."""
        assert self._reported is not None  # noqa: S101 - otherwise no part is looked at
        if (stop := self._reported(part)) is not None:
            reason = FinishReason(UnifiedFinishReason.LENGTH, stop.reason)
            self._end_early(Finish(Outcome.INCOMPLETE, reason, self.progress.usage))

    async def _provide(self) -> None:
        """Calls the provider and writes the end. Raises nothing: a task that raises SystemExit ends the event loop."""
        self.was_asked = not self._is_over  # it is over if the client has left while the response waited for admission
        if not self.was_asked:
            return
        # The variables of this task, in which nothing else runs.
        _CURRENT.set(self._current)
        CAPTURE.set(self._capture)
        DROPPED.set(None if self._current is None else self._current.report_dropped)
        USAGE_ROWS.set(self.usage_rows)
        try:
            with nullcontext() if self._trace is None else self._trace.calling(self._name, self._model.id):
                try:
                    await self._model.provider.provide_language_model_chat_response(
                        self._model.information,
                        self._asked.messages,
                        self._asked.options,
                        self._checked,
                        self._source.token,
                    )
                finally:
                    if (
                        self.progress.has_threads
                    ):  # what a thread reported last comes in the next turn of the event loop
                        await asyncio.sleep(0)
        except BaseException as error:
            if not self._gives_calls_of(error):
                self._provider_raised(error)
                return
        if self._is_over:
            return
        self._checked.complete()
        try:
            await self._complete()
        except Exception as error:
            self._fail(error)

    def _gives_calls_of(self, error: BaseException) -> bool:
        """Gives calls whose arguments are no JSON object to the client, which validates them."""
        calls = error.calls if isinstance(error, errors.ToolArgumentsError) else ()
        if not calls or self._is_over:
            return False
        _logger.info("the provider %s gave a call whose arguments are no JSON object: %s", self._name, error)
        for call in calls:
            self._checked.report(RawCallPart.of(*call))
        return True

    async def _complete(self) -> None:
        finish, progress = self._checked.said_finish, self.progress
        if finish is not None and isinstance(finish.error, errors.ToolArgumentsError):  # its calls were given out
            called = FinishReason(UnifiedFinishReason.TOOL_CALLS)
            finish = replace(finish, outcome=Outcome.COMPLETED, reason=called, error=None)
        if finish is None:
            reason = UnifiedFinishReason.TOOL_CALLS if progress.has_calls else UnifiedFinishReason.STOP
            finish = Finish(Outcome.COMPLETED, FinishReason(reason))
        if finish.usage is None and finish.outcome in {Outcome.COMPLETED, Outcome.INCOMPLETE}:
            usage, kept = progress.usage, progress.kept
            if usage is None:
                usage = await counted_usage(self._model, self._asked, kept.message(), kept.length, self._source.token)
                self.is_usage_counted = True
            finish = replace(finish, usage=usage)
        if finish.outcome in {Outcome.FAILED, Outcome.TRUNCATED} and finish.error is None:
            finish = replace(finish, error=errors.LanguageModelError("the provider gave no reason for its failure"))
        self._write(finish)

    def _provider_raised(self, error: BaseException) -> None:
        if self._is_over:
            if not isinstance(error, asyncio.CancelledError | errors.LanguageModelError):
                _logger.debug("the provider %s raised %s after its end", self._name, type(error).__name__)
            return
        self._checked.fail(error)
        said = self._checked.said_finish
        if isinstance(error, errors.EmptyAnswerError) and said is not None:
            # No wire of ours forbids an empty answer; a chat that shows nothing is another matter.
            limited = said.reason is not None and said.reason.unified in _LIMITS
            self._write(replace(said, outcome=Outcome.INCOMPLETE if limited else Outcome.COMPLETED, error=None))
            return
        self._fail(error)

    def _fail(self, error: BaseException) -> None:
        """Ends the response with an error, whose text passes only if it is one of ours."""
        if self._is_over:
            return
        self.error = error
        if isinstance(error, errors.LanguageModelError):
            told = error
            _logger.info("the provider %s failed: %s", self._name, errors.with_facts(str(error), error))
        else:
            kind, place = type(error).__name__, failing_place(error)
            _logger.error("the provider %s failed with %s%s", self._name, kind, "" if place is None else f" at {place}")
            text = f": {error}" if isinstance(error, errors.PartstreamError) else ""
            told = errors.LanguageModelError(f"the provider failed with {kind}{text}")
        said = self._checked.said_finish or Finish(Outcome.FAILED)
        outcome = said.outcome if said.outcome is Outcome.TRUNCATED else Outcome.FAILED
        self._end_early(replace(said, outcome=outcome, error=told))

    def _end_early(self, finish: Finish) -> None:
        """Writes an end although the provider has not returned, or has raised."""
        if self._is_over:
            return
        self.error = finish.error if self.error is None else self.error
        self._write(finish)
        self._silence_provider()

    def _write(self, finish: Finish) -> None:
        """Writes the end of the reply, unless it is over."""
        if self._is_over:
            return
        self._is_over = True
        self.finish = finish
        self.error = self.error or finish.error
        # Clients of some wires do not return the state of thinking.
        state, kept = self.progress.state, self.progress.kept
        is_whole = finish.outcome in {Outcome.COMPLETED, Outcome.INCOMPLETE} and kept.length == 1.0
        if self._thinking is not None and state is not None and is_whole:
            self._thinking.remember(kept.message().content, state)
        try:
            self._reply.finish(replace(finish, response_id=None) if self._has_own_ids else finish)
        except Exception as error:
            _logger.exception("the end of an answer of the provider %s could not be written", self._name)
            self.error = error
            self._reply.break_off(error)

    def _silence_provider(self) -> None:
        """Lets no further part pass, then cancels the request of the provider."""
        self._checked.cancel()
        try:
            self._source.cancel()
        except Exception as error:
            _logger.warning("the provider %s failed with %s when told to stop", self._name, type(error).__name__)

    @property
    def _name(self) -> str:
        return self._model.provider_name

    def _note_violation(self, violation: Violation) -> None:
        self.violations[violation.rule.id] += 1
        place = "" if violation.place is None else f" at {violation.place}"
        if self.violations[violation.rule.id] == 1:
            # What was reported instead is left out: it may hold what a person wrote.
            said = "the provider %s broke the rule %s%s: %s"
            _logger.warning(said, self._name, violation.rule.id, place, violation.rule.text)


# ---- The progress of the provider ----


class ReplyProgress:
    """Writes the parts of one response, which keep the contract.

    It drains and takes the end too. Usage and cost come as a part from the provider.

    Args:
        reply: Writes the parts.
        sink: Where the bytes go.
        on_failure: Called with the error of a part that a thread of the provider's own reported.
        capture: Captures the parts.
        look: Called with each part after it is written.
        passage: The way of the upstream's own bytes, or None.

    Attributes:
        first_part_at: When the first part came, in the time of the event loop.
        has_threads: Whether a thread of the provider's own has reported a part.
        kept: The parts that are kept to count their tokens.
        state: The last metadata of thinking, which lists the state of all of it.
    """

    def __init__(
        self,
        reply: ReplyWriter,
        sink: ReplySink,
        on_failure: Callable[[BaseException], object],
        capture: AnswerTap | None = None,
        look: Callable[[ResponsePart], object] | None = None,
        passage: Passage | None = None,
    ) -> None:
        self.passage = passage
        self.first_part_at: float | None = None
        self.usage: Usage | None = None
        self.cost: float | None = None
        self.has_calls = False
        self.has_threads = False
        self.state: Mapping[str, Any] | None = None
        self._take = reply.take
        for follow in (None if capture is None else capture.part, look):
            if follow is not None:
                self._take = _both(self._take, follow)
        self._sink = sink
        self._on_failure = on_failure
        self._loop = asyncio.get_running_loop()
        self._thread = get_ident()
        self.kept = AnswerExcerpt()
        self._keep = self.kept.keep

    def report(self, part: ResponsePart, /) -> None:
        """Writes a part; a thread of the provider's own hands it to the event loop.

        Raises:
            ClientTooSlowError: The provider never waits, and far too many bytes wait for the client.
        """
        if get_ident() != self._thread:
            self.has_threads = True
            self._loop.call_soon_threadsafe(self._report_later, part)
            return
        if part.__class__ is not TextPart:
            self._report_other(part)
            return
        if self.first_part_at is None:
            self.first_part_at = self._loop.time()
        self._take(part)
        self._keep(part)

    def _report_later(self, part: ResponsePart) -> None:
        try:
            self.report(part)
        except Exception as error:
            self._on_failure(error)

    def _report_other(self, part: ResponsePart) -> None:
        if isinstance(part, DataPart) and part.mime_type == USAGE_MIME_TYPE:
            # The tokens and the cost, as `partstream.lm.parts.usage_part` writes them.
            with suppress(JSONDecodeError):
                said = loads(part.data)
                if isinstance(said, dict):
                    self.usage = _usage_in(said) or self.usage
                    self.cost = as_amount(said.get(COST_KEY), MOST_DOLLARS)
            return
        if isinstance(part, ThinkingPart):
            text = thinking_text(part)
            part = part if text is part.value else replace(part, value=text)
            self.state = part.metadata or self.state
        if self.first_part_at is None:
            self.first_part_at = self._loop.time()
        self.has_calls = self.has_calls or isinstance(part, ToolCallPart)
        self._take(part)
        self._keep(part)

    def finish(self, finish: Finish, /) -> None:
        """Takes the end; :attr:`partstream.runtime.progress.CheckedProgress.said_finish` keeps it."""

    async def drain(self) -> None:
        """Waits while the client is slow."""
        await self._sink.drain()


def _both(
    first: Callable[[ResponsePart], object], second: Callable[[ResponsePart], object]
) -> Callable[[ResponsePart], None]:
    def take(part: ResponsePart) -> None:
        first(part)
        second(part)

    return take


def _usage_in(said: Mapping[str, Any]) -> Usage | None:
    """The tokens; None without the two numbers that VS Code wants."""
    given, completion = as_count(said.get("prompt_tokens")), as_count(said.get("completion_tokens"))
    if given is None or completion is None:
        return None
    details, more = said.get("prompt_tokens_details"), said.get("completion_tokens_details")
    return Usage(
        given,
        completion,
        given + completion,
        _count_in(details, "cached_tokens"),
        _count_in(more, "reasoning_tokens"),
        cache_write_tokens=_count_in(details, "cache_creation_input_tokens"),
    )


def _count_in(details: object, name: str) -> int | None:
    return as_count(details.get(name)) if isinstance(details, dict) else None
