"""A function of the owner's own that looks at every request of a hub: it lets it pass, changes it, or refuses it.

Whatever a policy does, a request gets no more than it may have. The policy works on copies. What it gives back is
checked field by field and made anew from plain values, because an object of the policy's own class could be one value
while it is checked and another when it is used. It runs beside the event loop of the server, for a limited time,
because it may be slow, hang, or end its thread: plain functions run in a few daemon threads, functions with `async` in
one event loop of their own. A hub does not start without a policy that its settings name. docs/hub.md#your-own-rules
has an example.
"""

from __future__ import annotations
import asyncio
import copy
import inspect
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock, Thread
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from partstream.codec.checks import dataclass, field, fields, replace
from partstream.codec.json_codec import dumps, loads
from partstream.errors import CallerError, PartstreamError, UnexpectedValueError
from partstream.lm.messages import ChatMessage, Role
from partstream.lm.parts import part_json, part_of_json
from partstream.protocols.failures import FailureKind, ServedFailure
from partstream.runtime.provider_files import SourceLoader
from partstream.server.requests import RequestFailedError
from partstream.tokens.bounds import asked_output
from partstream_hub.pricing import with_output_limit

if TYPE_CHECKING:
    from partstream.server.clients import Caller
    from partstream.server.models import CataloguedModel
    from partstream.server.settings import AnswerRequest
    from partstream_hub.hub import DirectoryCaller
    from partstream_hub.store.values import LedgerRow


# ---- Values ----


@dataclass(frozen=True, slots=True)
class PolicyRequest:
    """A request that waits for a policy. It is a copy: what a policy does to it changes nothing."""

    request_id: str
    person: str
    team: str | None
    key_id: str  # the public id of the key
    model: str
    messages: tuple[ChatMessage, ...] = field(repr=False)  # with system messages
    tools: tuple[str, ...]  # their names
    max_output_tokens: int | None  # the longest answer that is asked for
    wire: str  # the name of the protocol in which it came
    client: str  # as the headers say, or ""
    session: str | None  # the client's id of the conversation
    headers: Mapping[str, str] = field(repr=False)  # names in lower case; those that hold keys are left out
    is_count: bool = False  # only the tokens of the request are to be counted
    # the request as it came, with what is neither in a message nor the name of a tool, such as the schemas of tools
    body: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The request is refused, with a message for the client of up to 1,000 characters."""

    message: str


@dataclass(frozen=True, slots=True)
class Changed:
    """The request goes on with changes; None leaves a thing as it is. None gives more than the person may have."""

    messages: Sequence[ChatMessage] | None = None
    model: str | None = None  # one that the person may use
    max_output_tokens: int | None = None  # a longer answer than was asked for changes nothing


@dataclass(frozen=True, slots=True)
class PolicyAnswer:
    """An answer that is over, without a word of it."""

    request_id: str
    person: str
    team: str | None
    key_id: str
    model: str
    provider: str
    input_tokens: int | None
    output_tokens: int | None
    nanodollars: int | None  # what it cost, in 10^-9 US dollars; None if it is unknown
    is_estimated: bool  # whether the tokens are an estimate
    status: int  # of HTTP
    outcome: str  # such as `completed` or `cancelled`
    seconds: float | None


# ---- Deciding ----

_logger = logging.getLogger("partstream.hub")
_RETRY_SECONDS: Final = 5.0
_SECRET_HEADERS: Final = frozenset({"authorization", "cookie", "proxy-authorization"})


@dataclass(eq=False)
class HubPolicy:
    """The policy of one worker."""

    functions: PolicyFunctions
    seconds: float  # in which it has to decide
    most_bytes: int  # of a conversation that it gives back
    key_headers: Iterable[str]  # the headers that may hold keys
    find_model: Callable[[str, Caller], Awaitable[CataloguedModel]]  # that the caller may use; raises for every other

    def __post_init__(self) -> None:
        self._hidden = _SECRET_HEADERS | frozenset(self.key_headers)
        self._threads = PolicyThreads(self.seconds)

    async def before_request(self, asking: DirectoryCaller, request: AnswerRequest) -> AnswerRequest:
        """The request as the policy lets it go on; a `RequestFailedError` where it refuses it, or does not decide."""
        function = self.functions.before_request
        if function is None:
            return request
        asked, client = request.asked, request.client
        shown = {name: value for name, value in request.headers.items() if name not in self._hidden}
        described = PolicyRequest(
            request_id=request.request_id,
            person=asking.person.name,
            team=asking.person.team,
            key_id=asking.key.id,
            model=request.model.id,
            messages=asked.messages,
            tools=tuple(tool.name for tool in asked.options.tools),
            max_output_tokens=asked_output(asked),
            wire=request.wire,
            client=client.name,
            session=client.session,
            headers=MappingProxyType(shown),
            is_count=request.is_count,
            body=asked.body,
        )
        decided = await self._decided(function, described)
        if isinstance(decided, Refusal):
            failure = ServedFailure(FailureKind.FORBIDDEN, decided.message, code="refused_by_policy")
            raise RequestFailedError(failure)
        if decided is not None:
            request = await self._changed(request, decided)
        if any("[]" in place and not place.startswith("tools") for place in asked.unmapped):
            # A part of the conversation that is in no message: other messages than came, the same ones too, are written
            # anew, so that no upstream of the same wire gets what the policy was not shown.
            request = replace(request, asked=replace(request.asked, messages=(*request.asked.messages,)))
        return request

    def at_end(self, row: LedgerRow) -> None:
        """Tells the policy of an answer that is over; returns at once."""
        function = self.functions.at_end
        if function is None:
            return
        _, *others = fields(PolicyAnswer)
        answer = PolicyAnswer(row.answer_id, *(getattr(row, one.name) for one in others))
        try:
            answered = self._threads.call(row.person, function, lambda: answer, lambda _: None)
            answered.add_done_callback(_say_failure)
        except PolicyBusyError:
            _logger.warning("the policy did not learn the end of an answer: too many calls of it have not ended")

    async def start(self) -> None:
        """Does nothing: threads start with the first call."""

    async def stop(self) -> None:
        """Begins no more calls."""
        self._threads.close()

    async def _decided(self, function: Callable[..., object], described: PolicyRequest) -> Refusal | Changed | None:
        try:
            calling = self._threads.call(
                described.person,
                function,
                # The copy is made in the thread of the policy: it is work.
                lambda: replace(
                    described, messages=copy.deepcopy(described.messages), body=copy.deepcopy(described.body)
                ),
                lambda result: checked_result(result, self.most_bytes),
            )
        except PolicyBusyError:
            raise _undecided("calls of it that have not ended are too many") from None
        try:
            async with asyncio.timeout(self.seconds):
                return await asyncio.wrap_future(calling)
        except TimeoutError:
            raise _undecided(f"it has not decided within {self.seconds:g} s") from None
        except PolicyFailedError as error:
            raise _failed(error.reason) from None

    async def _changed(self, request: AnswerRequest, decided: Changed) -> AnswerRequest:
        asked, model = request.asked, request.model
        if decided.model is not None and decided.model != model.id:
            try:
                model = await self.find_model(decided.model, request.caller)
            except PartstreamError as error:
                raise _failed(f"{error}") from None
        if decided.messages is not None:
            asked = replace(asked, messages=tuple(decided.messages))
        wanted = asked_output(asked)
        if decided.max_output_tokens is not None and (wanted is None or decided.max_output_tokens < wanted):
            asked = with_output_limit(asked, decided.max_output_tokens)
        return replace(request, asked=asked, model=model)


def _undecided(reason: str) -> RequestFailedError:
    _logger.error("the policy of the hub holds up a request: %s", reason)
    said = "the policy of this hub has not decided on this request in time; try again"
    return RequestFailedError(ServedFailure(FailureKind.OVERLOADED, said, retry_after=_RETRY_SECONDS))


def _failed(reason: str) -> RequestFailedError:
    _logger.error("the policy of the hub failed: %s", reason)
    said = "the policy of this hub could not decide on this request; the hub's log says why"
    return RequestFailedError(ServedFailure(FailureKind.FORBIDDEN, said, code="policy_failed"))


def _say_failure(calling: Future[None]) -> None:
    if not calling.cancelled() and (error := calling.exception()) is not None:
        _logger.error("the policy failed at the end of an answer: %s", error)


# ---- Checking what a policy gives back ----

_MOST_CHARACTERS: Final = 1000
_MOST_NAME: Final = 200
_MOST_MESSAGES: Final = 10_000
_MOST_TOKENS: Final = 10**9


def checked_result(result: object, most_bytes: int) -> Refusal | Changed | None:
    """What a policy has decided, made anew; `most_bytes` is of a conversation. What is no result raises an
    `UnexpectedValueError`, which has nothing of its content."""
    if result is None:
        return None
    if type(result) is Refusal:
        return Refusal(_text("Refusal.message", result.message, _MOST_CHARACTERS))
    if type(result) is not Changed:
        raise _unexpected("the result", result, "None, a Refusal or a Changed")
    messages, model, tokens = result.messages, result.model, result.max_output_tokens
    if tokens is not None and (type(tokens) is not int or not 0 < tokens <= _MOST_TOKENS):
        raise _unexpected("Changed.max_output_tokens", tokens, f"a whole number from 1 to {_MOST_TOKENS:,}")
    return Changed(
        None if messages is None else _messages(messages, most_bytes),
        None if model is None else _text("Changed.model", model, _MOST_NAME),
        tokens,
    )


def _text(where: str, value: object, most: int) -> str:
    if type(value) is not str or not value or len(value) > most or not value.isprintable():
        raise _unexpected(where, value, f"a text of one line with 1 to {most:,} characters")
    return value


def _messages(messages: object, most_bytes: int) -> tuple[ChatMessage, ...]:
    """Messages made anew of their JSON, which nothing else can be in."""
    kept: list[Any] = list(messages) if type(messages) in {list, tuple} else []  # type: ignore[call-overload]
    if not 0 < len(kept) <= _MOST_MESSAGES:
        raise _unexpected("Changed.messages", messages, f"a list or a tuple of 1 to {_MOST_MESSAGES:,} ChatMessage")
    left, made = most_bytes, []
    for place, message in enumerate(kept):
        where = f"Changed.messages[{place}]"
        if type(message) is not ChatMessage:
            raise _unexpected(where, message, "a ChatMessage")
        role, name, content = message.role, message.name, message.content
        if type(role) is not Role or (name is not None and type(name) is not str):
            raise _unexpected(where, message, "a role of Role, and a text or None as name")
        try:
            data = dumps([part_json(part) for part in content])
            made.append(ChatMessage(role, [part_of_json(part) for part in loads(data)], name))
        except (TypeError, ValueError, RecursionError, OverflowError):
            raise _unexpected(f"{where}.content", content, "parts that hold JSON values") from None
        left -= len(data)
        if left < 0:
            raise UnexpectedValueError("Changed.messages", "more", f"at most {most_bytes:,} bytes")
    return tuple(made)


def _unexpected(where: str, value: object, expected: str) -> UnexpectedValueError:
    """The error for a value, of which only the class is named: the value itself may hold a prompt."""
    return UnexpectedValueError(where, type(value).__name__, expected)


# ---- Threads ----

T = TypeVar("T")
_MOST_THREADS: Final = 16
_MOST_WAITING: Final = 1000
_MOST_OF_ONE: Final = 250  # calls for one person
_Job: TypeAlias = tuple["Future[Any]", Callable[[], Any]]


class PolicyBusyError(Exception):
    """So many calls of the policy have not ended that no further one is begun."""


class PolicyFailedError(Exception):
    """A function of a policy has raised, whatever it was; the reason is the class of the error, and of one of ours,
    which holds nothing of a request, its text."""

    def __init__(self, error: BaseException) -> None:
        text = f": {error}" if type(error) is UnexpectedValueError else ""
        self.reason = f"{type(error).__name__}{text}"
        super().__init__(self.reason)


class PolicyThreads:
    """The threads of one policy. A function with `async` is cancelled after some seconds; a plain one cannot be."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._is_closed = False
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._lock = Lock()
        self._threads = 0
        self._open: Counter[str] = Counter()  # by person
        self._loop: asyncio.AbstractEventLoop | None = None

    def call(
        self, person: str, function: Callable[..., Any], make: Callable[[], object], read: Callable[[object], T]
    ) -> Future[T]:
        """Begins a call for a person, who has a share of the calls that may wait; where these are too many, or no more
        are begun, a :class:`PolicyBusyError` says so. What makes the argument of the function and what reads its result
        run in the same thread: the latter may run code of the policy too. The future is of what was read, or of a
        :class:`PolicyFailedError` for any error, `SystemExit` too; to cancel it leaves out a call that has not begun.
        """
        if self._is_closed or self._open.total() >= _MOST_WAITING or self._open[person] >= _MOST_OF_ONE:
            raise PolicyBusyError
        with self._lock:
            self._open[person] += 1
        if inspect.iscoroutinefunction(function):
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                Thread(target=self._run, args=(self._loop,), name="partstream-policy-loop", daemon=True).start()
            future = asyncio.run_coroutine_threadsafe(self._awaited(function, make, read), self._loop)
        else:
            future = Future()
            self._jobs.put((future, lambda: read(function(make()))))
            with self._lock:
                needs_thread = self._threads < min(self._open.total(), _MOST_THREADS)
                self._threads += needs_thread
            if needs_thread:
                Thread(target=self._work, name="partstream-policy", daemon=True).start()
        future.add_done_callback(lambda _: self._note_end(person))
        return future

    def close(self) -> None:
        """Begins no more calls; those that run are not waited for."""
        self._is_closed = True
        for _ in range(self._threads):
            self._jobs.put(None)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)

    def _note_end(self, person: str) -> None:
        with self._lock:
            self._open -= Counter([person])  # without those of whom nothing is open

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            future, run = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(run())
            except BaseException as error:
                future.set_exception(PolicyFailedError(error))

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        while not self._is_closed:
            with suppress(BaseException):  # a task of the policy's own has ended with SystemExit
                loop.run_forever()
        for task in (tasks := asyncio.all_tasks(loop)):
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.close()

    async def _awaited(
        self, function: Callable[[object], Awaitable[object]], make: Callable[[], object], read: Callable[[object], T]
    ) -> T:
        try:
            async with asyncio.timeout(self._seconds):
                return read(await function(make()))
        except BaseException as error:  # `SystemExit` of a task would end its event loop
            raise PolicyFailedError(error) from None


# ---- Loading ----

_BEFORE: Final = "before_request"
_END: Final = "at_end"


class PolicyUnusableError(CallerError, UnexpectedValueError):
    """The policy in the settings cannot be used; a hub does not start without one that it should have."""


@dataclass(frozen=True, slots=True)
class PolicyFunctions:
    """The functions of a policy, with `async` or without; None for one that it does not have."""

    before_request: Callable[[Any], Any] | None
    at_end: Callable[[Any], Any] | None


def loaded_policy(source: str) -> PolicyFunctions:
    """Loads a policy.

    Args:
        source: A file with the functions `before_request` and `at_end`, or one of them, as `policy.py`; or with the
            name of what there is in it, as `policy.py:NAME`: an object that has them, or a function that is called with
            every request.

    Raises:
        PolicyUnusableError: The file is not there, raises an error, or holds no such function.
    """
    loader, place = SourceLoader(source), f"policy {source}"
    expected = f"a Python file with {_BEFORE}, {_END} or both"
    try:
        held: Any = loader.module()
    except (Exception, SystemExit) as error:
        raise PolicyUnusableError(place, f"{type(error).__name__}: {error}", "a file that runs") from error
    name = loader.attribute
    if name and (held := getattr(held, name, None)) is None:
        raise PolicyUnusableError(place, f"a file without {name}", expected)
    functions = [getattr(held, one, None) for one in (_BEFORE, _END)]
    if functions == [None, None] and name:
        functions[0] = held
    if functions == [None, None] or not all(one is None or callable(one) for one in functions):
        raise PolicyUnusableError(place, "nothing to call", expected)
    return PolicyFunctions(*functions)
