"""The faults of the replay upstream: each one turns the steps of a correct reply into the steps of a faulty reply.

A fault is a pure function and a row of :data:`FAULTS`. A reply can have several faults, applied in the given order. If
a fault takes a count of events, the default is half of them. A fault of events does not change a reply without events.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from email.utils import formatdate
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from partstream.errors import CallerError
from partstream.testing.steps import END_OF_STREAM, START_OF_STREAM, End, EndKind, Head, Send, Stall, Step, document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from partstream.devtools.testing.directives import NamedValue

__all__ = ["FAULTS", "Fault", "ReplyContext", "UnknownFaultError", "apply_faults"]

_Steps: TypeAlias = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class ReplyContext:
    """The circumstances of a reply that faults can depend on.

    Attributes:
        attempt: How often this same request has arrived, including this time.
        now: The current time, in seconds since 1970.
        error_body: Makes the bytes of an error body in the protocol of the request, from HTTP status and message.
    """

    attempt: int
    now: float
    error_body: Callable[[int, str], bytes]


class UnknownFaultError(CallerError):
    """Unknown fault, or an invalid value of a fault.

    Attributes:
        name: The requested name, with its value if the value is invalid.
        expected: The accepted names or values.
    """

    def __init__(self, name: str, expected: str) -> None:
        super().__init__(f"unknown fault {name!r}; expected {expected}")
        self.name = name
        self.expected = expected


class Fault(NamedTuple):
    """A row of the table.

    Attributes:
        value: The form of the value, such as `[=SECONDS]`; empty if the fault has no value.
        description: The effect for the client.
        apply: Makes the steps of the faulty reply from those of the correct reply, the value and the situation.
    """

    value: str
    description: str
    apply: Callable[[_Steps, str, ReplyContext], _Steps]


def apply_faults(steps: Iterable[Step], faults: Iterable[NamedValue], situation: ReplyContext) -> _Steps:
    """Applies the faults to a reply, one after the other.

    Raises:
        UnknownFaultError: A fault is not in the table, or its value is invalid.
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
        except (ValueError, OverflowError, OSError) as error:  # a number, or a date too far away
            raise UnknownFaultError(str(choice), name + fault.value) from error
    return steps


# ---- errors instead of an answer ----


def _status(steps: _Steps, value: str, situation: ReplyContext) -> _Steps:
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


def _status_then_ok(steps: _Steps, value: str, situation: ReplyContext) -> _Steps:
    count, _, status = value.partition(":")
    if situation.attempt > int(count):
        return steps
    return _status(steps, status or "503", situation)


def _context_length(steps: _Steps, value: str, situation: ReplyContext) -> _Steps:
    """The words of Chat Completions servers; many servers use them for every protocol."""
    limit, count = map(int, value.split(":"))
    message = (
        f"This model's maximum context length is {limit} tokens. However, your messages resulted in {count} tokens."
    )
    return document(400, situation.error_body(400, message))


def _html(steps: _Steps, value: str, situation: ReplyContext) -> _Steps:
    """The page that a proxy or a captive portal sends instead of the answer."""
    page = b"<!doctype html><title>Sign in</title><h1>Sign in to the network</h1>\n"
    return document(200, page, content_type="text/html; charset=utf-8")


# ---- silence ----


def _seconds(value: str) -> float | None:
    seconds = float(value) if value else None
    if seconds is not None and not 0 <= seconds <= 3600:
        raise ValueError(value)
    return seconds


def _stall_before_headers(steps: _Steps, value: str, situation: ReplyContext) -> _Steps:
    return Stall(_seconds(value)), *steps


def _stall_before_events(steps: _Steps, value: str, situation: ReplyContext) -> _Steps:
    return _insert(steps, _body_start(steps), Stall(_seconds(value)))


def _stall(steps: _Steps, value: str, situation: ReplyContext) -> _Steps:
    count, _, seconds = value.partition(":")
    return _insert(steps, _position(steps, count), Stall(_seconds(seconds)))


def _keep_open(steps: _Steps, value: str, situation: ReplyContext) -> _Steps:
    """Some servers and proxies do not close the connection after the terminal event."""
    return _insert(steps, len(steps) - 1, Stall(_seconds(value)))


# ---- broken connections ----


def _cut_before_headers(steps: _Steps, value: str, situation: ReplyContext) -> _Steps:
    return (End(EndKind.RESET),)


def _ends_after(kind: EndKind) -> Callable[[_Steps, str, ReplyContext], _Steps]:
    def ends(steps: _Steps, value: str, situation: ReplyContext) -> _Steps:
        return *steps[: _position(steps, value)], End(kind)

    return ends


# ---- bytes and events ----


def _split(steps: _Steps, value: str, situation: ReplyContext) -> _Steps:
    """Cuts every write into pieces of N bytes, also inside a line or a character."""
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


def _no_done(steps: _Steps, value: str, situation: ReplyContext) -> _Steps:
    return _missing(steps, END_OF_STREAM, situation)


def _missing(steps: _Steps, value: str, situation: ReplyContext) -> _Steps:
    return tuple(step for step in steps if not (isinstance(step, Send) and step.event == value))


def _duplicate(steps: _Steps, value: str, situation: ReplyContext) -> _Steps:
    """Sends every event, or every event of the type, twice in a row; the mark of the end is sent once."""
    result: list[Step] = []
    for step in steps:
        result.append(step)
        if isinstance(step, Send) and step.is_event and value in {"", step.event}:
            result.append(replace(step, data=step.again or step.data))
    return tuple(result)


def _malformed(steps: _Steps, value: str, situation: ReplyContext) -> _Steps:
    """Cuts off the data of one event: its framing is correct, its JSON is incomplete."""
    position = _position(steps, value)
    step = steps[position]
    if not (isinstance(step, Send) and step.is_event):
        return steps
    text = step.data.rstrip(b"\r\n")
    broken = replace(step, data=text[: -(len(text) // 4)] + step.data[len(text) :])
    return *steps[:position], broken, *steps[position + 1 :]


# ---- places in a reply ----


def _body_start(steps: _Steps) -> int:
    """The index of the step that sends the first byte of the body."""
    return next((index for index, step in enumerate(steps) if isinstance(step, Head)), -1) + 1


def _position(steps: _Steps, count: str) -> int:
    """The index after `count` events, by default after half of them; after the last event if there are fewer."""
    around = {START_OF_STREAM, END_OF_STREAM}
    places = [index for index, step in enumerate(steps) if isinstance(step, Send) and step.event not in around]
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
        "An HTTP error, with Retry-After in seconds or as a date that many seconds ahead.",
        _status,
    ),
    "status_then_ok": Fault(
        "=N[:CODE[:SECONDS[:date]]]",
        "The same request fails N times, by default with 503, and then succeeds.",
        _status_then_ok,
    ),
    "context_length": Fault("=LIMIT:TOKENS", "HTTP 400: the input has more tokens than the limit.", _context_length),
    "html": Fault("", "Status 200 with an HTML page.", _html),
    "stall_before_headers": Fault(
        "[=SECONDS]", "Silence before the head of the reply; without a number, forever.", _stall_before_headers
    ),
    "stall_before_events": Fault("[=SECONDS]", "The head arrives at once, then silence.", _stall_before_events),
    "stall": Fault("[=N[:SECONDS]]", "Silence after N events.", _stall),
    "keep_open": Fault("[=SECONDS]", "The connection stays open after the last byte of the answer.", _keep_open),
    "cut_before_headers": Fault("", "The connection is reset instead of an answer.", _cut_before_headers),
    "cut": Fault("[=N]", "The connection is reset after N events.", _ends_after(EndKind.RESET)),
    "close": Fault("[=N]", "The connection is closed after N events, in the middle.", _ends_after(EndKind.CLOSED)),
    "truncate": Fault("[=N]", "The body ends properly, but after N events.", _ends_after(EndKind.WHOLE)),
    "split": Fault("=N", "The bytes arrive N at a time.", _split),
    "no_done": Fault("", "The end of the stream is not marked.", _no_done),
    "malformed": Fault("[=N]", "The JSON of event N (from 0) is cut off.", _malformed),
    "duplicate": Fault("[=TYPE]", "Every event, or every event of the type, arrives twice.", _duplicate),
    "missing": Fault("=TYPE", "Events of the type are left out.", _missing),
}
"""All faults by name."""
