"""What passes while answers come, kept in memory: exchanges with servers, the parts that a host got, and when.

An :class:`AnswerCapture` takes the parts and the reads of one answer, each in a microsecond or two. Nothing is copied:
an entry is a reference with a time. The room of an answer is bounded, and asked for in steps from the owner of the
captures; of an answer that takes more, the beginning and the end are kept. Headers that hold secrets by their names are
replaced before they are kept; what removes other secrets is asked when an exchange leaves the memory.

:class:`LastAnswers` keeps the last answers of one host, so that one that went wrong can be looked at afterwards.
Nothing is written until it is asked for. The oldest answers go first, those that have ended before those that go on.
:class:`NextAnswers` records the next answer whole, as a user asks: it stays in memory until it has ended, whatever else
comes. A host asks several models at once, such as one for the title of a chat, so that every answer is recorded that
begins while another one is being recorded; the recording ends when none of them goes on.
"""

from __future__ import annotations
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.codec.checks import replace
from partstream.codec.redaction import Redactor, without_secrets_by_name
from partstream.lm.parts import DataPart, ResponsePart, TextPart, ThinkingPart, ToolCallPart
from partstream.runtime.progress import said_by
from partstream.upstream.context import capturing
from partstream_devtools.bundles.exchange import ExchangeEnd, HowEnded, RecordedError, ResponseHead

if TYPE_CHECKING:
    from partstream.lm.outputs import StreamOptions
    from partstream.upstream.context import CapturedRequest

# ---- Entries ----

ENTRY_BYTES: Final = 200
"""What an entry takes beside its content: the entry itself, its time and the object that it refers to."""

_UNKNOWN: Final = 64 * 1024
"""What a part of another class may take."""

PART: Final = -1
"""Instead of the index of an exchange: the entry is a part that the host got."""

Entry: TypeAlias = "tuple[int, int, bytes | ResponsePart]"
"""One thing that came: the index of its exchange or :data:`PART`, when, in nanoseconds of the clock, and the bytes
or the part. A plain tuple: one is made for every read of every answer.
"""


def size_of(content: bytes | ResponsePart) -> int:
    """The bytes that an entry takes, about."""
    measure = _SIZES.get(type(content))
    return ENTRY_BYTES + (measure(content) if measure is not None else _UNKNOWN)


def _size_of_value(value: Any) -> int:
    """The bytes that a JSON value takes, about."""
    if isinstance(value, str):
        return ENTRY_BYTES + len(value)
    if isinstance(value, dict):
        return ENTRY_BYTES + sum(_size_of_value(name) + _size_of_value(item) for name, item in value.items())
    if isinstance(value, list | tuple):
        return ENTRY_BYTES + sum(map(_size_of_value, value))
    return ENTRY_BYTES


_SIZES: Final[dict[type, Callable[[Any], int]]] = {
    bytes: len,
    TextPart: lambda part: len(part.value),
    ThinkingPart: lambda part: _size_of_value(part.value) + _size_of_value(part.metadata),
    ToolCallPart: lambda part: _size_of_value(part.input),
    DataPart: lambda part: len(part.data),
}
"""The bytes that the content of an entry takes beside the entry itself."""


# ---- Exchanges ----

_LONGEST_MESSAGE: Final = 2_000  # characters of an error that are kept
ERROR_FACTS: Final = (
    "http_status",
    "provider_code",
    "provider_type",
    "param",
    "retry_after",
    "request_id",
    "generation_id",
    "phase",
    "seconds",
)
"""The fields of errors that are kept, as far as they hold a text or a number."""


class ExchangeCapture:
    """One exchange with a server, at an index of an answer. Times are nanoseconds of the clock.

    Attributes:
        redactor: Makes what removes the secrets of the request from the response.
        shown: What the host asked to have shown of the answer, or None.
        started: When the first byte of the request was sent.
        sent: When its last byte was sent; None while that is not known.
        head: The head of the response, without the headers that hold secrets by their names; None before it came.
        end: How its bytes ended; None while they come.
        left_out_reads, left_out_bytes: What is not kept of the body.
    """

    sent: int | None = None
    head: ResponseHead | None = None
    end: ExchangeEnd | None = None
    left_out_reads = left_out_bytes = 0

    def __init__(
        self,
        answer: AnswerCapture,
        index: int,
        protocol: str | None,
        request: CapturedRequest,
        redactor: Callable[[], Redactor],
        shown: StreamOptions | None = None,
    ) -> None:
        self._answer = answer
        self._index = index
        self.protocol = protocol
        self.request = request
        self.redactor = redactor
        self.shown = shown
        self.started = answer.clock()

    @property
    def turns(self) -> int:
        """How many of head and end there are."""
        return (self.head is not None) + (self.end is not None)

    def sending(self) -> None:
        """Says that the first byte of the request is being sent: the connection is there."""
        self.started = self._answer.clock()

    def was_sent(self) -> None:
        """Says that the last byte of the request was sent."""
        self.sent = self._answer.clock()

    def responded(self, status: int, reason: str, headers: Iterable[tuple[str, str]]) -> None:
        """Takes the head of the response."""
        self.head = ResponseHead(self._answer.clock(), status, reason, without_secrets_by_name(headers))

    def chunk(self, data: bytes) -> None:
        """Takes what one read of the body gave: a reference, no copy."""
        answer = self._answer
        answer.keep((self._index, answer.clock(), data), ENTRY_BYTES + len(data))

    def ended(self, how: str, error: BaseException | None = None) -> None:
        """Says how it ended, by the value of :class:`HowEnded`. The first end counts."""
        if self.end is None:
            said = None if error is None else recorded_error(error)
            self.end = ExchangeEnd(self._answer.clock(), HowEnded(how), said)


def recorded_error(error: BaseException, redact: Callable[[str], str] = str) -> RecordedError:
    """What is kept of an error, redacted: no traceback, which would keep all that its functions held."""
    fields = ((name, vars(error).get(name)) for name in ERROR_FACTS)
    shown = tuple((name, redact(str(value))) for name, value in fields if isinstance(value, str | int | float))
    return RecordedError(type(error).__name__, redact(said_by(error)[:_LONGEST_MESSAGE]), shown)


# ---- Answers ----

_STEP: Final = 64 * 1024
"""Bytes of room that are asked for at once, so that the owner is not asked for every entry."""
_EXCHANGE_BYTES: Final = 2_000
"""What an exchange takes beside its body and its reads."""
_SHARE_OF_REQUEST: Final = 4
"""A request takes at most this share of its answer's room; of a larger one, the beginning is kept."""


class AnswerCapture:
    """One answer, as its host sees it. Its methods take a microsecond or two, and raise nothing.

    Args:
        host: The program that shows the answer, such as `vscode`, `chat` or `serve`, and for whom.
        owner: Keeps it; None where the caller does.
        number: Its number among those of its owner.
        most_bytes: The most bytes that it takes; of more, the beginning and the end are kept.
        redact: Removes secrets from what an error says.

    Attributes:
        started_at, started: The wall time, and the time of the clock in nanoseconds, at its beginning.
        ended, outcome: The time of the clock, and how it ended, such as `completed`; None while it goes on.
        error: The error that its host got, or None.
        size: The bytes that it has taken of its owner's room.
        dropped_fields: The names of the fields of the client's request that reached no model.
        left_out_parts: The number of parts that are not kept.
        is_dropped: Whether nothing of it is kept any more.
        is_wanted: Whether this very answer was asked for: it is kept then, whatever a setting says.
    """

    ended: int | None = None
    outcome: str | None = None
    error: RecordedError | None = None
    left_out_parts = 0
    dropped_fields: tuple[str, ...] = ()
    is_wanted = False

    def __init__(
        self,
        host: str,
        model: str | None = None,
        *,
        owner: LastAnswers | None = None,
        number: int = 1,
        most_bytes: int = 64 * 1024 * 1024,
        redact: Callable[[str], str] = str,
        clock: Callable[[], int] = time.monotonic_ns,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.host = host
        self.model = model
        self.number = number
        self.clock = clock
        self.started_at = now()
        self.started = clock()
        self.exchanges: list[ExchangeCapture] = []
        self._owner = owner
        self._most = most_bytes
        self.size = self._left = self._turns = 0
        self.is_dropped = self._is_split = False  # split: the beginning is whole, and what follows makes room
        self._redact = redact
        self._first: list[Entry] = []
        self._last: deque[Entry] = deque()
        self._append: Callable[[Entry], object] = self._first.append
        self._request_bodies: list[bytes] = []

    @property
    def changes(self) -> tuple[int, ...]:
        """Numbers that differ after each thing that came."""
        left_out = (exchange.left_out_reads for exchange in self.exchanges)
        ends = (exchange.turns for exchange in self.exchanges)
        return len(self._first), len(self._last), self._turns, self.left_out_parts, *left_out, *ends

    @property
    def entries(self) -> list[Entry]:
        """What is kept, in order."""
        return [*self._first, *self._last.copy()]  # a copy is made at once, whatever other threads do

    @property
    def kept_before_gap(self) -> list[Entry]:
        """What is kept of the beginning; everything where nothing was left out."""
        return [*self._first]

    def copied(self) -> AnswerCapture:
        """The same as it is now: what comes later changes nothing in it, and no text and no read is copied."""
        copied = copy(self)
        copied.exchanges = [*map(copy, self.exchanges)]
        copied._first, copied._last = [*self._first], self._last.copy()  # noqa: SLF001 - of the same class
        return copied

    def exchange(
        self,
        protocol: str | None,
        request: CapturedRequest,
        redactor: Callable[[], Redactor] = Redactor,
        shown: StreamOptions | None = None,
    ) -> ExchangeCapture:
        """Begins an exchange.

        The request holds no secrets in its headers and its query; its body may be shared with other exchanges of the
        answer. `redactor` is asked when the exchange leaves the memory; it removes the secrets of the request from
        texts of the server.
        """
        exchange = ExchangeCapture(self, len(self.exchanges), protocol, self._fitting(request), redactor, shown)
        if not self.is_dropped:
            self.exchanges.append(exchange)
        self._turns += 1
        return exchange

    def part(self, part: ResponsePart) -> None:
        """Takes a part that the host got."""
        # As in `keep`, without a call: nearly all parts are texts, and there is one for every event.
        size = ENTRY_BYTES + len(part.value) if part.__class__ is TextPart else size_of(part)
        if size > self._left and not self._find_room(size):
            self.left_out_parts += 1
            return
        self._left -= size
        self._append((PART, self.clock(), part))

    def dropped(self, names: Sequence[str]) -> None:
        """Takes the names of the fields of the client's request that reached no model."""
        self.dropped_fields = tuple(names)
        self._turns += 1

    def end(self, outcome: str, error: BaseException | None = None) -> None:
        """Takes the end: `completed`, `incomplete`, `failed`, `truncated` or `cancelled`; the first one counts."""
        if self.outcome is None and not self.is_dropped:
            self.outcome, self.ended = outcome, self.clock()
            self.error = None if error is None else recorded_error(error, self._redact)
            self._turns += 1
            if self._owner is not None:
                self._owner.changed(self)

    def leave_out(self) -> None:
        """Lets go of everything, because a setting says so; an answer that is wanted stays."""
        if not self.is_wanted:
            if self._owner is not None:
                self._owner.forget(self)
            self.drop()

    def drop(self) -> None:
        """Lets go of everything, and keeps nothing from now on."""
        self.is_dropped = True
        self.exchanges.clear()
        self._first.clear()
        self._last.clear()
        self._request_bodies.clear()
        self._append = lambda _: None
        self.size = 0

    def keep(self, entry: Entry, size: int) -> None:
        """Keeps an entry of so many bytes, as far as there is room."""
        if size > self._left and not self._find_room(size):
            self._count(entry)
            return
        self._left -= size
        self._append(entry)

    def _fitting(self, request: CapturedRequest) -> CapturedRequest:
        """The request with as much of its body as there is room for; a body that was kept before takes none."""
        size, body = _EXCHANGE_BYTES, request.body
        if not (self._request_bodies and any(body is kept for kept in self._request_bodies)):
            most = self._most // _SHARE_OF_REQUEST
            if len(body) > most:
                request = replace(request, body=body[:most], left_out=len(body) - most)
            size += len(request.body)
        if size > self._left and not self._find_room(size):
            return replace(request, body=b"", left_out=request.left_out + len(request.body))
        self._left -= size
        self._request_bodies.append(body)
        return request

    def _find_room(self, size: int) -> bool:
        """Finds room for an entry: the owner's, else that of the entries in the middle; tells whether it could."""
        if self.is_dropped:
            return True
        while self._left < size:
            step = max(_STEP, size - self._left)
            if self.size + step <= self._most and (self._owner is None or self._owner.more_room(self, step)):
                self.size += step
                self._left += step
            elif not self._let_go_of_one():
                return False
        return True

    def _let_go_of_one(self) -> bool:
        """Lets go of the entry in the middle; tells whether there was one."""
        if not self._is_split:
            self._is_split = True
            half = len(self._first) // 2
            self._last.extend(self._first[half:])
            del self._first[half:]
            self._append = self._last.append
        if not self._last:
            return False
        entry = self._last.popleft()
        self._left += size_of(entry[2])
        self._count(entry)
        return True

    def _count(self, entry: Entry) -> None:
        index, _, content = entry
        if not isinstance(content, bytes):
            self.left_out_parts += 1
        elif index < len(self.exchanges):
            exchange = self.exchanges[index]
            exchange.left_out_reads += 1
            exchange.left_out_bytes += len(content)


# ---- The last answers ----

MOST_ANSWERS: Final = 20
MOST_BYTES: Final = 20 * 1024 * 1024  # all answers together
MOST_BYTES_OF_ONE: Final = 10 * 1024 * 1024
"""Of a larger answer, the beginning and the end are kept."""


class LastAnswers:
    """The captures of the last answers of one host, running ones too; belongs to one event loop.

    Args:
        most_answers: The most answers.
        most_bytes: The most bytes of all of them.
        most_bytes_of_one: The most bytes of one.
        redact: Removes secrets from what errors say.
        clock: Returns nanoseconds.
        now: Returns the wall time.

    Attributes:
        size: The bytes that the answers have taken.
    """

    def __init__(
        self,
        most_answers: int = MOST_ANSWERS,
        most_bytes: int = MOST_BYTES,
        most_bytes_of_one: int = MOST_BYTES_OF_ONE,
        *,
        redact: Callable[[str], str] = str,
        clock: Callable[[], int] = time.monotonic_ns,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._most_answers = most_answers
        self._most_bytes = most_bytes
        self._most_bytes_of_one = most_bytes_of_one
        self._redact = redact
        self._clock = clock
        self._now = now
        self._answers: list[AnswerCapture] = []
        self._listeners: list[Callable[[AnswerCapture], object]] = []
        self._begun = self.size = 0

    @property
    def answers(self) -> tuple[AnswerCapture, ...]:
        """The answers, in the order in which they began."""
        return tuple(self._answers)

    @property
    def newest(self) -> AnswerCapture | None:
        """The answer that began last; None where there is none."""
        return self._answers[-1] if self._answers else None

    def on_change(self, listener: Callable[[AnswerCapture], object]) -> Callable[[], None]:
        """Has a function called with each answer when it has begun, and again when it has ended.

        Returns:
            Ends that.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    @contextmanager
    def capture(self, host: str, model: str | None) -> Iterator[AnswerCapture]:
        """Captures what runs inside as a new answer. An answer without an end by then was cancelled."""
        answer = self.begin(host, model)
        try:
            with capturing(answer):
                yield answer
        finally:
            answer.end("cancelled")

    def begin(self, host: str, model: str | None) -> AnswerCapture:
        """The capture of a new answer, for a host and the model that is asked; the caller says its end."""
        self._begun += 1
        answer = AnswerCapture(
            host,
            model,
            owner=self,
            number=self._begun,
            most_bytes=self._most_bytes_of_one,
            redact=self._redact,
            clock=self._clock,
            now=self._now,
        )
        self._answers.append(answer)
        if len(self._answers) > self._most_answers:
            self.forget(self._oldest(answer))
        self.changed(answer)
        return answer

    def forget(self, answer: AnswerCapture | None) -> None:
        """Lets go of an answer, if it is still here: it must not be kept."""
        if answer is not None and answer in self._answers:
            self._answers.remove(answer)
            self.size -= answer.size
            answer.drop()

    def more_room(self, answer: AnswerCapture, size: int) -> bool:
        """Gives an answer so many bytes more, if it may take them; others may have to go for it."""
        while self.size + size > self._most_bytes:
            oldest = self._oldest(answer)
            if oldest is None:
                return False
            self.forget(oldest)
        self.size += size
        return True

    def changed(self, answer: AnswerCapture) -> None:
        """Tells who listens that an answer has begun or has ended."""
        for listener in [*self._listeners]:
            listener(answer)

    def _oldest(self, besides: AnswerCapture) -> AnswerCapture | None:
        """The answer that goes first: the oldest that has ended, else the oldest; none that is wanted or spared."""
        oldest: AnswerCapture | None = None
        for answer in self._answers:
            if answer is not besides and not answer.is_wanted:
                if answer.outcome is not None:
                    return answer
                oldest = oldest or answer
        return oldest


# ---- The next answers ----


class NextAnswers:
    """The answers that are to be recorded.

    Args:
        answers: Tells when an answer begins and ends.
        on_recorded: Called with the answers of a recording that has ended.

    Attributes:
        is_armed: Whether the next answer is recorded.
    """

    def __init__(self, answers: LastAnswers, on_recorded: Callable[[Sequence[AnswerCapture]], object]) -> None:
        self.is_armed = False
        self._recorded: list[AnswerCapture] = []
        self._on_recorded = on_recorded
        answers.on_change(self._changed)

    def arm(self) -> None:
        """Has the next answer recorded."""
        self.is_armed = True

    def disarm(self) -> None:
        """Records nothing more, also not what is being recorded."""
        self.is_armed = False
        self._let_go()

    def _changed(self, answer: AnswerCapture) -> None:
        if answer.outcome is None and (self.is_armed or self._recorded):
            self.is_armed = False
            answer.is_wanted = True
            self._recorded.append(answer)
        elif self._recorded and all(one.outcome is not None for one in self._recorded):
            recorded = tuple(self._recorded)
            self._let_go()
            self._on_recorded(recorded)

    def _let_go(self) -> None:
        for answer in self._recorded:
            answer.is_wanted = False
        self._recorded.clear()
