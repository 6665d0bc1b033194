"""What the code that asks an upstream can find out about the answer that it works for; loads nothing else.

The capture, the log level, the owner of the attempts and the host that learns what a request loses go along with the
task, in context variables. So an upstream that is asked somewhere below finds them, also one that a person's own
provider uses, without anything between them that passes them on.

Python's levels are those of loggers, which all upstreams share; the filter of a handler asks for the level of the
task. Each answer has one owner of its attempts: with several, their attempts would multiply, three of a client, times
three of a router, times three of each upstream.
"""

from __future__ import annotations
import asyncio
import logging
import os
import sys
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from partstream.codec.checks import dataclass, field
from partstream.codec.limits import LARGE_BYTES
from partstream.errors import LanguageModelError
from partstream.settings.kinds import Choice

if TYPE_CHECKING:
    from partstream.codec.redaction import Redactor
    from partstream.lm.cancellation import CancellationToken
    from partstream.lm.outputs import StreamOptions
    from partstream.lm.parts import ResponsePart

V = TypeVar("V")

# ---- Taps: how another package captures an answer ----


@dataclass(slots=True)  # not frozen, see `RawRequest`
class CapturedRequest:
    """A request as it was sent, without the secrets of its headers; of a large body, the beginning is kept."""

    method: str
    path: str
    query: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = field(repr=False)
    left_out: int = 0


class ExchangeTap(Protocol):
    """Takes what passes in one exchange with a server; raises nothing. The first end counts."""

    def sending(self) -> None:
        """Says that the first byte of the request is being sent: the connection is there."""

    def was_sent(self) -> None:
        """Says that the last byte of the request was sent."""

    def responded(self, status: int, reason: str, headers: Iterable[tuple[str, str]]) -> None:
        """Takes the head of the response."""

    def chunk(self, data: bytes) -> None:
        """Takes what one read of the body gave."""

    def ended(self, how: str, error: BaseException | None = None) -> None:
        """Says how it ended: `whole`, as its body has, or the answer in it; `cut`, as the body broke off or was given
        up, with an error without secrets; `cancelled`, as the rest was not wanted any more; `no-response`, as no head
        came, without an error where it was not wanted any more."""


class AnswerTap(Protocol):
    """Takes what passes while one answer is made; raises nothing."""

    @property
    def is_dropped(self) -> bool:
        """Whether nothing of the answer is kept any more."""

    def exchange(
        self,
        protocol: str | None,
        request: CapturedRequest,
        redactor: Callable[[], Redactor],
        shown: StreamOptions | None = None,
    ) -> ExchangeTap:
        """Begins an exchange. `redactor` makes what removes the secrets of the request from texts of the server."""

    def part(self, part: ResponsePart) -> None:
        """Takes a part that the host got."""

    def dropped(self, names: Sequence[str]) -> None:
        """Takes the names of the fields of the client's request that reached no model."""

    def end(self, outcome: str, error: BaseException | None = None) -> None:
        """Takes the end: `completed`, `incomplete`, `failed`, `truncated` or `cancelled`; the first one counts."""

    def leave_out(self) -> None:
        """Lets go of everything, because a setting says so; an answer that a person asked for stays."""


class TapSource(Protocol):
    """Gives a tap to each answer of a host."""

    def begin(self, host: str, model: str | None) -> AnswerTap:
        """The tap of a new answer, for a host and the model that is asked; the caller reports its end."""


CAPTURE: Final[ContextVar[AnswerTap | None]] = ContextVar("partstream_capture", default=None)
"""The capture of the answer that this task works for; a host sets it in the task that asks."""


class Holding(Generic[V]):
    """Has what runs inside, and the tasks that it starts, find a value of a variable."""

    __slots__ = ("_token", "_value", "_variable")

    def __init__(self, variable: ContextVar[V], value: V) -> None:
        self._variable = variable
        self._value = value

    def __enter__(self) -> None:
        self._token = self._variable.set(self._value)

    def __exit__(self, *_: object) -> None:
        self._variable.reset(self._token)


def capturing(answer: AnswerTap | None) -> AbstractContextManager[None]:
    """Has the exchanges of what runs inside, and of the tasks that it starts, captured for an answer; None captures
    nothing."""
    return Holding(CAPTURE, answer)


def current_capture() -> AnswerTap | None:
    """The capture of the answer that is being made here, or None."""
    answer = CAPTURE.get()
    return None if answer is None or answer.is_dropped else answer


def is_off_here() -> bool:
    """Whether the environment says that nothing is captured. Its variable counts for providers without settings too."""
    return os.environ.get("PARTSTREAM_CAPTURE", "").strip().lower() == "off"


# ---- What a request loses ----

DROPPED: Final[ContextVar[Callable[[Iterable[str]], object] | None]] = ContextVar("partstream_dropped", default=None)
"""Takes what :func:`report_dropped` reports in this task, and in those that it starts; its host sets it."""


def report_dropped(paths: Iterable[str]) -> None:
    """Tells the host of the answer which fields of its request the protocol of an upstream has no place for.

    Call it before the request is sent: the host names the fields at the head of its reply, if it has not begun. A path
    is in the words of the client where they are known, such as `tools[1].web_search`; never a value.

    Raises:
        RequestNotExpressibleError: The host refuses such requests.
    """
    if (take := DROPPED.get()) is not None:
        take(paths)


# ---- What comes before it is a part ----

RECEIVED: Final[ContextVar[Callable[[int], object] | None]] = ContextVar("partstream_received", default=None)
"""Takes the number of characters of an answer that have come and are no part yet, or never become one; a host that
meters answers sets it in the task that asks."""


# ---- Servers on the way ----

HOPS_HEADER: Final = "x-partstream-hops"
HOPS: Final[ContextVar[int]] = ContextVar("partstream_hops", default=0)
"""How many servers of Partstream a request has reached, which the last of them tells its upstream."""
MOST_HOPS: Final = 8
_HOPS: Final = {str(number): number + 1 for number in range(MOST_HOPS)}


def note_hop(headers: Mapping[str, str]) -> bool:
    """Notes that a request has reached a further server; whether it may go on. One that asks itself, by whatever way,
    would take all the answers that it and others may give at once."""
    said = headers.get(HOPS_HEADER, "0")
    HOPS.set(_HOPS.get(said, MOST_HOPS))
    return said in _HOPS


# ---- Logs and attempts ----


class LogLevel(Choice):
    """The lowest level that is logged."""

    TRACE = "trace", "Every event of every answer too: its type, ids and result, never its content"
    DEBUG = "debug", "Every request and every answer too"
    INFO = "info", "What is worth knowing, such as how many tokens a request has"
    WARNING = "warning", "What may be wrong"
    ERROR = "error", "What failed"

    @property
    def number(self) -> int:
        """The level in the numbers of Python's `logging`."""
        return TRACE if self is LogLevel.TRACE else int(getattr(logging, self.name))


TRACE: Final = 5
"""The level below DEBUG, in the numbers of Python's `logging`, which has no name for it."""
_LEAST: Final[ContextVar[LogLevel | None]] = ContextVar("partstream_log_level", default=None)
_NOTHING: Final = nullcontext()


def logging_from(level: LogLevel | None) -> AbstractContextManager[None]:
    """Has what runs inside, and the tasks that it starts, logged from a level on; None changes nothing."""
    return _NOTHING if level is None else Holding(_LEAST, level)


def is_traced(logger: logging.Logger) -> bool:
    """Whether what runs now is traced: its level says so, or no level does and the logger's own does."""
    least = _LEAST.get()
    return logger.isEnabledFor(TRACE) if least is None else least is LogLevel.TRACE


class LevelFilter(logging.Filter):
    """Lets a handler write only the records of a task's level or above. `default` is the least level for tasks without
    one; the program that shows the log may change it."""

    def __init__(self, default: LogLevel) -> None:
        super().__init__()
        self.default = default

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is written."""
        return record.levelno >= (_LEAST.get() or self.default).number


IS_ONE_ATTEMPT: Final[ContextVar[bool]] = ContextVar("partstream_one_attempt", default=False)
"""Whether an upstream that is asked here is asked once and no more."""


def no_retries() -> AbstractContextManager[None]:
    """Has upstreams that are asked inside, and in tasks that start there, fail at once, without retries and without
    fallback models of their own."""
    return Holding(IS_ONE_ATTEMPT, value=True)


async def in_thread(size: int, work: Callable[..., V], *arguments: Any) -> V:
    """The result of work on so many bytes of a request: in a thread, where they are many."""
    return await asyncio.to_thread(work, *arguments) if size > LARGE_BYTES else work(*arguments)


async def run_in_thread(function: Callable[[], V], name: str) -> V:
    """Runs a function of other people in a new daemon thread, in the context of the caller, and returns its result. The
    threads of `asyncio.to_thread` are few and shared, and such a function may never return. A caller that is cancelled
    leaves it running.

    Raises:
        RuntimeError: The function raised a StopIteration, its cause. A future refuses it and would leave the caller
            waiting (Python 3.11), and a coroutine cannot raise it.
    """
    context, done = copy_context(), Future[V]()
    done.set_running_or_notify_cancel()  # what runs is not stopped by its caller

    def run() -> None:
        try:
            done.set_result(context.run(_without_stop, function))
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await asyncio.wrap_future(done)


def _without_stop(function: Callable[..., V], *arguments: Any, **named: Any) -> V:
    try:
        return function(*arguments, **named)
    except StopIteration as error:
        raise RuntimeError("a StopIteration was raised") from error


class _Threads(ThreadPoolExecutor):
    """Threads whose functions never raise a StopIteration, see :func:`run_in_thread`."""

    def submit(self, function: Callable[..., V], /, *args: Any, **kwargs: Any) -> Future[V]:
        return super().submit(_without_stop, function, *args, **kwargs)


def guard_threads(loop: asyncio.AbstractEventLoop) -> None:
    """Gives an event loop threads for `asyncio.to_thread` in which a StopIteration of a tool does not hold up its
    caller for ever, as in Python 3.11: the frameworks of agents run the tools of people there. A loop that has threads
    already keeps them."""
    if sys.version_info < (3, 12, 2) and getattr(loop, "_default_executor", None) is None:
        loop.set_default_executor(_Threads())


def shared_task(
    running: asyncio.Task[V] | None, run: Callable[..., Coroutine[Any, Any, V]], *arguments: Any
) -> asyncio.Task[V]:
    """The task that runs already, or a new one. Its callers wait for it with `asyncio.shield`: one that stops waiting
    does not stop it, and a failure that no caller waits for any more is taken."""
    if running is not None and not running.done() and running.get_loop() is asyncio.get_running_loop():
        return running
    task = asyncio.create_task(run(*arguments))
    task.add_done_callback(lambda done: None if done.cancelled() else done.exception())
    return task


async def run_until_cancelled(answer: Coroutine[object, object, None], token: CancellationToken) -> None:
    """Runs `answer` as a task. Cancelling `token` cancels the task, and this function then returns normally.

    Raises:
        asyncio.CancelledError: The calling task was cancelled, not the token.
        BaseException: Any error of the answer, except a LanguageModelError after a cancellation: no caller waits for
            it then.
    """
    waiting = asyncio.current_task()

    async def run() -> BaseException | None:
        # Returns the error: a task that raises SystemExit or KeyboardInterrupt ends the event loop.
        try:
            await answer
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            return error
        return None

    task = asyncio.create_task(run(), name=None if waiting is None else waiting.get_name())
    task.add_done_callback(lambda _: answer.close())  # for a task that was cancelled before its first step
    subscription = token.on_cancellation_requested(task.cancel)
    try:
        error = await task
        if error is not None and not (isinstance(error, LanguageModelError) and token.is_cancellation_requested):
            raise error
    except asyncio.CancelledError:
        if not token.is_cancellation_requested or (waiting is not None and waiting.cancelling()):
            raise
    finally:
        subscription.dispose()
        task.cancel()


async def run_here_until_cancelled(answer: Coroutine[object, object, None], token: CancellationToken) -> None:
    """The same in the task of the caller, as with `asyncio.timeout`, for an answer of our own code: a task of its own
    costs as much as the reading of a request. Code of others gets one, because some of it does not end in a task that
    goes on after its cancellation.

    Raises:
        BaseException: As :func:`run_until_cancelled`.
    """
    if token.is_cancellation_requested:
        answer.close()
        return
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - for the type checker: a coroutine runs in one
    before, was_cancelled = task.cancelling(), False

    def cancel() -> None:
        nonlocal was_cancelled
        was_cancelled = True
        task.cancel()

    subscription = token.on_cancellation_requested(cancel)
    try:
        await answer
    except asyncio.CancelledError:
        if not was_cancelled:
            raise
    except LanguageModelError:
        if not token.is_cancellation_requested:
            raise
    finally:
        subscription.dispose()
        if was_cancelled:
            with suppress(asyncio.CancelledError):  # an answer that ended without another wait has not met it yet
                await asyncio.sleep(0)
            if task.uncancel() > before:
                raise asyncio.CancelledError
