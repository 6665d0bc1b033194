"""The numbers of an answer, what VS Code shows of it when, and its parts joined to runs.

- **Rhythm**: gaps, stalls and lumps between the events that changed the answer.
- **Numbers**: one table, `numbers.json`, with the definition of each, for the page, the command and the documentation.
  The names are those of OpenTelemetry where it has one (`time_to_first_chunk`, `time_per_output_chunk`).
- **The lane of the host**: what a person sees of the answer in VS Code, simulated; see :func:`flushes`.
- **Runs**: parts that belong together, and the answer as VS Code joins them.
- **Collapsing**: the view of a very long answer shows a run of deltas as one event with a count. The numbers, the gaps
  and the lane of the host are made of all events before; an event that has a mark or breaks a rule stays alone.
"""

from __future__ import annotations
from collections.abc import Mapping, Sequence
from importlib.resources import files
from itertools import groupby, pairwise
from statistics import median, quantiles
from typing import TYPE_CHECKING, Final

from partstream.codec.checks import dataclass
from partstream.codec.json_codec import loads
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart
from partstream_devtools.inspector.reading import CompletedPart, kind_of_part, shortened, text_of_part

if TYPE_CHECKING:
    from partstream_devtools.inspector import shapes

# ---- Rhythm ----

NANOSECONDS: Final = 1_000_000  # in a millisecond
_SHORTEST_STALL: Final = 2000.0  # milliseconds; a shorter gap is no stall, whatever the others are
_STALL_MEDIANS: Final = 20
_SHORTEST_GAP: Final = 250.0  # milliseconds; a shorter gap is not worth a mark
_GAP_MEDIANS: Final = 5
FEWEST_TEXT_EVENTS: Final = 10  # fewer say nothing of pacing
LUMPY: Final = 0.8
"""The share of events that share their read, above which something collects them on their way."""
_PERCENT_95: Final = 19
"""The index of the 95th percentile among 20-quantiles."""


@dataclass(frozen=True, slots=True)
class Moment:
    """An event that changed the answer.

    Attributes:
        number: Its number; that of a part where no events are known.
        at: When, in milliseconds.
        kind: Its kind.
        read: The index of the read that brought it; None where no reads are known.
    """

    number: int
    at: float
    kind: shapes.EventKind
    read: int | None


@dataclass(frozen=True, slots=True)
class Gap:
    """The time between the moments with the numbers `after` and `before`; in a stall, nothing moved."""

    after: int
    before: int
    milliseconds: float
    is_stall: bool


@dataclass(frozen=True, slots=True)
class Rhythm:
    """The rhythm of an answer.

    Attributes:
        longest: The longest gap, or None where there are not two moments.
        notable: The gaps that are much longer than the others.
        text_events: The number of moments that brought text.
        text_median: The median of the gaps inside of texts in milliseconds, or None.
        text_95: Their 95th percentile, or None.
        lumps: The numbers of the moments that came in the same read as the one before.
        lump_share: The share of text events that did, or None where there is no text or no reads are known.
    """

    longest: Gap | None = None
    notable: tuple[Gap, ...] = ()
    text_events: int = 0
    text_median: float | None = None
    text_95: float | None = None
    lumps: frozenset[int] = frozenset()
    lump_share: float | None = None

    @property
    def stalls(self) -> tuple[Gap, ...]:
        """The gaps in which the answer stood still."""
        return tuple(gap for gap in self.notable if gap.is_stall)


def rhythm_of(moments: Sequence[Moment]) -> Rhythm:
    """The rhythm of the moments of an answer, in their order."""
    pairs = list(pairwise(moments))
    if not pairs:
        return Rhythm(text_events=sum(one.kind == "text" for one in moments))
    middle = median(after.at - before.at for before, after in pairs)
    stall = max(_SHORTEST_STALL, _STALL_MEDIANS * middle)
    gaps = [Gap(one.number, two.number, two.at - one.at, two.at - one.at > stall) for one, two in pairs]
    least = max(_SHORTEST_GAP, _GAP_MEDIANS * middle)
    lumps = frozenset(two.number for one, two in pairs if two.read is not None and one.read == two.read)
    texts = [one for one in moments if one.kind == "text"]
    has_reads = bool(texts) and texts[0].read is not None
    inside = sorted(two.at - one.at for one, two in pairs if one.kind == two.kind == "text")
    middle_inside = median(inside) if inside else None
    return Rhythm(
        max(gaps, key=lambda gap: gap.milliseconds),
        tuple(gap for gap in gaps if gap.is_stall or gap.milliseconds >= least),
        len(texts),
        middle_inside,
        quantiles(inside, n=_PERCENT_95 + 1, method="inclusive")[_PERCENT_95 - 1] if len(inside) > 1 else middle_inside,
        lumps,
        sum(one.number in lumps for one in texts) / len(texts) if has_reads else None,
    )


# ---- Numbers ----

_NO_CLOCK: Final = "no clock in the recording"

NUMBERS: Final[Sequence[Mapping[str, str]]] = loads((files(__package__) / "numbers.json").read_bytes())
"""All numbers, in the order in which they are shown: the name of each for programs and for people, its unit, what it is
in one sentence, and why it is missing beside a recording without a clock."""


def numbers_of(values: Mapping[str, float | str | None] | None) -> list[shapes.NumberView]:
    """All rows of the table for an answer; of a recording without a clock, which has no values, each says so.

    A value is a number, the reason why there is none, or None for the reason of the table.
    """
    shown: list[shapes.NumberView] = []
    for row in NUMBERS:
        said = _NO_CLOCK if values is None else values[row["id"]]
        said = row["missing"].format(fewest=FEWEST_TEXT_EVENTS) if said is None else said
        value = None if isinstance(said, str) else said
        shown.append(
            {
                "id": row["id"],
                "label": row["label"],
                "value": value,
                "unit": row["unit"],
                "text": "-" if value is None else shown_number(value, row["unit"]),
                "missing": said if isinstance(said, str) else None,
                "definition": row["definition"],
            }
        )
    return shown


_DIGITS: Final[Mapping[str, int]] = {"ms": 1, "%": 0, "tokens/s": 1, "": 0}
_WHOLE_FROM: Final = 100
"""Numbers from here on are shown without decimals."""


def shown_number(value: float, unit: str) -> str:
    """A number with its unit, as people read it."""
    digits = 0 if abs(value) >= _WHOLE_FROM else _DIGITS[unit]
    return f"{value:,.{digits}f} {unit}".rstrip()


# ---- The lane of the host ----

FLUSH_DELAY: Final = 30.0  # milliseconds that the host waits for a further part
MOST_QUEUED: Final = 30  # parts that wait without a flush
REPORT_INTERVAL: Final = 35.0
"""Milliseconds between two reports of the extension: `REPORT_INTERVAL` in `pacing.ts`."""
PADDING: Final = 30
"""Empty parts after the first text, which make the host flush: `FLUSH_PADDING` in `pacing.ts`."""


@dataclass(frozen=True, slots=True)
class Flush:
    """The parts `first` to `last`, which come into view at once.

    Attributes:
        at: When, in milliseconds.
        forced: Whether the queue was full or the answer was over; otherwise the timer ran out.
    """

    at: float
    first: int
    last: int
    forced: bool


@dataclass(frozen=True, slots=True)
class _Report:
    """A part as the extension reports it: parts `first` to `last` of the answer, and empty parts after it."""

    at: float
    first: int
    last: int
    padding: int = 0


def flushes(parts: Sequence[tuple[float, object]], settled: float, *, paced: bool) -> list[Flush]:
    """What comes into view when: the extension paces the parts, and the extension host queues what it reports.

    Source of the queue: VS Code 1.139, `$startChatRequest` of the extension host
    (docs/wires/vscode.md#batches-of-parts). Every reported part restarts a timer of 30 ms; the queue is flushed when it
    expires, when more than 30 parts wait, or when the answer is over. Source of the pacing: `extension/src/pacing.ts`,
    whose rules :class:`_Pacer` repeats. The time of the parts from process to process is left out.

    Args:
        parts: The parts with the milliseconds at which they were there, in order.
        settled: When the answer was over, in milliseconds.
        paced: Whether the extension spaces them.
    """
    if paced:
        reports = _Pacer().reports(parts, settled)
    else:
        reports = [_Report(at, index, index) for index, (at, _) in enumerate(parts)]
    return _Queue().flushed(reports, settled)


class _Queue:
    """The queue of the extension host."""

    def __init__(self) -> None:
        self._flushes: list[Flush] = []
        self._first: int | None = None
        self._last = 0
        self._size = 0
        self._due: float | None = None

    def flushed(self, reports: Sequence[_Report], settled: float) -> list[Flush]:
        for report in reports:
            self._wait_until(report.at)
            self._first = report.first if self._first is None else self._first
            self._last = report.last
            for _ in range(1 + report.padding):
                self._size += 1
                self._due = report.at + FLUSH_DELAY
                if self._size > MOST_QUEUED:
                    self._flush(report.at, forced=True)
        self._wait_until(settled)
        self._flush(settled, forced=True)
        return self._flushes

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
        for index, (at, part) in enumerate(parts):
            self._wait_until(at)
            if not isinstance(part, TextPart | ThinkingPart):
                self._flush(at)
                self._send(_Report(at, index, index))
            elif isinstance(part, ThinkingPart) or part.value:
                self._hold(index, at, part)
        self._wait_until(settled)
        self._flush(settled)
        return self._reports

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


# ---- Runs ----


@dataclass(frozen=True, slots=True)
class Run:
    """Parts of one text or of one thinking block, or one part of another kind: from index `first` to `last`.

    `text` is what they hold, joined; `name` that of the tool of a call; `id` that of a call or of the thinking.
    """

    kind: shapes.PartKind
    first: int
    last: int
    text: str
    name: str | None = None
    id: str | None = None

    @property
    def label(self) -> str:
        """The run in a few words."""
        if self.kind == "call":
            return f"call {self.name}"
        if self.kind in {"text", "thinking"}:
            return f"{self.kind}, {len(self.text):,} characters"
        return self.text if self.kind == "data" else self.kind


def runs_of(parts: Sequence[CompletedPart]) -> list[Run]:
    """The runs of an answer, in order."""
    runs: list[Run] = []
    for _, group in groupby(enumerate(parts), key=lambda one: _group_of(one[0], one[1].part)):
        members = list(group)
        part = members[0][1].part
        name = part.name if isinstance(part, ToolCallPart) else None
        text = "".join(text_of_part(one.part) for _, one in members)
        known = part.call_id if isinstance(part, ToolCallPart) else part.id if isinstance(part, ThinkingPart) else None
        runs.append(Run(kind_of_part(part), members[0][0], members[-1][0], text, name, known))
    return runs


def _group_of(index: int, part: object) -> tuple[object, ...]:
    if isinstance(part, TextPart):
        return ("text",)
    if isinstance(part, ThinkingPart):
        return ("thinking", part.id or "")
    return ("alone", index)


def runs_shown(runs: Sequence[Run], parts: Sequence[CompletedPart]) -> list[shapes.RunView]:
    """The runs in a view."""
    return [
        {
            "kind": run.kind,
            "from": run.first,
            "to": run.last,
            "at": milliseconds(parts[run.first].at),
            "until": milliseconds(parts[run.last].at),
            "label": run.label,
        }
        for run in runs
    ]


def results_shown(runs: Sequence[Run]) -> list[shapes.ResultView]:
    """The answer as VS Code joins it: what holds nothing is left out."""
    return [
        {
            "kind": run.kind,
            "text": run.text,
            "name": run.name,
            "callId": run.id if run.kind == "call" else None,
            "part": run.first,
        }
        for run in runs
        if run.text or run.kind == "call"
    ]


def parts_shown(parts: Sequence[CompletedPart]) -> list[shapes.PartView]:
    """The parts in a view."""
    return [
        {
            "i": index,
            "at": milliseconds(one.at),
            "kind": kind_of_part(part := one.part),
            "event": one.event,
            "text": text_of_part(part),
            "name": part.name
            if isinstance(part, ToolCallPart)
            else part.mime_type
            if isinstance(part, DataPart)
            else None,
            "callId": part.call_id if isinstance(part, ToolCallPart) else None,
            "id": part.id if isinstance(part, ThinkingPart) else None,
        }
        for index, one in enumerate(parts)
    ]


def milliseconds(nanoseconds: int | None) -> float | None:
    """A time as views have it, in milliseconds to three decimals."""
    return None if nanoseconds is None else round(nanoseconds / NANOSECONDS, 3)


# ---- Collapsing ----

MOST_EVENTS: Final = 50_000  # events of an answer that a page holds
_NOTE: Final = "The answer has {:,} events: runs of deltas are shown as one event each, {:,} in all."
_KINDS: Final = frozenset({"text", "thinking", "call", "keepalive", "unmapped"})
"""Kinds of events that come by the thousand."""
_HARMLESS: Final = frozenset({"lump", "unmapped"})
"""Marks that runs of events have in common."""


def collapsed(view: shapes.AnswerView, most: int = MOST_EVENTS) -> shapes.AnswerView:
    """The view of an answer with at most `most` events; the same where it has no more."""
    if len(view["events"]) <= most:
        return view
    groups = _groups(view["events"], most)
    event_of = {event["n"]: number for number, group in enumerate(groups, 1) for event in group}
    parts, part_of = _merged_parts(view["parts"], event_of)
    events = [_merged(number, group, part_of) for number, group in enumerate(groups, 1)]

    def moved(flushed: Sequence[shapes.ShownView]) -> list[shapes.ShownView]:
        return [{**one, "from": part_of[one["from"]], "to": part_of[one["to"]]} for one in flushed]

    return {
        **view,
        "wrong": None if view["wrong"] is None else event_of[view["wrong"]],
        "events": events,
        "parts": parts,
        "runs": [{**run, "from": part_of[run["from"]], "to": part_of[run["to"]]} for run in view["runs"]],
        "shown": moved(view["shown"]),
        "shownUnpaced": moved(view["shownUnpaced"]),
        "result": [{**one, "part": part_of[one["part"]]} for one in view["result"]],
        "violations": [
            {
                **one,
                "part": None if one["part"] is None else part_of[one["part"]],
                "event": None if one["event"] is None else event_of[one["event"]],
            }
            for one in view["violations"]
        ],
        "unmapped": [
            {**one, "events": list(dict.fromkeys(event_of[number] for number in one["events"]))}
            for one in view["unmapped"]
        ],
        "gaps": [{**gap, "after": event_of[gap["after"]], "before": event_of[gap["before"]]} for gap in view["gaps"]],
        "notes": [*view["notes"], _NOTE.format(len(view["events"]), len(events))],
    }


def _groups(events: Sequence[shapes.EventView], most: int) -> list[list[shapes.EventView]]:
    def key(event: shapes.EventView) -> tuple[object, ...]:
        if event["kind"] in _KINDS and not event["violations"] and _HARMLESS.issuperset(event["marks"]):
            return (event["kind"], event["type"])
        return ("alone", event["n"])

    groups = [list(group) for _, group in groupby(events, key=key)]
    if len(groups) <= most:
        return groups
    size = -(-len(groups) // most)
    return [
        [event for group in groups[start : start + size] for event in group] for start in range(0, len(groups), size)
    ]


def _merged(number: int, group: Sequence[shapes.EventView], part_of: Sequence[int]) -> shapes.EventView:
    first, last = group[0], group[-1]
    return {
        **first,
        "n": number,
        "until": last["until"],
        "to": last["to"],
        "text": shortened("".join(event["text"] for event in group)),
        "parts": list(dict.fromkeys(part_of[index] for event in group for index in event["parts"])),
        "violations": [index for event in group for index in event["violations"]],
        "marks": list(dict.fromkeys(mark for event in group for mark in event["marks"])),
        "count": sum(event["count"] for event in group),
    }


def _merged_parts(
    parts: Sequence[shapes.PartView], event_of: dict[int, int]
) -> tuple[list[shapes.PartView], list[int]]:
    """The parts, those of one event and one text joined; and by the old index of each the new one."""
    merged: list[shapes.PartView] = []
    places: list[int] = []
    pieces: list[list[str]] = []
    for part in parts:
        event = None if part["event"] is None else event_of[part["event"]]
        last = merged[-1] if merged else None
        key = (event, part["kind"], part["id"])
        is_text = event is not None and part["kind"] in {"text", "thinking"}
        if is_text and last is not None and key == (last["event"], last["kind"], last["id"]):
            pieces[-1].append(part["text"])
        else:
            merged.append({**part, "i": len(merged), "event": event})
            pieces.append([part["text"]])
        places.append(len(merged) - 1)
    return [{**part, "text": "".join(texts)} for part, texts in zip(merged, pieces, strict=True)], places
