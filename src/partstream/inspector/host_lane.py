"""What a person sees of an answer in VS Code, simulated: the extension's pacing, and the queue of the extension host.

Source of the queue: VS Code 1.139, `$startChatRequest` of the extension host (docs/wires/vscode.md#batches-of-parts).
Every reported part restarts a timer of 30 ms; the queue is flushed when it expires, when more than 30 parts wait, or
when the answer is over. Source of the pacing: `extension/src/pacing.ts`, whose rules :class:`_Pacer` repeats. The time
of the parts from process to process is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from partstream.lm.parts import TextPart, ThinkingPart

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["FLUSH_DELAY", "MOST_QUEUED", "PADDING", "REPORT_INTERVAL", "Flush", "flushes"]

FLUSH_DELAY: Final = 30.0
"""Milliseconds that the host waits for a further part."""
MOST_QUEUED: Final = 30
"""Parts that wait without a flush."""
REPORT_INTERVAL: Final = 35.0
"""Milliseconds between two reports of the extension: `REPORT_INTERVAL` in `pacing.ts`."""
PADDING: Final = 30
"""Empty parts behind the first text, which make the host flush: `FLUSH_PADDING` in `pacing.ts`."""


@dataclass(frozen=True, slots=True)
class Flush:
    """What comes into view at once.

    Attributes:
        at: When, in milliseconds.
        first: The index of its first part.
        last: The index of its last part.
        forced: Whether the queue was full or the answer was over; otherwise the timer ran out.
    """

    at: float
    first: int
    last: int
    forced: bool


@dataclass(frozen=True, slots=True)
class _Report:
    """A part as the extension reports it: parts `first` to `last` of the answer, and empty parts behind it."""

    at: float
    first: int
    last: int
    padding: int = 0


def flushes(parts: Sequence[tuple[float, object]], settled: float, *, paced: bool) -> list[Flush]:
    """What comes into view when.

    Args:
        parts: The parts with the milliseconds at which they were there, in order.
        settled: When the answer was over, in milliseconds.
        paced: Whether the extension spaces them.
    """
    reports = _Pacer().reports(parts, settled) if paced else _as_they_come(parts)
    return _Queue().flushed(reports, settled)


def _as_they_come(parts: Sequence[tuple[float, object]]) -> list[_Report]:
    return [_Report(at, index, index) for index, (at, _) in enumerate(parts)]


class _Queue:
    """The queue of the extension host."""

    def __init__(self) -> None:
        self._flushes: list[Flush] = []
        self._first: int | None = None
        self._last = 0
        self._size = 0
        self._due: float | None = None

    def flushed(self, reports: Sequence[_Report], settled: float) -> list[Flush]:
        """What it flushes."""
        for report in reports:
            self._wait_until(report.at)
            self._first = report.first if self._first is None else self._first
            self._last = report.last
            for _ in range(1 + report.padding):
                self._push(report.at)
        self._wait_until(settled)
        self._flush(settled, forced=True)
        return self._flushes

    def _push(self, at: float) -> None:
        self._size += 1
        self._due = at + FLUSH_DELAY
        if self._size > MOST_QUEUED:
            self._flush(at, forced=True)

    def _wait_until(self, at: float) -> None:
        if self._due is not None and self._due <= at:
            self._flush(self._due, forced=False)

    def _flush(self, at: float, *, forced: bool) -> None:
        if self._first is not None:
            self._flushes.append(Flush(at, self._first, self._last, forced))
        self._first, self._size, self._due = None, 0, None


class _Pacer:
    """The extension's pacing: text and thinking wait up to 35 ms after the last report, nothing else does."""

    def __init__(self) -> None:
        self._reports: list[_Report] = []
        self._waiting: tuple[int, int, object] | None = None
        self._last_report = float("-inf")
        self._text_shown = False
        self._due: float | None = None

    def reports(self, parts: Sequence[tuple[float, object]], settled: float) -> list[_Report]:
        """What it reports when."""
        for index, (at, part) in enumerate(parts):
            self._wait_until(at)
            self._push(index, at, part)
        self._wait_until(settled)
        self._flush(settled)
        return self._reports

    def _push(self, index: int, at: float, part: object) -> None:
        if not isinstance(part, TextPart | ThinkingPart):
            self._flush(at)
            self._send(_Report(at, index, index))
        elif isinstance(part, ThinkingPart) or part.value:
            self._hold(index, at, part)

    def _hold(self, index: int, at: float, part: TextPart | ThinkingPart) -> None:
        if self._waiting is not None and not _continues(self._waiting[2], part):
            self._flush(at)
        first = index if self._waiting is None else self._waiting[0]
        self._waiting = (first, index, part)
        if isinstance(part, TextPart) and not self._text_shown:
            self._text_shown = True
            self._flush(at, PADDING)
        elif self._due is None:
            wait = self._last_report + REPORT_INTERVAL
            if wait <= at:
                self._flush(at)
            else:
                self._due = wait

    def _wait_until(self, at: float) -> None:
        if self._due is not None and self._due <= at:
            self._flush(self._due)

    def _flush(self, at: float, padding: int = 0) -> None:
        self._due = None
        if self._waiting is None:
            return
        first, last, _ = self._waiting
        self._waiting = None
        self._send(_Report(at, first, last, padding))

    def _send(self, report: _Report) -> None:
        self._last_report = report.at
        self._reports.append(report)


def _continues(earlier: object, part: TextPart | ThinkingPart) -> bool:
    if isinstance(earlier, ThinkingPart) and isinstance(part, ThinkingPart):
        return (earlier.id or "") == (part.id or "")
    return isinstance(earlier, TextPart) and isinstance(part, TextPart)
