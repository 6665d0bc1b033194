"""What goes by of one answer: its exchanges with servers, read by read, and the parts that its host got, with times.

Nothing is copied: an entry is a reference with a time. What takes more room than the answer may have keeps its
beginning and its end.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol

from partstream.capturing.entries import ENTRY_BYTES, PART, size_of
from partstream.capturing.exchange_capture import ExchangeCapture, recorded_error
from partstream.codec.redaction import Redactor
from partstream.lm.parts import TextPart

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.bundles.exchange import RecordedError
    from partstream.capturing.entries import Entry
    from partstream.capturing.exchange_capture import KeptRequest
    from partstream.lm.outputs import StreamOptions
    from partstream.lm.parts import ResponsePart

__all__ = ["AnswerCapture", "CaptureOwner"]

_STEP: Final = 64 * 1024
"""Bytes of room that are asked for at once, so that nobody is asked for every entry."""
_EXCHANGE_BYTES: Final = 2_000
"""What an exchange takes beside its body and its reads."""
_SHARE_OF_REQUEST: Final = 4
"""A request takes at most this share of its answer's room; of a larger one, the beginning is kept."""


class CaptureOwner(Protocol):
    """Who keeps captures of answers, and shares out the room for them."""

    def more_room(self, answer: AnswerCapture, size: int) -> bool:
        """Whether an answer may take so many bytes more."""
        ...

    def ended(self, answer: AnswerCapture) -> None:
        """Hears that an answer has ended."""
        ...

    def forget(self, answer: AnswerCapture) -> None:
        """Hears that an answer must not be kept."""
        ...


class _Nobody:
    """The owner of a capture that stands alone."""

    def more_room(self, answer: AnswerCapture, size: int) -> bool:
        return True

    def ended(self, answer: AnswerCapture) -> None:
        pass

    def forget(self, answer: AnswerCapture) -> None:
        pass


class AnswerCapture:
    """One answer, as its host sees it. Its methods take a microsecond or two, and raise nothing.

    Args:
        host: Who shows the answer, such as `vscode`, `chat` or `serve`, and for whom.
        model: The model that is asked, or None.
        owner: Who keeps it; None where the caller does.
        number: Its number among those of its owner.
        most_bytes: The most bytes that it takes; of more, the beginning and the end are kept.
        redact: Removes secrets from what an error says.
        clock: Returns nanoseconds.
        now: Returns the wall time.

    Attributes:
        host: The same.
        model: The same.
        number: The same.
        clock: The same.
        started_at: The wall time at its beginning.
        started: The time of the clock at its beginning.
        exchanges: Its exchanges in order.
        ended: The time of the clock at its end; None while it goes on.
        outcome: How it ended, such as `completed`; None while it goes on.
        error: The error that its host got, or None.
        size: The bytes that it has taken of its owner's room.
        left_out_parts: The parts that are not kept.
        is_dropped: Whether nothing of it is kept any more.
        is_wanted: Whether somebody has asked for this very answer: it is kept then, whatever a setting says.
    """

    __slots__ = (
        "_append",
        "_first",
        "_is_split",
        "_last",
        "_left",
        "_most",
        "_owner",
        "_redact",
        "_request_bodies",
        "_turns",
        "clock",
        "ended",
        "error",
        "exchanges",
        "host",
        "is_dropped",
        "is_wanted",
        "left_out_parts",
        "model",
        "number",
        "outcome",
        "size",
        "started",
        "started_at",
    )

    def __init__(
        self,
        host: str,
        model: str | None = None,
        *,
        owner: CaptureOwner | None = None,
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
        self.ended: int | None = None
        self.outcome: str | None = None
        self.error: RecordedError | None = None
        self.size = self.left_out_parts = 0
        self._turns = 0
        self.is_dropped = self.is_wanted = False
        self._owner = owner or _Nobody()
        self._most = most_bytes
        self._redact = redact
        self._left = 0
        self._is_split = False  # whether the beginning is whole, and what follows makes room for what comes
        self._first: list[Entry] = []
        self._last: deque[Entry] = deque()
        self._append: Callable[[Entry], object] = self._first.append
        self._request_bodies: list[bytes] = []

    @property
    def changes(self) -> tuple[int, ...]:
        """Numbers that are others after each thing that went by."""
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

    def exchange(
        self,
        protocol: str | None,
        request: KeptRequest,
        redactor: Callable[[], Redactor] = Redactor,
        shown: StreamOptions | None = None,
    ) -> ExchangeCapture:
        """Begins an exchange.

        Args:
            protocol: The protocol's name, or None.
            request: What is sent, without secrets in its headers and its query. Its body may be shared with other
                exchanges of the answer.
            redactor: Makes what removes the secrets of the request from texts of the server. It is asked when the
                exchange leaves the memory.
            shown: What the host asked to have shown of the answer, or None.
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

    def end(self, outcome: str, error: BaseException | None = None) -> None:
        """Takes the end; the first one counts.

        Args:
            outcome: `completed`, `incomplete`, `failed`, `truncated` or `cancelled`.
            error: The error that the host got, or None.
        """
        if self.outcome is None and not self.is_dropped:
            self.outcome, self.ended = outcome, self.clock()
            self.error = None if error is None else recorded_error(error, self._redact)
            self._turns += 1
            self._owner.ended(self)

    def leave_out(self) -> None:
        """Lets go of everything, because a setting says so; an answer that is wanted stays."""
        if not self.is_wanted:
            self.drop()
            self._owner.forget(self)

    def drop(self) -> None:
        """Lets go of everything, and keeps nothing from now on."""
        self.is_dropped = True
        self.exchanges.clear()
        self._first.clear()
        self._last.clear()
        self._request_bodies.clear()
        self._append = _forget
        self.size = 0

    def keep(self, entry: Entry, size: int) -> None:
        """Keeps an entry, as far as there is room.

        Args:
            entry: The entry.
            size: The bytes that it takes.
        """
        if size > self._left and not self._find_room(size):
            self._count(entry)
            return
        self._left -= size
        self._append(entry)

    def _fitting(self, request: KeptRequest) -> KeptRequest:
        """The request with as much of its body as there is room for; a body that was kept before takes none."""
        size, body = _EXCHANGE_BYTES, request.body
        if not any(body is kept for kept in self._request_bodies):
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
            if self.size + step <= self._most and self._owner.more_room(self, step):
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
        """Counts an entry that is not kept."""
        index, _, content = entry
        if not isinstance(content, bytes):
            self.left_out_parts += 1
        elif index < len(self.exchanges):
            exchange = self.exchanges[index]
            exchange.left_out_reads += 1
            exchange.left_out_bytes += len(content)


def _forget(entry: Entry) -> None:
    """Keeps nothing."""
