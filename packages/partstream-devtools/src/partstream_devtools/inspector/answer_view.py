"""The view of one answer: an exchange with a server, or the parts that a host got.

:func:`view_of_exchange` reads the bytes (`reading.py`) and shows the parts of the host where they are known, else those
of the bytes; :func:`view_of_answer` has the parts alone. A view says four things:

1. **What there was**: request, response, error, usage, and every event and part with its place and its time.
2. **What broke**: the contract judges the parts that are shown, and names the part, the event and what helps.
3. **Whose fault it is**: a table leads from the facts of the end to who and a sentence; the first row that fits counts.
   What the bytes break already is the server's fault, what only the parts of the host break is the provider's.
4. **How fast it was**: the numbers and the rhythm (`metrics.py`).

A recording may know less than a server sent: a stream without a clock may have lost its end, a large one leaves bytes
out. Then the view blames the recording, and no one else.
"""

from __future__ import annotations
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partstream import errors
from partstream.codec.checks import dataclass
from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.codec.text import visible
from partstream.errors import LanguageModelError, UpstreamError, UpstreamFailureError, UpstreamHTTPError
from partstream.lm.contract import RULE_HINTS, RULES, CheckMode, ContractChecker, Level, Violation, missing_evidence
from partstream.lm.outputs import GATEWAY_CALL_ID_PREFIX, Finish, Outcome, Unmapped
from partstream.lm.parts import SOURCE_KEY, USAGE_MIME_TYPE, DataPart, TextPart, ThinkingPart, ToolCallPart
from partstream.protocols.reader import END_OF_BYTES
from partstream_devtools.bundles.exchange import HowEnded, RecordedAnswer, RecordedError, RecordedExchange
from partstream_devtools.bundles.recorded import recorded_error, tools_asked
from partstream_devtools.capturing.capture import ERROR_FACTS
from partstream_devtools.inspector import metrics, reading
from partstream_devtools.recorded_stream import RecordingError

if TYPE_CHECKING:
    from partstream_devtools.inspector import shapes

# ---- Request, response, error and usage ----

_LONGEST_BODY: Final = 200_000  # characters of a request's body
_FACTS: Final = (*ERROR_FACTS, "event_type", "field", "got", "expected", "state", "body")
"""The fields of errors that are shown."""
_ROWS: Final = (
    ("input", "input_tokens", "prompt_tokens"),
    ("cached", "cached_tokens", ""),
    ("output", "output_tokens", "completion_tokens"),
    ("reasoning", "reasoning_tokens", ""),
    ("total", "total_tokens", "total_tokens"),
)
"""The label of each count, its field in a usage, and its field in the data part that Copilot reads."""


def error_shown(error: BaseException | RecordedError | None) -> shapes.ErrorView | None:
    """An error, whether it was recorded or found now."""
    if error is None:
        return None
    if not isinstance(error, BaseException):
        return {"type": error.type, "message": error.message, "fields": list(error.fields)}
    values = ((name, getattr(error, name, None)) for name in _FACTS)
    message = error.message if isinstance(error, LanguageModelError) else str(error)
    fields = [(name, str(value)) for name, value in values if value not in (None, "", ())]
    return {"type": type(error).__name__, "message": message, "fields": fields}


def raised(error: BaseException | RecordedError) -> BaseException:
    """An error as the contract judges it: a recorded one is one of ours if it is called like one."""
    if isinstance(error, BaseException):
        return error
    if isinstance(getattr(errors, error.type, None), type):
        return recorded_error(error)
    unknown: type[Exception] = type(visible(error.type), (Exception,), {})  # which takes no null and no half character
    return unknown(error.message)


def usage_shown(finish: Finish | None, parts: Iterable[reading.CompletedPart]) -> shapes.UsageView | None:
    """The tokens that the server reported; else those that a host received."""
    if finish is not None and finish.usage is not None:
        counts = ((label, getattr(finish.usage, name)) for label, name, _ in _ROWS)
        return {"rows": [(label, count) for label, count in counts if count is not None], "source": "server"}
    data = [one.part for one in parts if isinstance(one.part, DataPart) and one.part.mime_type == USAGE_MIME_TYPE]
    try:
        told: Any = loads(data[-1].data) if data else None
    except JSONDecodeError:
        return None  # no numbers that a host could show
    if not isinstance(told, dict):
        return None
    counts = ((label, told.get(name)) for label, _, name in _ROWS if name)
    rows = [(label, count) for label, count in counts if isinstance(count, int)]
    return {"rows": rows, "source": str(told.get(SOURCE_KEY) or "provider")}


# ---- The contract ----


class Judged(NamedTuple):
    """The first thousand violations of an answer, in order, and how many rules were kept, broken, and so on."""

    violations: tuple[shapes.ViolationView, ...]
    verdict: shapes.VerdictView


def _violation(
    violation: Violation, parts: Sequence[reading.CompletedPart], last_event: int | None
) -> shapes.ViolationView:
    rule, hint = violation.rule, RULE_HINTS.get(violation.rule.id)
    event = last_event
    if violation.index is not None:
        # A part that the provider made itself has no event: that of the part before it.
        before = (parts[place].event for place in range(violation.index, -1, -1))
        event = next((one for one in before if one is not None), None)
    return {
        "rule": rule.id,
        "level": rule.level.value,
        "section": rule.section,
        "promise": rule.text,
        "detail": violation.detail,
        "part": violation.index,
        "event": event,
        "seen": "" if hint is None else hint.seen,
        "hints": [] if hint is None else list(hint.causes),
    }


# ---- Blame ----

_BUSY: Final = frozenset({402, 429})
_KEY: Final = frozenset({401, 403})
_REDIRECTS: Final = range(300, 400)
_FAILED: Final = frozenset({408, *range(500, 600)})
"""Errors of the server: its time-out (408) too, although HTTP counts that to the client's."""
_REFUSED: Final = frozenset(range(400, 500)) - {408}


@dataclass(frozen=True, slots=True)
class EndFacts:
    """What is known of the end of an answer.

    Attributes:
        outcome: How it ended; `cancelled` too.
        ending: How its bytes ended, or None where no bytes are known.
        error: The name of the class of its error, or None.
        message: The error's sentence.
        phase: The limit of time that was exceeded, for such an error; else None.
        status: The HTTP status where it is one of an error, that of the head or of the error itself; or None.
        reason: Why the model stopped, in the server's word, or None.
        broken: The rules that the bytes of the server break already (MUST), each once.
        broken_by_provider: The rules that only what the host got breaks (MUST), each once.
        lost: What of the bytes the host did not get, or None.
        event: The number of the last event, or None.
        of_upstream: Whether the error is one that an upstream is blamed for.
        left_out: The bytes of the answer that the recording leaves out.
        is_too_long: Whether the server says that the conversation is too long for the model.
    """

    outcome: str
    ending: str | None = None
    error: str | None = None
    message: str = ""
    phase: str | None = None
    status: int | None = None
    reason: str | None = None
    broken: Sequence[str] = ()
    broken_by_provider: Sequence[str] = ()
    lost: str | None = None
    event: int | None = None
    of_upstream: bool = True
    left_out: int = 0
    is_too_long: bool = False


def _is(*names: str) -> Callable[[EndFacts], bool]:
    return lambda facts: facts.error in names


_Row = tuple["Callable[[EndFacts], bool]", "shapes.Who", str]

_BLAME_ROWS: Final[tuple[_Row, ...]] = (
    (
        lambda facts: bool(facts.broken_by_provider),
        "provider",
        "The bytes of the server keep the contract; what the host got breaks {by_provider}.",
    ),
    (_is("RecordingError"), "nobody", "The bytes match no known protocol."),
    (
        lambda facts: facts.outcome == "cancelled" or facts.ending == "cancelled",
        "client",
        "The client stopped the answer{at}.",
    ),
    (lambda facts: facts.status in _KEY, "client", "The server refused the key (HTTP {facts.status}){said}"),
    (lambda facts: facts.status in _BUSY, "client", "The account is at its limit (HTTP {facts.status}){said}"),
    (lambda facts: facts.status in _REDIRECTS, "client", "The address is wrong (HTTP {facts.status}){said}"),
    (lambda facts: facts.status in _REFUSED, "client", "The server refused the request (HTTP {facts.status}){said}"),
    (lambda facts: facts.status in _FAILED, "server", "The server failed (HTTP {facts.status}){said}"),
    (
        lambda facts: facts.error == "UpstreamTimeoutError" and facts.phase == "connect",
        "network",
        "No connection came about in time{said}",
    ),
    (_is("UpstreamTimeoutError"), "server", "The server was silent for too long{at}{said}"),
    (
        lambda facts: facts.is_too_long or facts.error == "ContextLengthExceededError",
        "client",
        "The conversation is too long for the model{said}",
    ),
    (lambda facts: facts.ending == "no-response", "network", "No response came{said}"),
    (
        lambda facts: facts.left_out > 0 and bool(facts.error or facts.broken or facts.outcome == "truncated"),
        "nobody",
        "The recording leaves out {facts.left_out:,} bytes of the answer, so the bytes after them prove nothing.",
    ),
    (
        _is("UpstreamFailureError", "UpstreamAbortedError", "EmptyAnswerError"),
        "server",
        "The server itself ended the answer with an error{said}",
    ),
    (
        _is("UpstreamProtocolError", "EventTooLargeError", "ToolArgumentsError", "ContentTypeError"),
        "server",
        "The server sent what its protocol does not allow{said}",
    ),
    (
        lambda facts: facts.ending == "cut" or facts.error == "UpstreamConnectionError",
        "network",
        "The connection broke{at}, before the body was whole.",
    ),
    (
        lambda facts: facts.outcome == "truncated" and facts.ending == "whole",
        "server",
        "The server closed the stream{at} without the closing event of its protocol.",
    ),
    (lambda facts: facts.outcome == "truncated", "nobody", "The recording ends{at}, before the answer does."),
    (lambda facts: bool(facts.broken) and facts.ending is None, "provider", "What the host got breaks {broken}."),
    (lambda facts: bool(facts.broken), "server", "The bytes of the server already break {broken}."),
    (
        lambda facts: facts.error is not None and not facts.of_upstream,
        "provider",
        "The provider failed with {facts.error}{said}",
    ),
    (lambda facts: facts.error is not None, "server", "The answer failed with {facts.error}{said}"),
    (lambda facts: facts.lost is not None, "provider", "The bytes of the server are whole, but {facts.lost}."),
    (
        lambda facts: facts.outcome == "incomplete",
        "nobody",
        "A limit or a filter stopped the model ({reason}).",
    ),
    (lambda facts: True, "nobody", "The answer is whole."),
)
"""The first row that fits says whose fault it is, and in which sentence."""


def blame(facts: EndFacts) -> shapes.BlameView:
    """Whose fault it is, in one sentence."""
    who, sentence = next((who, sentence) for fits, who, sentence in _BLAME_ROWS if fits(facts))
    said = sentence.format(
        facts=facts,
        at="" if facts.event is None else f" after event {facts.event}",
        said=f": {facts.message}" if facts.message else ".",
        broken=", ".join(facts.broken),
        by_provider=", ".join(facts.broken_by_provider),
        reason=facts.reason or "no reason given",
    )
    return {"who": who, "sentence": said}


# ---- The view ----

_LOCAL: Final = ("localhost", "127.", "[::1]")
"""What the name of this machine begins with."""
UNKNOWN: Final = "unknown"
"""The outcome of an answer of which no protocol is known, and the ending of bytes whose rest is not known."""
_CANCELLED: Final = "cancelled"
_SUCCESS: Final = range(200, 300)
_NOT_WRONG: Final = frozenset({Outcome.COMPLETED.value, Outcome.INCOMPLETE.value, UNKNOWN})


def view_of_exchange(exchange: RecordedExchange, answer: RecordedAnswer | None, title: str) -> shapes.AnswerView:
    """The view of an exchange, under a title; `answer` is the one whose parts all came from it, or None."""
    read = reading.read_exchange(exchange, GATEWAY_CALL_ID_PREFIX)
    parts: Sequence[reading.CompletedPart] = read.parts
    if answer is not None and answer.reported:
        parts = reading.as_reported(read.parts, answer.reported, exchange.offset or 0)
    return metrics.collapsed(
        _Subject(exchange, answer, read, tuple(map(reading.kind_of_event, read.events)), tuple(parts)).shown(title)
    )


def view_of_answer(answer: RecordedAnswer, title: str) -> shapes.AnswerView:
    """The view of an answer of which only the parts are known, such as that of an agent, under a title."""
    parts = tuple(reading.CompletedPart(one.part, None, one.at) for one in answer.reported)
    return metrics.collapsed(_Subject(None, answer, reading.ReadAnswer(), (), parts).shown(title))


_MOST_DROPPED: Final = 20
"""The most fields that reached no model in a note."""


@dataclass(frozen=True, slots=True)
class _Subject:
    """What one view shows: an exchange, None where no bytes are known, an answer of a host, or both.

    `parts` are those of the host where they are known, else those of the bytes.
    """

    exchange: RecordedExchange | None
    answer: RecordedAnswer | None
    read: reading.ReadAnswer
    kinds: tuple[shapes.EventKind, ...]
    parts: tuple[reading.CompletedPart, ...]

    def shown(self, title: str) -> shapes.AnswerView:
        """The view."""
        exchange, answer, read = self.exchange, self.answer, self.read
        request, head = (None, None) if exchange is None else (exchange.request, exchange.head)
        known = [one for one in (exchange, answer) if one is not None]
        row, known_ending = read.protocol, self._known_ending()
        rhythm = metrics.rhythm_of(self._moments())
        judged = self._judge(self.parts, None if self._is_reported else GATEWAY_CALL_ID_PREFIX)
        runs, results = metrics.runs_of(self.parts)
        reason = None if read.finish is None else read.finish.reason
        shown = self._shown(paced=True)
        lost = None
        if exchange is not None and answer is not None and self._is_reported:
            lost = reading.differs(read.parts, self.parts, exchange, answer, has_error=self._error() is not None)
        return {
            "id": f"{answer.number if answer else 0}" if exchange is None else f"{exchange.answer}.{exchange.number}",
            "title": title,
            "offset": metrics.milliseconds(sum(one.offset or 0 for one in known)) or 0.0,
            "startedAt": next((one.started_at for one in known if one.started_at is not None), None),
            "host": None if answer is None else answer.host,
            "request": None
            if request is None
            else {
                "method": request.method,
                "path": request.path + (f"?{request.query}" if request.query else ""),
                "headers": list(request.headers),
                "body": request.body.decode(errors="replace")[:_LONGEST_BODY],
                "size": len(request.body),
                "sentAt": metrics.milliseconds(request.sent_at),
            },
            "response": None
            if head is None
            else {
                "status": head.status,
                "reason": head.reason,
                "headers": list(head.headers),
                "at": metrics.milliseconds(head.at),
            },
            "protocol": None if row is None else {"name": row.name, "title": row.shown_title, "sure": read.is_sure},
            "framing": read.framing,
            "model": (read.finish.model if read.finish else None) or (answer.model if answer else None),
            "outcome": self._outcome(),
            "ending": None if known_ending == UNKNOWN else known_ending,
            "error": error_shown(self._error()),
            "wrong": self._wrong(judged),
            "blame": self._blame(judged, lost),
            "finishReason": None if reason is None else {"unified": reason.unified.value, "raw": reason.raw},
            "usage": usage_shown(read.finish, self.parts),
            "verdict": judged.verdict,
            "numbers": self._numbers(rhythm, shown),
            "bytes": b64encode(b"".join(chunk.data for chunk in read.chunks)).decode(),
            "reads": [
                (metrics.milliseconds(chunk.at), end - len(chunk.data), end)
                for chunk, end in zip(read.chunks, accumulate(len(one.data) for one in read.chunks), strict=True)
            ],
            "events": self._events(rhythm, judged.violations),
            "parts": metrics.parts_shown(self.parts),
            "runs": runs,
            "shown": shown,
            "shownUnpaced": self._shown(paced=False),
            "violations": list(judged.violations),
            "unmapped": self._unmapped(),
            # Parts alone have no events, so no gap has one before and after it.
            "gaps": [] if exchange is None else [*rhythm.notable],
            "notes": self._notes(rhythm, lost),
            "result": results,
            "cache": None,  # what two requests tell together: `view.py` sets it
        }

    @property
    def _is_reported(self) -> bool:
        return self.answer is not None and bool(self.answer.reported)

    @property
    def _is_unread(self) -> bool:
        """True if the response cannot be decoded: its protocol is unknown, and no host reported its parts."""
        return isinstance(self.read.error, RecordingError) and not self._is_reported

    @property
    def _has_clock(self) -> bool:
        if self.exchange is not None:
            return self.exchange.has_clock
        return bool(self.parts) and all(part.at is not None for part in self.parts)

    # ---- the head ----

    def _outcome(self) -> str:
        """How the answer ended; the word of its host comes first."""
        if self.answer is not None and self.answer.outcome is not None:
            return self.answer.outcome
        finish, exchange = self.read.finish, self.exchange
        if finish is not None:
            return finish.outcome.value
        if exchange is None:
            return Outcome.COMPLETED.value
        if exchange.end.how is HowEnded.CANCELLED:
            return _CANCELLED
        return UNKNOWN if self._is_unread else Outcome.FAILED.value

    def _error(self) -> BaseException | RecordedError | None:
        """What went wrong: below the protocol, else in it, else as the host received it."""
        recorded = None if self.exchange is None else self.exchange.end.error
        return recorded or self._found_error or (None if self.answer is None else self.answer.error)

    @property
    def _found_error(self) -> Exception | None:
        return self.read.error or (self.read.finish.error if self.read.finish else None)

    def _judge(self, parts: Sequence[reading.CompletedPart], namespace: str | None) -> Judged:
        if self._is_unread:
            return Judged((), {"kept": 0, "broken": 0, "warnings": 0, "notJudged": len(RULES)})
        row = self.read.protocol
        # The client was given the error of the host where that is known, else the one that reading found; the one that
        # a connection broke with, below the protocol, reaches no client.
        told = None if self.answer is None else self.answer.error
        is_told = told is not None and (self._is_reported or self.exchange is None)
        error = raised(told) if told is not None and is_told else self._found_error
        outcome = self._outcome()
        tools = None if self.exchange is None or row is None else tools_asked(self.exchange.request, row)
        checker = ContractChecker(tools, CheckMode.LENIENT, namespace=namespace)
        for part in parts:
            checker.check(part.part)
        if outcome == _CANCELLED:
            checker.cancel()
        if outcome != _CANCELLED and error is not None:
            checker.fail(error)
        else:
            checker.complete()
        classes = {type(part.part).__name__ for part in parts}
        has_end, has_error = outcome != Outcome.TRUNCATED, error is not None
        broken = warnings = not_judged = 0
        for rule in RULES.values():
            if checker.counts[rule.id]:
                broken += rule.level is Level.MUST
                warnings += rule.level is not Level.MUST
            else:
                not_judged += missing_evidence(rule, checker, classes, has_end=has_end, has_error=has_error) is not None
        kept = len(RULES) - broken - warnings - not_judged
        # The event that ended the answer is that of what its end breaks.
        ended = (event.number for event in self.read.events if _finishes(event))
        last_event = next(ended, len(self.read.events) or None)
        return Judged(
            tuple(_violation(one, parts, last_event) for one in checker.violations),
            {"kept": kept, "broken": broken, "warnings": warnings, "notJudged": not_judged},
        )

    def _known_ending(self) -> str | None:
        """How the bytes ended; unknown for a stream without a clock, whose recorder may have lost the rest."""
        if self.exchange is None:
            return None
        how = self.exchange.end.how
        return UNKNOWN if how is HowEnded.WHOLE and not self._has_clock else how.value

    def _wrong(self, judged: Judged) -> int | None:
        """The event at which the answer went wrong: that of a broken MUST, of an error, or the last whole one."""
        broken = (one["event"] for one in judged.violations if one["level"] == Level.MUST.value)
        first = next((event for event in broken if event is not None), None)
        failed = (event for event, kind in zip(self.read.events, self.kinds, strict=True) if kind == "error")
        error = next((event.number for event in failed if event.name != END_OF_BYTES), None)
        if first is not None or error is not None:
            return min(number for number in (first, error) if number is not None)
        return None if self._outcome() in _NOT_WRONG else self._last_whole_event()

    def _last_whole_event(self) -> int | None:
        return next((event.number for event in reversed(self.read.events) if event.data), None)

    def _blame(self, judged: Judged, lost: reading.Difference | None) -> shapes.BlameView:
        error = self._error()
        is_found = isinstance(error, BaseException)
        broken = _must(judged.violations)
        of_bytes = (
            _must(self._judge(self.read.parts, None).violations) if self._is_reported and self.exchange else broken
        )
        finish, left_out = self.read.finish, None if self.exchange is None else self.exchange.left_out
        shown = error_shown(error)
        fields = dict(shown["fields"]) if shown else {}
        reason = finish.reason if finish is not None else None
        return blame(
            EndFacts(
                self._outcome(),
                self._known_ending(),
                None if shown is None else shown["type"],
                "" if shown is None else shown["message"],
                fields.get("phase"),
                self._status(fields),
                None if reason is None else reason.raw or reason.unified.value,
                [rule for rule in broken if rule in of_bytes],
                [rule for rule in broken if rule not in of_bytes],
                lost.sentence if lost is not None and lost.is_of_provider else None,
                self._last_whole_event(),
                isinstance(error, UpstreamError) if is_found else bool(shown and shown["type"].startswith("Upstream")),
                0 if left_out is None else left_out.bytes,
                self._is_too_long(error),
            )
        )

    def _is_too_long(self, error: BaseException | RecordedError | None) -> bool:
        row = self.read.protocol
        if row is None or row.write_request is None or not isinstance(error, UpstreamHTTPError | UpstreamFailureError):
            return False
        return row.write_request().errors.overflow(error) is not None

    def _status(self, fields: Mapping[str, str]) -> int | None:
        """The status of HTTP that says an error: that of the head, else the one that the error names."""
        head = None if self.exchange is None else self.exchange.head
        if head is not None and head.status not in _SUCCESS:
            return head.status
        named = fields.get("http_status", "")
        return int(named) if named.isdecimal() else None

    # ---- times ----

    def _moments(self) -> list[metrics.Moment]:
        if self.exchange is None:
            times = ((index, one.at, reading.kind_of_part(one.part)) for index, one in enumerate(self.parts))
            return [metrics.Moment(index, at / 1e6, kind, None) for index, at, kind in times if at is not None]
        return [
            metrics.Moment(event.number, event.at / 1e6, kind, event.read)
            for event, kind in zip(self.read.events, self.kinds, strict=True)
            if event.at is not None and reading.changed_the_answer(event, kind)
        ]

    def _settled(self) -> float | None:
        """When the answer was over."""
        if self.exchange is not None and self.exchange.end.at is not None:
            return metrics.milliseconds(self.exchange.end.at)
        times = [one.at for one in self.parts if one.at is not None]
        return metrics.milliseconds(max(times)) if times else None

    def _shown(self, *, paced: bool) -> list[shapes.ShownView]:
        settled = self._settled()
        if settled is None or not self._has_clock or any(one.at is None for one in self.parts):
            return []
        parts = [(metrics.milliseconds(one.at) or 0.0, one.part) for one in self.parts]
        return metrics.flushes(parts, max(settled, parts[-1][0] if parts else 0.0), paced=paced)

    def _numbers(self, rhythm: metrics.Rhythm, shown: Sequence[shapes.ShownView]) -> list[shapes.NumberView]:
        if not self._has_clock:
            return metrics.numbers_of(None)
        exchange, read, end = self.exchange, self.read, self._settled()
        sent = exchange.request.sent_at if exchange is not None and exchange.request is not None else None
        began = metrics.milliseconds(sent) or 0.0

        def since(at: int | None) -> float | None:
            """Milliseconds since the last byte of the request was written."""
            return None if at is None else (metrics.milliseconds(at) or 0.0) - began

        visible = [
            index
            for index, one in enumerate(self.parts)
            if isinstance(one.part, ToolCallPart) or (isinstance(one.part, TextPart) and one.part.value)
        ]
        first = visible[0] if visible else None
        shown_at = (one["at"] - began for one in shown if first is not None and one["from"] <= first <= one["to"])
        thinking = (one.at for one in self.parts if isinstance(one.part, ThinkingPart) and one.part.value)
        data = (
            event.at for event, kind in zip(read.events, self.kinds, strict=True) if event.data and kind != "keepalive"
        )
        ended = (event.at for event in read.events if event.name != END_OF_BYTES and _finishes(event))
        closed = metrics.milliseconds(next(ended, None))
        has_texts, share = rhythm.text_events >= metrics.FEWEST_TEXT_EVENTS, rhythm.lump_share
        closing: float | str | None = None
        if closed is not None:
            closing = "the end is not in the recording" if end is None else end - closed
        values: dict[str, float | str | None] = {
            "time_to_first_byte": since(exchange.chunks[0].at if exchange is not None and exchange.chunks else None),
            "time_to_first_event": since(next(data, None)),
            "time_to_first_thinking": since(next(thinking, None)),
            "time_to_first_chunk": None if first is None else since(self.parts[first].at),
            "shown": next(shown_at, None),
            "longest_gap": None if rhythm.longest is None else rhythm.longest["ms"],
            "time_per_output_chunk": rhythm.text_median if has_texts else None,
            "time_per_output_chunk_p95": rhythm.text_95 if has_texts else None,
            "lumps": share * 100 if has_texts and share is not None else None,
            "tokens_per_second": self._speed([self.parts[index].at for index in visible]),
            "stalls": None if rhythm.longest is None else sum(gap["stall"] for gap in rhythm.notable),
            "closing_delay": closing,
            "total": None if end is None else end - began,
        }
        if exchange is None:
            no_bytes = "no bytes in the recording"
            values |= dict.fromkeys(("time_to_first_byte", "time_to_first_event", "lumps"), no_bytes)
        return metrics.numbers_of(values)

    def _speed(self, visible: list[int | None]) -> float | str:
        """The reported tokens of the answer without reasoning a second, by the times of the visible parts."""
        usage = self.read.finish.usage if self.read.finish is not None else None
        if usage is None or usage.output_tokens is None:
            return "no usage"
        times = [metrics.milliseconds(at) for at in (visible[:1] + visible[-1:])]
        first, last = times if times else (None, None)
        if first is None or last is None:
            return "neither text nor a call came"
        seconds = (last - first) / 1000
        tokens = usage.output_tokens - (usage.reasoning_tokens or 0)
        return "less than 1 s" if seconds < 1 else tokens / seconds

    # ---- bytes and events ----

    def _events(self, rhythm: metrics.Rhythm, violations: Sequence[shapes.ViolationView]) -> list[shapes.EventView]:
        parts: dict[int, list[int]] = {}
        for index, part in enumerate(self.parts):
            if part.event is not None:
                parts.setdefault(part.event, []).append(index)
        broken: dict[int, list[int]] = {}
        for index, violation in enumerate(violations):
            if violation["event"] is not None:
                broken.setdefault(violation["event"], []).append(index)
        gaps = {gap["before"]: gap["stall"] for gap in rhythm.notable}
        return [
            {
                "n": event.number,
                "at": metrics.milliseconds(event.at),
                "until": metrics.milliseconds(event.at),
                "type": event.name,
                "kind": kind,
                "from": event.start,
                "to": event.end,
                "text": reading.said_by(event, kind),
                "parts": parts.get(event.number, []),
                "violations": broken.get(event.number, []),
                "marks": _marks(event, gaps.get(event.number), rhythm, is_broken=event.number in broken),
                "count": 1,
            }
            for event, kind in zip(self.read.events, self.kinds, strict=True)
        ]

    def _unmapped(self) -> list[shapes.UnmappedView]:
        events: dict[str, list[int]] = {}
        for event in self.read.events:
            for output in event.outputs:
                if isinstance(output, Unmapped):
                    events.setdefault(output.type, []).append(event.number)
        counted = Counter({kind: len(numbers) for kind, numbers in events.items()})
        return [{"type": kind, "count": count, "events": events[kind]} for kind, count in counted.most_common()]

    def _notes(self, rhythm: metrics.Rhythm, lost: reading.Difference | None) -> list[str]:
        notes = []
        if (
            rhythm.lump_share is not None
            and rhythm.text_events >= metrics.FEWEST_TEXT_EVENTS
            and rhythm.lump_share > metrics.LUMPY
        ):
            request = None if self.exchange is None else self.exchange.request
            headers = () if request is None else request.headers
            share = f"{rhythm.lump_share:.0%} of the text events came in the same read as the event before them"
            cause = (
                "the server writes them together"
                if any(name.lower() == "host" and value.startswith(_LOCAL) for name, value in headers)
                else "a proxy, or a buffer of the server, usually collects them"
            )
            notes.append(f"{share}: {cause}.")
        if lost is not None:
            notes.append(f"{lost.sentence[0].upper()}{lost.sentence[1:]}.")
        notes += self._left_out()
        unread = () if self.read.finish is None else self.read.finish.dropped
        for said, names in (
            ("The client's request has fields that reached no model", getattr(self.answer, "dropped", ())),
            ("The answer has fields that nothing reads", unread),
        ):
            more = f" and {len(names) - _MOST_DROPPED} more" if len(names) > _MOST_DROPPED else ""
            notes += [f"{said}: {', '.join(names[:_MOST_DROPPED])}{more}."] if names else []
        late = sum(event.is_late for event in self.read.events)
        if late:
            notes.append(f"{late} events came after the end of the answer and are ignored.")
        return notes

    def _left_out(self) -> list[str]:
        """What the recording does not hold, because it was too large to be kept whole."""
        left, parts = (None if self.exchange is None else self.exchange.left_out), getattr(self.answer, "left_out", 0)
        notes = []
        if left is not None and left.reads:
            notes.append(
                f"The recording leaves out {left.reads:,} reads with {left.bytes:,} bytes after read {left.after}."
            )
        if left is not None and left.request_bytes:
            notes.append(f"The recording leaves out the last {left.request_bytes:,} bytes of the request.")
        if parts:
            notes.append(f"The recording leaves out {parts:,} parts that the host got.")
        return notes


def _must(violations: Sequence[shapes.ViolationView]) -> list[str]:
    return list(dict.fromkeys(one["rule"] for one in violations if one["level"] == "MUST"))


def _finishes(event: reading.ReadEvent) -> bool:
    return any(isinstance(output, Finish) for output in event.outputs)


def _marks(
    event: reading.ReadEvent, is_stall: bool | None, rhythm: metrics.Rhythm, *, is_broken: bool
) -> list[shapes.EventMark]:
    rows: tuple[tuple[bool, shapes.EventMark], ...] = (
        (is_stall is False, "gap"),
        (bool(is_stall), "stall"),
        (any(isinstance(output, Unmapped) for output in event.outputs), "unmapped"),
        (is_broken, "broken"),
        (event.number in rhythm.lumps, "lump"),
        (event.is_late, "late"),
    )
    return [mark for applies, mark in rows if applies]
