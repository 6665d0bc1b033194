"""One request of a consumer: calls the provider, checks the parts that it reports, and holds them for readers.

:class:`RunningRequest` runs the provider in a task of its own, until the task has ended. Its parts pass the contract
and come into a :class:`PartBuffer`, which is unbounded on purpose: `progress.report` is synchronous in the contract, so
a provider cannot be made to wait. A cancellation ends the response at once and normally; the provider stops in the
background: its token first, after a short grace its task, and one that does not end is reported as stuck.
:class:`LanguageModelChatResponse` is the reader's side (`@types/vscode` 1.140, `LanguageModelChatResponse`).
:class:`ConsumerSettings` are the decisions that a host makes once for all its requests.
"""

from __future__ import annotations
import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import aclosing
from enum import Enum, auto
from time import monotonic
from typing import Final, TypeAlias

import partstream.codec.silent_log  # noqa: F401 - for its effect
from partstream.codec.checks import dataclass
from partstream.errors import LanguageModelError, ProviderStuckError
from partstream.lm.cancellation import CancellationToken, CancellationTokenSource, Disposable
from partstream.lm.contract import CheckMode, Violation
from partstream.lm.outputs import Finish
from partstream.lm.parts import FinishReason, ResponsePart, TextPart, Usage
from partstream.lm.provider import Progress
from partstream.runtime.progress import CheckedProgress, cause_of, failing_place, told

_TURN_SECONDS: Final = 0.005
"""How long a provider that waits for nothing keeps the event loop to itself; far below what a person notices."""


class _State(Enum):
    OPEN = auto()
    ENDED = auto()
    """No part can follow; parts or an error may still be unread."""
    DELIVERED = auto()
    """A reader has reached the end: a cancellation comes too late."""
    CANCELLED = auto()


class PartBuffer:
    """A progress that keeps its parts in a list, which grows until the buffer is settled and can be awaited.

    The buffer holds one response in memory, for as long as a reference to the response exists.
    """

    def __init__(self) -> None:
        self.parts: list[ResponsePart] = []
        self._changed = asyncio.Event()
        self._error: Exception | None = None
        self._state = _State.OPEN
        self._next_turn = 0.0

    @property
    def settled(self) -> bool:
        """Whether no part can be added any more."""
        return self._state is not _State.OPEN

    @property
    def delivered(self) -> bool:
        """Whether a reader has reached the end, or the error."""
        return self._state is _State.DELIVERED

    @property
    def cancelled(self) -> bool:
        """Whether a cancellation settled the buffer."""
        return self._state is _State.CANCELLED

    def report(self, part: ResponsePart, /) -> None:
        """Adds a part, unless the buffer is settled."""
        if self._state is _State.OPEN:
            self.parts.append(part)
            self._changed.set()

    async def drain(self) -> None:
        """Lets readers read and consumers cancel, next to a provider that waits for nothing itself.

        Not at every part: a turn of the event loop takes longer than everything else for a part.
        """
        now = monotonic()
        if now >= self._next_turn:
            self._next_turn = now + _TURN_SECONDS
            await asyncio.sleep(0)

    def end(self, error: Exception | None = None) -> None:
        """Settles the buffer: readers get all its parts, then `error`, if any. Only the first call has an effect."""
        if self._state is _State.OPEN:
            self._state = _State.ENDED
            self._error = error
            self._changed.set()

    def cancel(self) -> Exception | None:
        """Settles the buffer: readers get no further part, not even one that was added before.

        Returns:
            The error that no reader will get now, or None.
        """
        if self._state not in {_State.OPEN, _State.ENDED}:
            return None
        self._state = _State.CANCELLED
        self._changed.set()
        return self._error

    async def has(self, index: int) -> bool:
        """Waits until the part at `index` exists or can no longer come; returns whether it may be delivered.

        Raises:
            LanguageModelError: The response failed before that part.
        """
        while index >= len(self.parts) and self._state is _State.OPEN:
            # Clearing cannot lose a wake-up: `set` has already released everyone who was waiting.
            self._changed.clear()
            await self._changed.wait()
        if self._state is _State.CANCELLED:
            return False
        if index < len(self.parts):
            return True
        self._state = _State.DELIVERED
        if self._error is not None:
            raise self._error
        return False


# ---- The request ----

ProvideResponse: TypeAlias = "Callable[[Progress, CancellationToken], Awaitable[None]]"


def as_language_model_error(error: BaseException, vendor: str) -> LanguageModelError:
    """The error as a consumer sees it: `error` itself if it is a LanguageModelError, else one caused by `error`, whose
    message names the line of the provider's code."""
    if isinstance(cause := cause_of(error), LanguageModelError):
        return cause
    place = failing_place(error)
    at = "" if place is None else f" ({place})"
    wrapped = LanguageModelError(f"the provider of {vendor} failed with {told(error)}{at}")
    wrapped.__cause__ = error
    return wrapped


class RunningRequest:
    """One call of a provider, from its start until its task has ended.

    The names of tools are checked only in strict mode; the buffer has the parts that passed the contract.
    """

    def __init__(self, vendor: str, model_id: str, tool_names: Iterable[str], settings: ConsumerSettings) -> None:
        self.buffer = PartBuffer()
        self._vendor = vendor
        self._model_id = model_id
        self._settings = settings
        # A model sometimes invents a tool. Unless the mode is strict, the call has to pass, so that the consumer can
        # answer it, as Copilot does.
        compared_names = tool_names if settings.contract_mode is CheckMode.STRICT else None
        self._progress = CheckedProgress(
            self.buffer,
            compared_names,
            settings.contract_mode,
            lambda violation: settings.on_violation(vendor, model_id, violation),
        )
        self._source = CancellationTokenSource()
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None
        self._winding_down: asyncio.Task[None] | None = None
        self._subscription: Disposable | None = None

    @property
    def finish(self) -> Finish | None:
        """How the provider reported that its answer ended; None while it has not."""
        return self._progress.said_finish

    def start(self, provide: ProvideResponse, token: CancellationToken | None) -> asyncio.Task[None] | None:
        """Calls the provider in a new task and returns the task; None if `token` is already cancelled."""
        if token is not None and token.is_cancellation_requested:
            self.buffer.cancel()
            return None
        self._task = self._loop.create_task(self._serve(provide), name=f"partstream {self._vendor}/{self._model_id}")
        if token is not None:
            self._subscription = token.on_cancellation_requested(self.cancel)
        return self._task

    def cancel(self) -> None:
        """Ends the response at once and normally, and stops the provider in the background. Later calls do nothing.

        If the provider has already ended, its parts that no reader has read are no longer delivered.
        """
        runs = not self.buffer.settled
        unread_error = self.buffer.cancel()
        if unread_error is not None:
            self._settings.on_provider_error(self._vendor, unread_error)
        if runs and self._task is not None:
            self._progress.cancel()
            self._winding_down = self._loop.create_task(self._wind_down(self._task))
            try:
                self._source.cancel()
            except Exception as error:  # a provider's listener must not break its consumer's cancel()
                self._settings.on_provider_error(self._vendor, error)

    async def stop(self) -> None:
        """Cancels the request if it still runs, and waits until the provider has stopped or is known to be stuck."""
        if not self.buffer.settled:
            self.cancel()
        self.forget_token()
        if self._winding_down is not None:
            await asyncio.wait({self._winding_down})

    def forget_token(self) -> None:
        """Stops listening to the consumer's token, which may live much longer than the response."""
        if self._subscription is not None:
            self._subscription.dispose()
            self._subscription = None

    async def _serve(self, provide: ProvideResponse) -> None:
        try:
            await provide(self._progress, self._source.token)
        except Exception as error:
            self._progress.fail(error)
            failure = self._progress.violation or as_language_model_error(error, self._vendor)
            if self.buffer.settled:  # the consumer has left: no reader gets the error from the stream
                self._settings.on_provider_error(self._vendor, failure)
            self.buffer.end(failure)
        except BaseException as error:
            # The task was cancelled by us (then the response is settled), by its own code, or with the whole program.
            self.buffer.end(as_language_model_error(error, self._vendor))
            # A task group in a generator that is closed says so by a group of GeneratorExit (Python 3.11).
            if not isinstance(error, BaseExceptionGroup) or error.split(GeneratorExit)[1] is not None:
                raise
        else:
            self._progress.complete()
            self.buffer.end(self._progress.violation)

    async def _wind_down(self, task: asyncio.Task[None]) -> None:
        limits = self._settings.limits
        await asyncio.wait({task}, timeout=limits.cancel_grace_seconds)
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=limits.cancel_seconds)
        if not task.done():
            error = ProviderStuckError(self._vendor, self._model_id, limits.cancel_seconds)
            self._settings.on_provider_error(self._vendor, error)


class LanguageModelChatResponse:
    """The answer to one request, while it comes; the counterpart of `vscode.LanguageModelChatResponse`.

    :attr:`stream`, :attr:`text` and :meth:`read_text` are independent of each other: each starts at the first part,
    at any time and as often as wanted. Iterating over the response itself iterates over :attr:`stream`. The response
    therefore keeps all its parts: its memory grows with the answer, because a provider reports without waiting for
    readers.

    Every reader raises an error of the provider after the parts that came before it: a
    :class:`~partstream.errors.LanguageModelError`, with the provider's exception as `__cause__` if that was of
    another class; in strict mode also a :class:`~partstream.errors.ContractViolationError`.

    Cancelling the request's token ends every iteration at once and normally: parts that were reported but not yet
    read are no longer delivered, but stay in :attr:`parts`. Once an iteration has reached the end, the response is
    final, and a cancellation has no effect. Leaving an iteration early also cancels the request, unless another
    iteration is running. CPython closes an iteration as soon as nothing refers to it; to control the moment, use
    `async with response:` or `contextlib.aclosing(response.stream)`.

    Example:
        >>> import asyncio
        >>> from partstream import chat_model, connect, user_request
        >>> @chat_model(name="Parrot")
        ... async def parrot(messages, options):
        ...     yield f"You said: {user_request(messages)}"
        >>> async def main():
        ...     async with connect(parrot) as model:
        ...         response = model.stream("Hello")
        ...         return await response.read_text(), response.parts, response.is_cancelled
        >>> asyncio.run(main())
        ('You said: Hello', (TextPart(value='You said: Hello'),), False)
    """

    def __init__(self, request: RunningRequest) -> None:
        self._request = request
        self._readers = 0

    @property
    def stream(self) -> AsyncGenerator[ResponsePart, None]:
        """All parts from the first, in the order in which the provider reports them."""
        return self._read()

    @property
    def text(self) -> AsyncGenerator[str, None]:
        """All fragments of the visible text from the first; joined without a separator, they are the text."""

        async def fragments() -> AsyncGenerator[str, None]:
            async with aclosing(self._read()) as parts:
                async for part in parts:
                    if isinstance(part, TextPart):
                        yield part.value

        return fragments()

    @property
    def parts(self) -> tuple[ResponsePart, ...]:
        """The parts reported so far; valid also after a failure or a cancellation."""
        return tuple(self._request.buffer.parts)

    @property
    def is_cancelled(self) -> bool:
        """Whether the response ended by a cancellation."""
        return self._request.buffer.cancelled

    @property
    def finish(self) -> Finish | None:
        """How the provider reports that the answer ended: outcome, reason, usage, the response's id, and more.

        None until the provider has reported it at the end of the answer: read the stream to its end first. Stays None
        if the provider reports no finish, and after a cancellation. Valid also after a failure.
        """
        return self._request.finish

    @property
    def usage(self) -> Usage | None:
        """The tokens of the request and its answer.

        None before the end of the answer (see :attr:`finish`), and if the provider reports no usage.
        """
        finish = self._request.finish
        return None if finish is None else finish.usage

    @property
    def finish_reason(self) -> FinishReason | None:
        """Why the model stopped: it had finished, reached a limit, was filtered, or wants tools called.

        None before the end of the answer (see :attr:`finish`), and if the provider reports no reason.
        """
        finish = self._request.finish
        return None if finish is None else finish.reason

    async def read_text(self) -> str:
        """Waits for the end and returns the whole text; after a cancellation, the text until then.

        Raises:
            LanguageModelError: The provider failed; :attr:`parts` holds the parts that came before.
        """
        index = 0
        self._readers += 1
        try:
            while await self._request.buffer.has(index):
                index = len(self._request.buffer.parts)
        finally:
            await self._leave()
        return "".join(part.value for part in self._request.buffer.parts if isinstance(part, TextPart))

    async def aclose(self) -> None:
        """Cancels the request if it still runs, and waits until the provider has stopped; may be called repeatedly."""
        await self._request.stop()

    def __aiter__(self) -> AsyncGenerator[ResponsePart, None]:
        return self.stream

    async def __aenter__(self) -> LanguageModelChatResponse:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.aclose()

    async def _read(self) -> AsyncGenerator[ResponsePart, None]:
        buffer = self._request.buffer
        index = 0
        self._readers += 1
        try:
            while await buffer.has(index):
                yield buffer.parts[index]
                index += 1
        finally:
            await self._leave()

    async def _leave(self) -> None:
        self._readers -= 1
        if self._request.buffer.delivered:
            self._request.forget_token()
        elif not self._readers and not self._request.buffer.settled:
            await self._request.stop()


# ---- The decisions of a host ----

ViolationListener: TypeAlias = "Callable[[str, str, Violation], object]"
"""Called with the vendor, the model's id and a violation of its provider."""

ProviderErrorListener: TypeAlias = "Callable[[str, Exception], object]"
"""Called with the vendor and an error of its provider that no request can raise."""

_log = logging.getLogger("partstream.consumer")


class ViolationLog:
    """Logs each rule that a provider breaks, once; the default of `on_violation`."""

    def __init__(self) -> None:
        self._logged: set[tuple[str, str]] = set()

    def __call__(self, vendor: str, model_id: str, violation: Violation) -> None:
        """Logs the rule's sentence and the line of the provider's code, if the vendor breaks the rule first now."""
        if (vendor, violation.rule.id) not in self._logged:
            self._logged.add((vendor, violation.rule.id))
            _log.warning("%s/%s broke the rule %s This rule is logged only once.", vendor, model_id, violation)


def log_provider_error(vendor: str, error: Exception) -> None:
    """Logs a provider's error, with the line of its code; the default of `on_provider_error`."""
    place = failing_place(error)
    at = "" if place is None else f" ({place})"
    _log.warning("the provider of %s failed: %s%s", vendor, told(error), at)


@dataclass(frozen=True, slots=True)
class ConsumerLimits:
    """How long a host waits for a provider, in seconds.

    Attributes:
        list_seconds: The wait for the list of models.
        cancel_grace_seconds: The wait for the provider to return after its token was cancelled; then its task is
            cancelled as well. Short, because a provider that blocks on a silent upstream does not look at its token,
            and its connection has to be closed at once all the same.
        cancel_seconds: The wait for the provider to end after its task was cancelled; then it is reported as stuck.

    Example:
        >>> from partstream import ConsumerLimits
        >>> ConsumerLimits(list_seconds=30).cancel_seconds
        5.0
    """

    list_seconds: float = 10.0
    cancel_grace_seconds: float = 0.05
    cancel_seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """All decisions of a host: strictness, listeners and limits."""

    contract_mode: CheckMode
    on_violation: ViolationListener
    on_provider_error: ProviderErrorListener
    limits: ConsumerLimits
