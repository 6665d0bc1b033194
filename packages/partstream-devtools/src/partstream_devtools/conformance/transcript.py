"""Transcripts: everything that happened in one conversation with a target, recorded and not judged.

A transcript knows no rule: :mod:`partstream_devtools.conformance.checks` judges it, now or later. It holds the script
and the actions that led to it, so that :mod:`partstream_devtools.conformance.driver` can repeat it. As JSON it shows a
part that breaks the contract as what it is; :func:`event_lines` shows that JSON to a person, line by line.
"""

from __future__ import annotations
import json
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import dataclass, field
from partstream.codec.json_codec import find_non_json, shorten
from partstream.codec.text import visible
from partstream.lm import parts as parts_json
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from partstream_devtools.conformance.scripts import Action, Script

if TYPE_CHECKING:
    from partstream.lm.messages import ChatMessage, RequestOptions
    from partstream.lm.outputs import Finish

# ---- Parts as JSON ----

_MOST_BYTES: Final = 64


def part_json(part: object) -> dict[str, Any]:
    """A part in the form of :mod:`partstream.lm.parts`; of long data, the beginning, and the number of its bytes."""
    match part:
        case DataPart(data=bytes()) if len(part.data) > _MOST_BYTES:
            said = parts_json.part_json(DataPart(part.data[:_MOST_BYTES], part.mime_type or "?"))
            return {**_safe_fields(said), "mime_type": _safe(part.mime_type), "bytes": len(part.data)}
        case ToolResultPart():
            content = [part_json(one) for one in part.content]
            return {"type": "tool_result", "call_id": part.call_id, "content": content, "is_error": part.is_error}
        case TextPart() | ThinkingPart() | ToolCallPart() | DataPart():
            return _safe_fields(parts_json.part_json(part))
    return {"type": type(part).__name__, "shown": shorten(part)}


def _safe_fields(said: dict[str, Any]) -> dict[str, Any]:
    return {name: _safe(value) for name, value in said.items()}


def _safe(value: object) -> Any:
    """The value, if a JSON document can hold it."""
    if isinstance(value, str):
        return value.encode(errors="backslashreplace").decode()
    return shorten(value) if find_non_json(value, "value") is not None else value


# ---- Transcripts ----

TRANSCRIPT_VERSION: Final = "2"
"""Increases with every change that a reader of a kept transcript would misunderstand."""


class TranscriptEventKind(StrEnum):
    """What happened to an answer."""

    PART = "part"
    FINISH = "finish"
    """The provider said how its answer ended."""
    CANCELLED = "cancelled"
    """The consumer cancelled."""
    RESOLVED = "resolved"
    REJECTED = "rejected"
    UNFINISHED = "unfinished"
    """The kit waited no longer."""
    LOGGED = "logged"
    """The target wrote a line to its log."""


_ENDS: Final = frozenset({TranscriptEventKind.RESOLVED, TranscriptEventKind.REJECTED, TranscriptEventKind.UNFINISHED})


@dataclass(frozen=True, slots=True)
class Recorded:
    """Something that happened to an answer.

    Attributes:
        at_ms: When, in milliseconds since the request was sent.
        kind: What.
        value: The part as the target gave it, whatever it is; the `Finish`; the error; the line of a log; else None.
    """

    at_ms: float
    kind: TranscriptEventKind
    value: Any = None

    def to_json(self) -> dict[str, Any]:
        """The event as JSON values."""
        said: dict[str, Any] = {"at": round(self.at_ms, 1)}
        match self.kind:
            case TranscriptEventKind.PART:
                said["part"] = part_json(self.value)
            case TranscriptEventKind.FINISH:
                said["finish"] = _finish_json(self.value)
            case TranscriptEventKind.REJECTED:
                said["kind"] = self.kind.value
                said["error"] = {"type": type(self.value).__name__, "message": str(self.value)}
            case TranscriptEventKind.LOGGED:
                said["log"] = str(self.value)
            case _:
                said["kind"] = self.kind.value
        return said


@dataclass(slots=True)
class Answer:
    """One request and everything that came of it, in order."""

    model: str
    messages: Sequence[ChatMessage]
    options: RequestOptions
    events: list[Recorded] = field(default_factory=list)

    @property
    def parts(self) -> list[Any]:
        """The parts, whatever they are, until the end of the answer."""
        until_end = takewhile(lambda event: event.kind not in _ENDS, self.events)
        return [event.value for event in until_end if event.kind is TranscriptEventKind.PART]

    @property
    def parts_before_cancel(self) -> list[Any]:
        """The parts until the answer was cancelled; all of them if it was not."""
        until_cancelled = takewhile(lambda event: event.kind is not TranscriptEventKind.CANCELLED, self.events)
        return [event.value for event in until_cancelled if event.kind is TranscriptEventKind.PART]

    @property
    def text(self) -> str:
        """The text; parts that hold no string are left out."""
        return "".join(one.value for one in self.parts if isinstance(one, TextPart) and isinstance(one.value, str))

    @property
    def thinking(self) -> str:
        """The thinking; parts that hold no string are left out."""
        return "".join(one.value for one in self.parts if isinstance(one, ThinkingPart) and isinstance(one.value, str))

    @property
    def calls(self) -> list[ToolCallPart]:
        """The tool calls, whatever they hold."""
        return [part for part in self.parts if isinstance(part, ToolCallPart)]

    @property
    def finish(self) -> Finish | None:
        """How the provider said that its answer ended; the last one counts."""
        said = [event.value for event in self.events if event.kind is TranscriptEventKind.FINISH]
        return said[-1] if said else None

    @property
    def end(self) -> Recorded | None:
        """The first end of the answer."""
        return next((event for event in self.events if event.kind in _ENDS), None)

    @property
    def error(self) -> BaseException | None:
        """The error that the answer was rejected with, or None."""
        end = self.end
        return end.value if end is not None and end.kind is TranscriptEventKind.REJECTED else None

    def has(self, kind: TranscriptEventKind) -> bool:
        """Whether something of this kind happened."""
        return any(event.kind is kind for event in self.events)

    def to_json(self) -> dict[str, Any]:
        """The answer as JSON values."""
        return {
            "request": {
                "model": self.model,
                "messages": [
                    {"role": message.role.name.lower(), "content": [part_json(part) for part in message.content]}
                    for message in self.messages
                ],
                "tools": [tool.name for tool in self.options.tools],
                "options": dict(self.options.model_options),
            },
            "events": [event.to_json() for event in self.events],
        }


@dataclass(frozen=True, slots=True)
class UpstreamReply:
    """A request that the target sent to the scripted upstream, and how its reply went.

    Times are milliseconds since the transcript began; `outcome` is `whole`, `cut`, `client_closed` or `stopped`, and
    None while the reply runs.
    """

    at_ms: float
    path: str
    body: Any
    events_sent: int
    outcome: str | None
    ended_at_ms: float | None

    def to_json(self) -> dict[str, Any]:
        """The reply as JSON values, without the body of the request."""
        return {
            "at": round(self.at_ms, 1),
            "path": self.path,
            "events_sent": self.events_sent,
            "outcome": self.outcome,
            "ended_at": None if self.ended_at_ms is None else round(self.ended_at_ms, 1),
        }


@dataclass(slots=True)
class Transcript:
    """One conversation with a target.

    Attributes:
        scenario: The slug of the scenario, or a name for what was generated.
        actions: What the consumer did.
        script: What the model of the target was to say, or None where the target cannot be given one.
        prompt: The text of the user that a bare `send` sent.
        answers: What came, request by request.
        upstream: What the scripted upstream saw; empty without one.
    """

    scenario: str
    actions: tuple[Action, ...]
    script: Script | None
    prompt: str
    answers: list[Answer] = field(default_factory=list)
    upstream: list[UpstreamReply] = field(default_factory=list)

    def to_json(self, **facts: Any) -> dict[str, Any]:
        """The transcript as JSON values; a file of its own adds facts such as `kit`, `contract` and `target`."""
        return {
            "transcript": TRANSCRIPT_VERSION,
            **facts,
            "scenario": self.scenario,
            "prompt": self.prompt,
            "script": None if self.script is None else self.script.to_json(),
            "moves": [str(action) for action in self.actions],
            "answers": [answer.to_json() for answer in self.answers],
            "upstream": [reply.to_json() for reply in self.upstream],
        }


def _finish_json(finish: Finish) -> Mapping[str, Any]:
    said: dict[str, Any] = {"outcome": finish.outcome.value}
    if finish.reason is not None:
        said["reason"] = finish.reason.unified.value
    if finish.usage is not None:
        said["usage"] = {"input_tokens": finish.usage.input_tokens, "output_tokens": finish.usage.output_tokens}
    if finish.error is not None:
        said["error"] = {"type": type(finish.error).__name__, "message": str(finish.error)}
    return said


# ---- Lines for people ----

_MOST_CHARACTERS: Final = 300
_MOST_EVENTS: Final = 200


@dataclass(frozen=True, slots=True)
class EventLine:
    """One line, and whether the requirement broke here."""

    text: str
    is_here: bool = False


def event_lines(transcript: Mapping[str, Any], answer: int | None = None, index: int | None = None) -> list[EventLine]:
    """The lines of the JSON of a transcript, each part with its number and its time since the request.

    `answer` and `index` are the numbers, from 0, of the answer that broke a requirement and of the part in it.
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


_BEFORE: Final = 3
"""How many events are shown before the one that broke a requirement."""


def lines_before(transcript: Transcript | None, answer: int | None, index: int | None) -> list[str]:
    """The part of an answer that broke a requirement, and what came before it; the last lines where no part did."""
    if transcript is None or answer is None or answer >= len(transcript.answers):
        return []
    lines = [*_events([event.to_json() for event in transcript.answers[answer].events], index)]
    here = next((place for place, line in enumerate(lines) if line.is_here), len(lines) - 1)
    shown = lines[max(here - _BEFORE, 0) : here + 1]
    return [f"{line.text}{'   <- here' if line.is_here else ''}" for line in shown]


def _events(events: Any, index: int | None) -> Iterator[EventLine]:
    number = 0
    for event in events:
        at = f"+{float(event.get('at', 0)):7.1f} ms"
        if "part" in event:
            yield EventLine(f"{at}  part {number}  {part_line(event['part'])}", number == index)
            number += 1
        else:
            yield EventLine(f"{at}  {_other(event)}")


def part_line(part: Mapping[str, Any]) -> str:
    """A part of the JSON in a line; reports of versions before 0.12 spell two fields and a type otherwise."""
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
