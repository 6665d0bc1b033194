"""Runs of parts that belong together, and the answer as VS Code joins them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from partstream.devtools.inspector.reading import kind_of_part, text_of_part
from partstream.inspector.timing import NANOSECONDS
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.devtools.inspector.reading import CompletedPart
    from partstream.devtools.inspector.shapes import PartKind, PartView, ResultView, RunView

__all__ = ["Run", "milliseconds", "parts_shown", "results_shown", "runs_of", "runs_shown"]


@dataclass(frozen=True, slots=True)
class Run:
    """Parts of one text or of one thinking block, or one part of another kind.

    Attributes:
        kind: Their kind.
        first: The index of the first.
        last: The index of the last.
        text: What they hold, joined.
        name: The name of the tool of a call; else None.
        id: The id of a call, or that of the thinking; else None.
    """

    kind: PartKind
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
        runs.append(Run(kind_of_part(part), members[0][0], members[-1][0], text, name, _id(part)))
    return runs


def _group_of(index: int, part: object) -> tuple[object, ...]:
    if isinstance(part, TextPart):
        return ("text",)
    if isinstance(part, ThinkingPart):
        return ("thinking", part.id or "")
    return ("alone", index)


def _id(part: object) -> str | None:
    if isinstance(part, ToolCallPart):
        return part.call_id
    return part.id if isinstance(part, ThinkingPart) else None


def runs_shown(runs: Sequence[Run], parts: Sequence[CompletedPart]) -> list[RunView]:
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


def results_shown(runs: Sequence[Run]) -> list[ResultView]:
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


def parts_shown(parts: Sequence[CompletedPart]) -> list[PartView]:
    """The parts in a view."""
    return [_part(index, one) for index, one in enumerate(parts)]


def _part(index: int, one: CompletedPart) -> PartView:
    part = one.part
    return {
        "i": index,
        "at": milliseconds(one.at),
        "kind": kind_of_part(part),
        "event": one.event,
        "text": text_of_part(part),
        "name": _name(part),
        "callId": part.call_id if isinstance(part, ToolCallPart) else None,
        "id": part.id if isinstance(part, ThinkingPart) else None,
    }


def _name(part: object) -> str | None:
    if isinstance(part, ToolCallPart):
        return part.name
    return part.mime_type if isinstance(part, DataPart) else None


def milliseconds(nanoseconds: int | None) -> float | None:
    """A time as views have it, with microseconds behind the point."""
    return None if nanoseconds is None else round(nanoseconds / NANOSECONDS, 3)
