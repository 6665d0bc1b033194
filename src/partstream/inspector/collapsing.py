"""Makes the view of a very long answer smaller: runs of deltas become one event each, with a count.

The numbers, the gaps and the host's lane were made of all events before. What is marked, and what breaks a rule, stays
by itself.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from partstream.devtools.inspector.reading import shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.devtools.inspector.shapes import AnswerView, EventView, PartView

__all__ = ["MOST_EVENTS", "collapsed"]

MOST_EVENTS: Final = 50_000
"""Events of an answer that a page holds."""
_NOTE: Final = "The answer has {:,} events: runs of deltas are shown as one event each, {:,} in all."
_KINDS: Final = frozenset({"text", "thinking", "call", "keepalive", "unmapped"})
"""Kinds of events that come by the thousand."""
_HARMLESS: Final = frozenset({"lump", "unmapped"})
"""Marks that runs of events have in common."""


def collapsed(view: AnswerView, most: int = MOST_EVENTS) -> AnswerView:
    """The view with at most `most` events; the same where it has no more.

    Args:
        view: The view of an answer.
        most: The most events.
    """
    if len(view["events"]) <= most:
        return view
    groups = _groups(view["events"], most)
    event_of = {event["n"]: number for number, group in enumerate(groups, 1) for event in group}
    parts, part_of = _merged_parts(view["parts"], event_of)
    events = [_merged(number, group, part_of) for number, group in enumerate(groups, 1)]
    return {
        **view,
        "wrong": None if view["wrong"] is None else event_of[view["wrong"]],
        "events": events,
        "parts": parts,
        "runs": [{**run, "from": part_of[run["from"]], "to": part_of[run["to"]]} for run in view["runs"]],
        "shown": [{**one, "from": part_of[one["from"]], "to": part_of[one["to"]]} for one in view["shown"]],
        "shownUnpaced": [
            {**one, "from": part_of[one["from"]], "to": part_of[one["to"]]} for one in view["shownUnpaced"]
        ],
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
        "notes": [
            *view["notes"],
            _NOTE.format(len(view["events"]), len(events)),
        ],
    }


def _groups(events: Sequence[EventView], most: int) -> list[list[EventView]]:
    groups = [list(group) for _, group in groupby(events, key=_key)]
    if len(groups) <= most:
        return groups
    size = -(-len(groups) // most)
    return [
        [event for group in groups[start : start + size] for event in group] for start in range(0, len(groups), size)
    ]


def _key(event: EventView) -> tuple[object, ...]:
    if event["kind"] in _KINDS and not event["violations"] and _HARMLESS.issuperset(event["marks"]):
        return (event["kind"], event["type"])
    return ("alone", event["n"])


def _merged(number: int, group: Sequence[EventView], part_of: Sequence[int]) -> EventView:
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


def _merged_parts(parts: Sequence[PartView], event_of: dict[int, int]) -> tuple[list[PartView], list[int]]:
    """The parts, those of one event and one text joined; and by the old index of each the new one."""
    merged: list[PartView] = []
    places: list[int] = []
    pieces: list[list[str]] = []
    for part in parts:
        event = None if part["event"] is None else event_of[part["event"]]
        last = merged[-1] if merged else None
        if last is not None and event is not None and _continues(last, part, event):
            pieces[-1].append(part["text"])
        else:
            merged.append({**part, "i": len(merged), "event": event})
            pieces.append([part["text"]])
        places.append(len(merged) - 1)
    return [{**part, "text": "".join(texts)} for part, texts in zip(merged, pieces, strict=True)], places


def _continues(last: PartView, part: PartView, event: int) -> bool:
    same = last["event"] == event and last["kind"] == part["kind"] and last["id"] == part["id"]
    return same and part["kind"] in {"text", "thinking"}
