"""A transcript as lines of text, from its JSON: what was asked, and every part with its time."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["EventLine", "event_lines"]

_MOST_CHARACTERS: Final = 300
_MOST_EVENTS: Final = 200


@dataclass(frozen=True, slots=True)
class EventLine:
    """One line.

    Attributes:
        text: The line.
        is_here: Whether the promise broke here.
    """

    text: str
    is_here: bool = False


def event_lines(transcript: Mapping[str, Any], answer: int | None = None, index: int | None = None) -> list[EventLine]:
    """The lines of a transcript, each part with its number and its time since the request.

    Args:
        transcript: The JSON of a transcript.
        answer: The number of the answer that broke a promise, from 0; None to mark none.
        index: The number of the part in it, from 0.
    """
    lines = [EventLine(f"moves: {visible(', '.join(map(str, transcript.get('moves', ()))))}")]
    answers = transcript.get("answers", ())
    for number, one in enumerate(answers):
        if len(answers) > 1:
            lines.append(EventLine(f"answer {number + 1}"))
        shown = [*_events(one.get("events", ()), index if number == (answer or 0) else None)]
        lines += shown[:_MOST_EVENTS]
        if len(shown) > _MOST_EVENTS:
            lines.append(EventLine(f"and {len(shown) - _MOST_EVENTS} more"))
    return lines


def _events(events: Any, index: int | None) -> Iterator[EventLine]:
    number = 0
    for event in events:
        at = f"+{float(event.get('at', 0)):7.1f} ms"
        if "part" in event:
            yield EventLine(f"{at}  part {number}  {_part(event['part'])}", number == index)
            number += 1
        else:
            yield EventLine(f"{at}  {_other(event)}")


def _part(part: Mapping[str, Any]) -> str:
    """A part in a line; reports of versions before 0.12 spell two fields and a type otherwise."""
    match part.get("type"):
        case "text" | "thinking" as kind:
            return _cut(f"{kind} {json.dumps(part.get('value'), ensure_ascii=False)}")
        case "tool_call" | "toolCall":
            said = json.dumps(part.get("input"), ensure_ascii=False)
            return _cut(f"call {part.get('call_id', part.get('callId'))} {part.get('name')} {said}")
        case "data":
            return _cut(f"data {part.get('mime_type', part.get('mimeType'))} {json.dumps(part.get('data'))}")
    return _cut(json.dumps(part, ensure_ascii=False))


def _other(event: Mapping[str, Any]) -> str:
    if "finish" in event:
        return _cut(f"finish {json.dumps(event['finish'], ensure_ascii=False)}")
    if "log" in event:
        return _cut(f"log {event['log']}")
    error = event.get("error")
    said = f" {error.get('type')}: {error.get('message')}" if isinstance(error, dict) else ""
    return _cut(f"{event.get('kind')}{said}")


def _cut(text: str) -> str:
    shown = visible(text)
    return shown if len(shown) <= _MOST_CHARACTERS else f"{shown[:_MOST_CHARACTERS]}…"
