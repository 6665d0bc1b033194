"""The numbers of an answer: one table with the definition of each, for the page, the command and the documentation.

The names are those of OpenTelemetry where it has one (`time_to_first_chunk`, `time_per_output_chunk`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from partstream.inspector.timing import FEWEST_TEXT_EVENTS, Rhythm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.devtools.inspector.shapes import NumberView

__all__ = ["NUMBERS", "Measured", "NumberRow", "numbers_of", "shown_number"]

_NO_CLOCK: Final = "no clock in the recording"
_NO_BYTES: Final = "no bytes in the recording"
_NEITHER_CAME: Final = "neither text nor a call came"
_ONE_EVENT: Final = "fewer than two events changed the answer"
_ONE_SECOND: Final = 1000.0


@dataclass(frozen=True, slots=True)
class Measured:
    """What the numbers are made of; times in milliseconds since the first byte of the request.

    Attributes:
        has_clock: Whether the recording has times.
        has_bytes: Whether bytes are known, and not parts alone.
        sent: When the last byte of the request was written.
        first_byte: When the first byte of the body was read, or None.
        first_event: When the first complete event was read, or None.
        first_thinking: When the first thinking with text was there, or None.
        first_visible: When the first text or call was there, or None.
        last_visible: When the last one was, or None.
        shown: When the first one is in view in VS Code, simulated, or None.
        terminal: When the event came that ended the answer, or None.
        end: When everything was over, or None.
        output_tokens: The reported tokens of the answer without reasoning, or None.
        rhythm: Its gaps.
    """

    has_clock: bool
    has_bytes: bool = True
    sent: float = 0.0
    first_byte: float | None = None
    first_event: float | None = None
    first_thinking: float | None = None
    first_visible: float | None = None
    last_visible: float | None = None
    shown: float | None = None
    terminal: float | None = None
    end: float | None = None
    output_tokens: int | None = None
    rhythm: Rhythm = Rhythm()  # noqa: RUF009 - immutable


@dataclass(frozen=True, slots=True)
class NumberRow:
    """One number.

    Attributes:
        id: Its name for programs.
        label: Its name for people.
        unit: What it is counted in; a number in milliseconds needs a clock.
        definition: What it is, in one sentence.
        missing: When it is missing, beside a recording without a clock; empty where it is not.
        measure: Its value, or the reason why there is none.
    """

    id: str
    label: str
    unit: str
    definition: str
    missing: str
    measure: Callable[[Measured], float | str]


def _since_sent(measured: Measured, at: float | None, missing: str) -> float | str:
    return missing if at is None else at - measured.sent


def _of_bytes(measured: Measured, at: float | None, missing: str) -> float | str:
    return _since_sent(measured, at, missing) if measured.has_bytes else _NO_BYTES


def _longest_gap(measured: Measured) -> float | str:
    longest = measured.rhythm.longest
    return _ONE_EVENT if longest is None else longest.milliseconds


def _in_texts(measured: Measured, value: float | None) -> float | str:
    if measured.rhythm.text_events < FEWEST_TEXT_EVENTS or value is None:
        return f"fewer than {FEWEST_TEXT_EVENTS} text events"
    return value


def _lumps(measured: Measured) -> float | str:
    share = measured.rhythm.lump_share
    if not measured.has_bytes:
        return _NO_BYTES
    return _in_texts(measured, None if share is None else share * 100)


def _speed(measured: Measured) -> float | str:
    if measured.output_tokens is None:
        return "no usage"
    if measured.first_visible is None or measured.last_visible is None:
        return _NEITHER_CAME
    taken = measured.last_visible - measured.first_visible
    return "less than 1 s" if taken < _ONE_SECOND else measured.output_tokens / (taken / _ONE_SECOND)


def _stalls(measured: Measured) -> float | str:
    return (
        "fewer than two events changed the answer" if measured.rhythm.longest is None else len(measured.rhythm.stalls)
    )


def _closing(measured: Measured) -> float | str:
    if measured.terminal is None:
        return "no event ended the answer"
    return "the end is not in the recording" if measured.end is None else measured.end - measured.terminal


NUMBERS: Final[tuple[NumberRow, ...]] = (
    NumberRow(
        "time_to_first_byte",
        "First byte (TTFB)",
        "ms",
        "From the last byte of the request to the first byte of the body.",
        "no byte came",
        lambda measured: _of_bytes(measured, measured.first_byte, "no byte came"),
    ),
    NumberRow(
        "time_to_first_event",
        "First event",
        "ms",
        "From the last byte of the request to the end of the first event that holds data.",
        "no event came",
        lambda measured: _of_bytes(measured, measured.first_event, "no event came"),
    ),
    NumberRow(
        "time_to_first_thinking",
        "First thinking",
        "ms",
        "From the last byte of the request to the first thinking part with text.",
        "no thinking",
        lambda measured: _since_sent(measured, measured.first_thinking, "no thinking"),
    ),
    NumberRow(
        "time_to_first_chunk",
        "First visible (TTFT)",
        "ms",
        "From the last byte of the request to the first text part with text, or the first tool call.",
        _NEITHER_CAME,
        lambda measured: _since_sent(measured, measured.first_visible, _NEITHER_CAME),
    ),
    NumberRow(
        "shown",
        "Shown in VS Code (simulated)",
        "ms",
        "From the last byte of the request to the moment in which VS Code shows the first visible part, behind the "
        "extension's pacing and the queue of the extension host.",
        _NEITHER_CAME,
        lambda measured: _since_sent(measured, measured.shown, _NEITHER_CAME),
    ),
    NumberRow(
        "longest_gap",
        "Longest gap",
        "ms",
        "The longest time between two events that changed the answer. Keep-alives, comments and empty deltas change "
        "nothing.",
        _ONE_EVENT,
        _longest_gap,
    ),
    NumberRow(
        "time_per_output_chunk",
        "Median gap in texts",
        "ms",
        "The median of the gaps inside of texts.",
        f"fewer than {FEWEST_TEXT_EVENTS} text events",
        lambda measured: _in_texts(measured, measured.rhythm.text_median),
    ),
    NumberRow(
        "time_per_output_chunk_p95",
        "95th percentile of gaps in texts",
        "ms",
        "The gap inside of texts that 95 of 100 do not exceed.",
        f"fewer than {FEWEST_TEXT_EVENTS} text events",
        lambda measured: _in_texts(measured, measured.rhythm.text_95),
    ),
    NumberRow(
        "lumps",
        "Lumps",
        "%",
        "The share of text events that came in the same read of the socket as the event before them.",
        f"fewer than {FEWEST_TEXT_EVENTS} text events",
        _lumps,
    ),
    NumberRow(
        "tokens_per_second",
        "Tokens a second",
        "tokens/s",
        "The reported tokens of the answer, without those of reasoning where they are reported, by the time from the "
        "first visible part to the last.",
        "no usage, or less than 1 s",
        _speed,
    ),
    NumberRow(
        "stalls",
        "Stalls",
        "",
        "How many gaps were longer than 2 s and longer than 20 times the median gap.",
        _ONE_EVENT,
        _stalls,
    ),
    NumberRow(
        "closing_delay",
        "Closing delay",
        "ms",
        "From the event that ended the answer to the end of the bytes, when the provider is done.",
        "no event ended the answer",
        _closing,
    ),
    NumberRow(
        "total",
        "Total",
        "ms",
        "From the last byte of the request to the end.",
        "the end is not in the recording",
        lambda measured: _since_sent(measured, measured.end, "the end is not in the recording"),
    ),
)
"""All numbers, in the order in which they are shown."""


def numbers_of(measured: Measured) -> list[NumberView]:
    """All rows of the table for an answer; of a recording without a clock, each says so."""
    return [_row(row, measured) for row in NUMBERS]


def _row(row: NumberRow, measured: Measured) -> NumberView:
    said = row.measure(measured) if measured.has_clock else _NO_CLOCK
    value = None if isinstance(said, str) else said
    return {
        "id": row.id,
        "label": row.label,
        "value": value,
        "unit": row.unit,
        "text": "-" if value is None else shown_number(value, row.unit),
        "missing": said if isinstance(said, str) else None,
        "definition": row.definition,
    }


_DIGITS: Final[Mapping[str, int]] = {"ms": 1, "%": 0, "tokens/s": 1, "": 0}
_WHOLE_FROM: Final = 100
"""Numbers from here on are shown without digits behind the point."""


def shown_number(value: float, unit: str) -> str:
    """A number with its unit, as people read it."""
    digits = 0 if abs(value) >= _WHOLE_FROM else _DIGITS[unit]
    return f"{value:,.{digits}f} {unit}".rstrip()
