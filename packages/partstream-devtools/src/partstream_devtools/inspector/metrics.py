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
from typing import TYPE_CHECKING, Final, TypeAlias

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

    longest: shapes.GapView | None = None
    notable: tuple[shapes.GapView, ...] = ()
    text_events: int = 0
    text_median: float | None = None
    text_95: float | None = None
    lumps: frozenset[int] = frozenset()
    lump_share: float | None = None


def rhythm_of(moments: Sequence[Moment]) -> Rhythm:
    """The rhythm of the moments of an answer, in their order."""
    pairs = list(pairwise(moments))
    if not pairs:
        return Rhythm(text_events=sum(one.kind == "text" for one in moments))
    middle = median(after.at - before.at for before, after in pairs)
    stall = max(_SHORTEST_STALL, _STALL_MEDIANS * middle)
    gaps: list[shapes.GapView] = [
        {"after": one.number, "before": two.number, "ms": round(two.at - one.at, 3), "stall": two.at - one.at > stall}
        for one, two in pairs
    ]
    least = max(_SHORTEST_GAP, _GAP_MEDIANS * middle)
    lumps = frozenset(two.number for one, two in pairs if two.read is not None and one.read == two.read)
    texts = [one for one in moments if one.kind == "text"]
    has_reads = bool(texts) and texts[0].read is not None
    inside = sorted(two.at - one.at for one, two in pairs if one.kind == two.kind == "text")
    middle_inside = median(inside) if inside else None
    return Rhythm(
        max(gaps, key=lambda gap: gap["ms"]),
        tuple(gap for gap in gaps if gap["stall"] or gap["ms"] >= least),
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


_Report: TypeAlias = tuple[float, int, int, int]
"""What the extension reports at once: when, the first and the last part, and how many empty parts after them."""


def flushes(parts: Sequence[tuple[float, object]], settled: float, *, paced: bool) -> list[shapes.ShownView]:
    """What comes into view when: the extension paces the parts, and the extension host queues what it reports.

    Source of the queue: VS Code 1.139, `$startChatRequest` of the extension host
    (docs/wires/vscode.md#batches-of-parts). Every reported part restarts a timer of 30 ms; the queue is flushed when it
    expires, when more than 30 parts wait, or when the answer is over. Source of the pacing: `extension/src/pacing.ts`,
    whose rules :func:`_paced` repeats. The time of the parts from process to process is left out.

    Args:
        parts: The parts with the milliseconds at which they were there, in order.
        settled: When the answer was over, in milliseconds.
        paced: Whether the extension spaces them.
    """
    reports = _paced(parts, settled) if paced else [(at, index, index, 0) for index, (at, _) in enumerate(parts)]
    shown: list[shapes.ShownView] = []
    begin: int | None = None
    end = size = 0
    due: float | None = None

    def flush(at: float, *, forced: bool) -> None:
        nonlocal begin, size, due
        if begin is not None:
            shown.append({"at": round(at, 3), "from": begin, "to": end, "forced": forced})
        begin, size, due = None, 0, None

    for at, first, last, padding in reports:
        if due is not None and due <= at:
            flush(due, forced=False)
        begin, end = first if begin is None else begin, last
        for _ in range(1 + padding):
            size, due = size + 1, at + FLUSH_DELAY
            if size > MOST_QUEUED:
                flush(at, forced=True)
    if due is not None and due <= settled:
        flush(due, forced=False)
    flush(settled, forced=True)
    return shown


def _paced(parts: Sequence[tuple[float, object]], settled: float) -> list[_Report]:
    """The reports of the extension: text and thinking wait up to 35 ms after the last one, nothing else does."""
    reports: list[_Report] = []
    waiting: tuple[int, int, object] | None = None
    due: float | None = None
    is_text_shown = False

    def flush(at: float, padding: int = 0) -> None:
        nonlocal waiting, due
        if waiting is not None:
            reports.append((at, waiting[0], waiting[1], padding))
        waiting = due = None

    for index, (at, part) in enumerate(parts):
        if due is not None and due <= at:
            flush(due)
        if not isinstance(part, TextPart | ThinkingPart):
            flush(at)
            reports.append((at, index, index, 0))
        elif isinstance(part, ThinkingPart) or part.value:
            if waiting is not None and not _continues(waiting[2], part):
                flush(at)
            waiting = (index if waiting is None else waiting[0], index, part)
            if isinstance(part, TextPart) and not is_text_shown:
                is_text_shown = True
                flush(at, PADDING)
            elif due is None:
                due = max(at, reports[-1][0] + REPORT_INTERVAL) if reports else at
    flush(settled if due is None else min(due, settled))
    return reports


def _continues(earlier: object, part: TextPart | ThinkingPart) -> bool:
    if isinstance(earlier, ThinkingPart) and isinstance(part, ThinkingPart):
        return (earlier.id or "") == (part.id or "")
    return isinstance(earlier, TextPart) and isinstance(part, TextPart)


# ---- Runs ----


def runs_of(parts: Sequence[CompletedPart]) -> tuple[list[shapes.RunView], list[shapes.ResultView]]:
    """Parts of one text or of one thinking block, or one part of another kind, in order; and the answer as VS Code
    joins it, where what holds nothing is left out."""
    runs: list[shapes.RunView] = []
    results: list[shapes.ResultView] = []
    for _, group in groupby(enumerate(parts), key=lambda one: _group_of(one[0], one[1].part)):
        members = list(group)
        (first, begin), (last, end) = members[0], members[-1]
        part, kind = begin.part, kind_of_part(begin.part)
        text = "".join(text_of_part(one.part) for _, one in members)
        name, call_id = (part.name, part.call_id) if isinstance(part, ToolCallPart) else (None, None)
        of_text = f"{kind}, {len(text):,} characters"
        labels = {"call": f"call {name}", "text": of_text, "thinking": of_text, "data": text}
        at, until = milliseconds(begin.at), milliseconds(end.at)
        runs.append(
            {"kind": kind, "from": first, "to": last, "at": at, "until": until, "label": labels.get(kind, kind)}
        )
        if text or kind == "call":
            results.append({"kind": kind, "text": text, "name": name, "callId": call_id, "part": first})
    return runs, results


def _group_of(index: int, part: object) -> tuple[object, ...]:
    if isinstance(part, TextPart):
        return ("text",)
    if isinstance(part, ThinkingPart):
        return ("thinking", part.id or "")
    return ("alone", index)


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
