"""How the replay upstream misbehaves: each fault turns the steps of a good reply into those of a bad one.

A fault is a pure function and a row of :data:`FAULTS`; several may be put on one reply, in the order in which they are
named. Where a count is left out, the middle of the stream is meant. A fault that is about events leaves a reply that
has none as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from email.utils import formatdate
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from partstream.errors import CallerError
from partstream.testing.steps import END_OF_STREAM, End, EndKind, Head, Send, Stall, Step, document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from partstream.testing.directives import Choice

__all__ = ["FAULTS", "Fault", "Situation", "UnknownFaultError", "apply_faults"]

_Steps: TypeAlias = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Situation:
    """What a fault may depend on beside the reply.

    Attributes:
        attempt: How many times this very request has come, this time included.
        now: Seconds since 1970.
        error_body: HTTP status and message to the bytes of an error body, in the protocol of the request.
    """

    attempt: int
    now: float
    error_body: Callable[[int, str], bytes]


class UnknownFaultError(CallerError):
    """A fault that there is not, or a value that it has no use for.

    Attributes:
        name: What was asked for.
        expected: What could be asked for.
    """

    def __init__(self, name: str, expected: str) -> None:
        super().__init__(f"unknown fault {name!r}; expected {expected}")
        self.name = name
        self.expected = expected


class Fault(NamedTuple):
    """A row of the table.

    Attributes:
        value: What may be written after the name, as in `[=SECONDS]`; empty where nothing may.
        description: What the client meets.
        apply: The steps of the good reply, the value and the situation, to the steps of the bad one.
    """

    value: str
    description: str
    apply: Callable[[_Steps, str, Situation], _Steps]


def apply_faults(steps: Iterable[Step], faults: Iterable[Choice], situation: Situation) -> _Steps:
    """Puts the faults on a reply, one after the other.

    Raises:
        UnknownFaultError: A fault is not in the table, or its value is not what the table says.
    """
    steps = tuple(steps)
    for choice in faults:
        name, value = choice
        fault = FAULTS.get(name)
        if fault is None:
            raise UnknownFaultError(name, f"one of {', '.join(FAULTS)}")
        required = fault.value and not fault.value.startswith("[")
        if (required and not value) or (value and not fault.value):
            raise UnknownFaultError(str(choice), name + fault.value)
        try:
            steps = fault.apply(steps, value, situation)
        except ValueError as error:
            raise UnknownFaultError(str(choice), name + fault.value) from error
    return steps


# ---- errors in the place of an answer ----


def _status(steps: _Steps, value: str, situation: Situation) -> _Steps:
    """429, 429:2 (Retry-After in seconds), 429:2:date (as an HTTP date; RFC 9110, 10.2.3 allows both)."""
    code, _, retry = value.partition(":")
    status = int(code)
    if not 400 <= status <= 599:
        raise ValueError(value)
    body = situation.error_body(status, f"The replay upstream was asked to answer with status {status}.")
    return document(status, body, headers=_retry_after(retry, situation.now))


def _retry_after(value: str, now: float) -> tuple[tuple[str, str], ...]:
    if not value:
        return ()
    seconds, _, form = value.partition(":")
    if form not in {"", "date"}:
        raise ValueError(value)
    return (("retry-after", formatdate(now + int(seconds), usegmt=True) if form else str(int(seconds))),)


def _status_then_ok(steps: _Steps, value: str, situation: Situation) -> _Steps:
    count, _, status = value.partition(":")
    if situation.attempt > int(count):
        return steps
    return _status(steps, status or "503", situation)


def _context_length(steps: _Steps, value: str, situation: Situation) -> _Steps:
    """The words of Chat Completions, which many servers use for every protocol."""
    limit, count = map(int, value.split(":"))
    message = (
        f"This model's maximum context length is {limit} tokens. However, your messages resulted in {count} tokens."
    )
    return document(400, situation.error_body(400, message))


def _html(steps: _Steps, value: str, situation: Situation) -> _Steps:
    """What a proxy or a captive portal puts in the place of the answer."""
    page = b"<!doctype html><title>Sign in</title><h1>Sign in to the network</h1>\n"
    return document(200, page, content_type="text/html; charset=utf-8")


# ---- silence ----


def _seconds(value: str) -> float | None:
    seconds = float(value) if value else None
    if seconds is not None and not 0 <= seconds <= 3600:
        raise ValueError(value)
    return seconds


def _stall_before_headers(steps: _Steps, value: str, situation: Situation) -> _Steps:
    return Stall(_seconds(value)), *steps


def _stall_before_events(steps: _Steps, value: str, situation: Situation) -> _Steps:
    return _insert(steps, _body_start(steps), Stall(_seconds(value)))


def _stall(steps: _Steps, value: str, situation: Situation) -> _Steps:
    count, _, seconds = value.partition(":")
    return _insert(steps, _position(steps, count), Stall(_seconds(seconds)))


def _keep_open(steps: _Steps, value: str, situation: Situation) -> _Steps:
    """Some servers and proxies do not close after the terminal event."""
    return _insert(steps, len(steps) - 1, Stall(_seconds(value)))


# ---- broken connections ----


def _cut_before_headers(steps: _Steps, value: str, situation: Situation) -> _Steps:
    return (End(EndKind.RESET),)


def _ends_after(kind: EndKind) -> Callable[[_Steps, str, Situation], _Steps]:
    def ends(steps: _Steps, value: str, situation: Situation) -> _Steps:
        return *steps[: _position(steps, value)], End(kind)

    return ends


# ---- bytes and events ----


def _split(steps: _Steps, value: str, situation: Situation) -> _Steps:
    """Every write is cut into pieces of N bytes, wherever that falls: in a line, in a character."""
    size = int(value)
    if size < 1:
        raise ValueError(value)
    result: list[Step] = []
    for step in steps:
        if isinstance(step, Send) and step.data:
            starts = range(0, len(step.data), size)
            pieces = [Send(step.data[start : start + size]) for start in starts]
            result += (replace(pieces[0], event=step.event, piece=step.piece), *pieces[1:])
        else:
            result.append(step)
    return tuple(result)


def _no_done(steps: _Steps, value: str, situation: Situation) -> _Steps:
    return _missing(steps, END_OF_STREAM, situation)


def _missing(steps: _Steps, value: str, situation: Situation) -> _Steps:
    return tuple(step for step in steps if not (isinstance(step, Send) and step.event == value))


def _duplicate(steps: _Steps, value: str, situation: Situation) -> _Steps:
    """Every event, or every one of the type, comes twice in a row; the end of the stream once."""
    result: list[Step] = []
    for step in steps:
        result.append(step)
        if isinstance(step, Send) and step.is_event and value in {"", step.event}:
            result.append(step)
    return tuple(result)


def _malformed(steps: _Steps, value: str, situation: Situation) -> _Steps:
    """The data of one event is cut off: the event is framed well, its JSON is not whole."""
    position = _position(steps, value)
    step = steps[position]
    if not (isinstance(step, Send) and step.is_event):
        return steps
    text = step.data.rstrip(b"\r\n")
    broken = replace(step, data=text[: -(len(text) // 4)] + step.data[len(text) :])
    return *steps[:position], broken, *steps[position + 1 :]


# ---- places in a reply ----


def _body_start(steps: _Steps) -> int:
    """Where the first byte of the body is sent."""
    return next((index for index, step in enumerate(steps) if isinstance(step, Head)), -1) + 1


def _position(steps: _Steps, count: str) -> int:
    """The place after `count` events, or after half of them; where there are fewer, the place after the last."""
    places = [index for index, step in enumerate(steps) if isinstance(step, Send) and step.event != END_OF_STREAM]
    wanted = int(count) if count else len(places) // 2
    if wanted < 0:
        raise ValueError(count)
    if wanted < len(places):
        return places[wanted]
    return places[-1] + 1 if places else len(steps) - 1


def _insert(steps: _Steps, position: int, step: Step) -> _Steps:
    return *steps[:position], step, *steps[position:]


FAULTS: Final[dict[str, Fault]] = {
    "status": Fault(
        "=CODE[:SECONDS[:date]]",
        "That HTTP error, with Retry-After in seconds or as a date that many seconds ahead.",
        _status,
    ),
    "status_then_ok": Fault(
        "=N[:CODE[:SECONDS[:date]]]",
        "The same request fails N times (with 503 if no code is given), then is answered.",
        _status_then_ok,
    ),
    "context_length": Fault("=LIMIT:TOKENS", "HTTP 400: the input has more tokens than the limit.", _context_length),
    "html": Fault("", "Status 200 with a page of HTML.", _html),
    "stall_before_headers": Fault(
        "[=SECONDS]", "Silence before the head of the reply, for ever without a number.", _stall_before_headers
    ),
    "stall_before_events": Fault("[=SECONDS]", "The head comes at once, then silence.", _stall_before_events),
    "stall": Fault("[=N[:SECONDS]]", "Silence after N events.", _stall),
    "keep_open": Fault("[=SECONDS]", "The connection stays open after the last byte of the answer.", _keep_open),
    "cut_before_headers": Fault("", "The connection is reset in the place of an answer.", _cut_before_headers),
    "cut": Fault("[=N]", "The connection is reset after N events.", _ends_after(EndKind.RESET)),
    "close": Fault("[=N]", "The connection is closed after N events, in the middle.", _ends_after(EndKind.CLOSED)),
    "truncate": Fault("[=N]", "The body ends well, but after N events.", _ends_after(EndKind.WHOLE)),
    "split": Fault("=N", "The bytes come N at a time.", _split),
    "no_done": Fault("", "The end of the stream is not marked.", _no_done),
    "malformed": Fault("[=N]", "The JSON of event N (from 0) is cut off.", _malformed),
    "duplicate": Fault("[=TYPE]", "Every event, or every event of the type, comes twice.", _duplicate),
    "missing": Fault("=TYPE", "No event of the type comes.", _missing),
}
"""All faults by name."""
