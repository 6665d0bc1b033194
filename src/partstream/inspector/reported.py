"""The parts that a host got, beside the bytes that they came from: which event completed each of them.

A provider may cut texts otherwise than the server, and do wrong what the server did right. So a text is found by how
far it goes, a call by its id or its name, and what is not found in the bytes has no event.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from partstream.inspector.reading import CompletedPart
from partstream.lm.outputs import FileMode, ThinkingMode
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.devtools.bundles.exchange import RecordedAnswer, RecordedExchange, ReportedPart

__all__ = ["Difference", "as_reported", "differs"]


@dataclass(frozen=True, slots=True)
class Difference:
    """What of the bytes the host did not get, or got otherwise.

    Attributes:
        sentence: What it is.
        is_of_provider: Whether only the provider can have made it: no setting of the host, and nothing that the
            recording leaves out.
    """

    sentence: str
    is_of_provider: bool


def as_reported(read: Sequence[CompletedPart], reported: Sequence[ReportedPart], offset: int) -> list[CompletedPart]:
    """The parts that a host got, each with the event that completed it.

    Args:
        read: The parts that the bytes hold.
        reported: The parts that the host got.
        offset: Nanoseconds from the beginning of the answer to that of the exchange.
    """
    places = _Places(read)
    return [
        CompletedPart(one.part, places.event_of(one.part), None if one.at is None else one.at - offset)
        for one in reported
    ]


class _Places:
    """Where the parts of the bytes are, while those of the host are found one by one."""

    def __init__(self, read: Sequence[CompletedPart]) -> None:
        self._texts = {kind: _Text([one for one in read if isinstance(one.part, kind)]) for kind in _TEXTS}
        self._calls = [one for one in read if isinstance(one.part, ToolCallPart)]
        self._data = [one for one in read if isinstance(one.part, DataPart)]

    def event_of(self, part: object) -> int | None:
        """The event that completed a part of the host."""
        if isinstance(part, TextPart | ThinkingPart):
            return self._texts[type(part)].event_after(len(part.value))
        if isinstance(part, ToolCallPart):
            same = (one for one in self._calls if _call_id(one) == part.call_id)
            return self._take(self._calls, next(same, None) or _of_name(self._calls, part.name))
        if isinstance(part, DataPart):
            found = next((one for one in self._data if one.part == part), None)
            return self._take(self._data, found)
        return None

    @staticmethod
    def _take(waiting: list[CompletedPart], found: CompletedPart | None) -> int | None:
        if found is None:
            return None
        waiting.remove(found)
        return found.event


_TEXTS = (TextPart, ThinkingPart)


def _call_id(one: CompletedPart) -> str | None:
    return one.part.call_id if isinstance(one.part, ToolCallPart) else None


def _of_name(calls: Sequence[CompletedPart], name: str) -> CompletedPart | None:
    return next((one for one in calls if isinstance(one.part, ToolCallPart) and one.part.name == name), None)


class _Text:
    """One text of the bytes, by how far each of its parts goes."""

    def __init__(self, parts: Sequence[CompletedPart]) -> None:
        self._parts = parts
        self._next = 0
        self._end = 0
        self._said = 0

    def event_after(self, length: int) -> int | None:
        """The event with which the next `length` characters were there."""
        self._said += length
        while self._end < self._said and self._next < len(self._parts):
            part = self._parts[self._next].part
            self._end += len(part.value) if isinstance(part, TextPart | ThinkingPart) else 0
            self._next += 1
        return self._parts[self._next - 1].event if self._next and self._end >= self._said else None


def differs(
    read: Sequence[CompletedPart],
    reported: Sequence[CompletedPart],
    exchange: RecordedExchange,
    answer: RecordedAnswer,
    *,
    has_error: bool,
) -> Difference | None:
    """What of the bytes the host did not get, or got otherwise; None where it got the same.

    Args:
        read: What the bytes hold.
        reported: What the host got.
        exchange: The exchange, which says what the host asked to have shown.
        answer: The answer of the host.
        has_error: Whether it ended with an error, which a text at its end may say.
    """
    shown, is_whole = exchange.shown, exchange.left_out is None and not answer.left_out
    for kind, word in ((TextPart, "text"), (ThinkingPart, "thinking")):
        left, right = _joined(read, kind), _joined(reported, kind)
        if kind is ThinkingPart and shown is not None and shown.thinking is ThinkingMode.OFF:
            left = ""
        if left == right or (kind is TextPart and has_error and right.startswith(left)):
            continue
        sentence = f"the host got another {word}: {len(right):,} characters, the bytes hold {len(left):,}"
        if shown is None:
            sentence += "; the recording does not say what the host asked to have shown"
        # A file that could not be fetched is a link in the text.
        is_certain = shown is not None and not (kind is TextPart and shown.files is FileMode.FETCH and _has_data(read))
        return Difference(sentence, is_certain and is_whole)
    left_calls, right_calls = _calls(read), _calls(reported)
    if left_calls != right_calls:
        return Difference(f"the host got other calls: {len(right_calls)}, the bytes hold {len(left_calls)}", is_whole)
    return None


def _has_data(parts: Sequence[CompletedPart]) -> bool:
    return any(isinstance(one.part, DataPart) for one in parts)


def _joined(parts: Sequence[CompletedPart], kind: type[TextPart | ThinkingPart]) -> str:
    return "".join(one.part.value for one in parts if isinstance(one.part, kind))


def _calls(parts: Sequence[CompletedPart]) -> list[tuple[str, object]]:
    return [(one.part.name, one.part.input) for one in parts if isinstance(one.part, ToolCallPart)]
