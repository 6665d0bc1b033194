"""One exchange with a server as it goes by: what was sent, each read of what came, how it ended, and when.

Headers that hold secrets by their names are replaced before they are kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from partstream.bundles.exchange import HowEnded, RecordedError
from partstream.capturing.entries import ENTRY_BYTES, Entry
from partstream.codec.redaction import without_secrets_by_name
from partstream.runtime.progress import said_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from partstream.codec.redaction import Redactor
    from partstream.lm.outputs import StreamOptions

__all__ = ["ExchangeCapture", "KeptEnd", "KeptHead", "KeptRequest", "recorded_error"]

_LONGEST_MESSAGE: Final = 2_000
"""Characters of an error that are kept."""
_FACTS: Final = (
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


@dataclass(frozen=True, slots=True)
class KeptRequest:
    """A request as it was sent, without the secrets of its headers.

    Attributes:
        method: The method.
        path: The path.
        query: The query.
        headers: The headers in order.
        body: The body, or its beginning.
        left_out: The bytes of the body that are not kept.
    """

    method: str
    path: str
    query: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = field(repr=False)
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class KeptHead:
    """The head of a response, without the headers that hold secrets by their names.

    Attributes:
        at: When it came, in nanoseconds of the clock.
        status: The status.
        reason: The reason phrase.
        headers: The headers in order.
    """

    at: int
    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class KeptEnd:
    """The end of an exchange.

    Attributes:
        at: When, in nanoseconds of the clock.
        how: How its bytes ended.
        error: What broke it, or None.
    """

    at: int
    how: HowEnded
    error: RecordedError | None = None


class _Answer(Protocol):
    """The capture of the answer that an exchange is for."""

    @property
    def clock(self) -> Callable[[], int]:
        """Returns nanoseconds."""
        ...

    def keep(self, entry: Entry, size: int) -> None:
        """Keeps an entry, as far as there is room."""
        ...


class ExchangeCapture:
    """One exchange with a server.

    Args:
        answer: The capture of the answer that it is for.
        index: Its index in the answer.
        protocol: The protocol's name.
        request: What was sent.
        redactor: Makes what removes the secrets of the request from the response.
        shown: What the host asked to have shown of the answer, or None.

    Attributes:
        protocol: The same.
        request: The same.
        redactor: The same.
        shown: The same.
        started: When the first byte of the request was sent, in nanoseconds of the clock.
        sent: When its last byte was sent; None while that is not known.
        head: The head of the response, or None.
        end: The end, or None.
        left_out_reads: The reads of the body that are not kept.
        left_out_bytes: Their bytes.
    """

    __slots__ = (
        "_answer",
        "_index",
        "end",
        "head",
        "left_out_bytes",
        "left_out_reads",
        "protocol",
        "redactor",
        "request",
        "sent",
        "shown",
        "started",
    )

    def __init__(
        self,
        answer: _Answer,
        index: int,
        protocol: str | None,
        request: KeptRequest,
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
        self.sent: int | None = None
        self.head: KeptHead | None = None
        self.end: KeptEnd | None = None
        self.left_out_reads = self.left_out_bytes = 0

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
        """Takes the head of the response.

        Args:
            status: The status.
            reason: The reason phrase.
            headers: The headers in order.
        """
        self.head = KeptHead(self._answer.clock(), status, reason, without_secrets_by_name(headers))

    def chunk(self, data: bytes) -> None:
        """Takes what one read of the body gave: a reference, no copy."""
        answer = self._answer
        answer.keep((self._index, answer.clock(), data), ENTRY_BYTES + len(data))

    def whole(self) -> None:
        """Says that the body has come to its end, or the answer in it has. The first end counts."""
        self._end(HowEnded.WHOLE)

    def cut(self, error: BaseException) -> None:
        """Says that the body broke off, or was given up. The first end counts.

        Args:
            error: What broke it, without secrets.
        """
        self._end(HowEnded.CUT, error)

    def cancelled(self) -> None:
        """Says that nobody waited for the rest of the body. The first end counts."""
        self._end(HowEnded.CANCELLED)

    def no_response(self, error: BaseException | None) -> None:
        """Says that no head of a response came. The first end counts.

        Args:
            error: Why, without secrets; None where nobody waited for it any more.
        """
        self._end(HowEnded.NO_RESPONSE, error)

    def _end(self, how: HowEnded, error: BaseException | None = None) -> None:
        if self.end is None:
            answer = self._answer
            self.end = KeptEnd(answer.clock(), how, None if error is None else recorded_error(error))


def recorded_error(error: BaseException, redact: Callable[[str], str] = str) -> RecordedError:
    """What is kept of an error: no traceback, which would keep all that its functions held.

    Args:
        error: The error.
        redact: Removes secrets from its texts.
    """
    fields = ((name, vars(error).get(name)) for name in _FACTS)
    shown = tuple((name, redact(str(value))) for name, value in fields if isinstance(value, str | int | float))
    return RecordedError(type(error).__name__, redact(said_by(error)[:_LONGEST_MESSAGE]), shown)
