"""What kind of event one is, for its colour and shape, and its text in a few words.

What came of an event says its kind. Of an event without outputs its type says it, in the words that the wires share; of
one without a type its fields do.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import dumps
from partstream.lm.outputs import Finish, Unmapped
from partstream.lm.parts import USAGE_MIME_TYPE, DataPart, TextPart, ThinkingPart, ToolCallPart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from partstream.devtools.inspector.shapes import EventKind, PartKind
    from partstream.inspector.reading import ReadEvent
    from partstream.lm.outputs import StreamOutput

__all__ = ["changed_the_answer", "kind_of_event", "kind_of_part", "said_by", "shortened", "text_of_part"]

_LONGEST: Final = 160
"""Characters of an event's short text."""
_MOST_LEVELS: Final = 5
"""Levels of an event that are looked through for its fields."""


def kind_of_part(part: object) -> PartKind:
    """The kind of a part; `other` for an object of no known class."""
    match part:
        case TextPart():
            return "text"
        case ThinkingPart():
            return "thinking"
        case ToolCallPart():
            return "call"
        case DataPart():
            return "usage" if part.mime_type == USAGE_MIME_TYPE else "data"
    return "other"


def text_of_part(part: object) -> str:
    """What a part holds: its text, the arguments of a call as JSON, or the media type and size of data."""
    match part:
        case TextPart() | ThinkingPart():
            return str(part.value)
        case ToolCallPart():
            return _json(part.input)
        case DataPart():
            if part.mime_type == USAGE_MIME_TYPE:
                return part.data.decode(errors="replace")
            return f"{part.mime_type}, {len(part.data):,} bytes"
    return f"{type(part).__name__}: no part of a response"


def _json(value: object) -> str:
    try:
        return dumps(value).decode()
    except TypeError:
        return repr(value)


def shortened(text: str) -> str:
    """The beginning of a text, with `…` where it goes on."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


# ---- the kind of an event ----

_BY_OUTPUT: Final[tuple[tuple[Callable[[StreamOutput], bool], EventKind], ...]] = (
    (lambda one: isinstance(one, ToolCallPart), "call"),
    (lambda one: isinstance(one, TextPart) and bool(one.value), "text"),
    (lambda one: isinstance(one, DataPart) and one.mime_type != USAGE_MIME_TYPE, "data"),
    (lambda one: isinstance(one, ThinkingPart) and bool(one.value), "thinking"),
    (lambda one: isinstance(one, Finish) and one.error is not None, "error"),
    (lambda one: isinstance(one, Finish), "end"),
    (lambda one: isinstance(one, DataPart), "usage"),
    (lambda one: isinstance(one, Unmapped), "unmapped"),
)
"""What an output says of its event; the first row that fits one of the outputs."""

_BY_TYPE: Final[tuple[tuple[re.Pattern[str], EventKind], ...]] = tuple(
    (re.compile(pattern, re.IGNORECASE), kind)  # type: ignore[misc]
    for pattern, kind in (
        (r"^\(comment\)$|ping|heart.?beat|keep.?alive", "keepalive"),
        (r"error|fail|abort|^HTTP ", "error"),
        (r"^\[DONE\]$|finish|completed|message_stop|end of the bytes", "end"),
        (r"usage", "usage"),
        (r"(tool|function|argument|call).*(delta|args|input)|partial_json|tool.?(call|output|result)", "call"),
        (r"(reason|think).*delta", "thinking"),
        (r"(text|content|refusal).*delta", "text"),
        (r"start|created|in_progress|queued|added|begin", "start"),
        (r"done|stop|end", "end"),
    )
)
"""What the type of an event says, where nothing came of it; the first row that fits."""

_BY_FIELD: Final[tuple[tuple[frozenset[str], EventKind], ...]] = (
    (frozenset({"error"}), "error"),
    (
        frozenset({"tool_calls", "function_call", "functionCall", "partial_json", "arguments", "argsTextDelta"}),
        "call",
    ),
    (frozenset({"reasoning", "reasoning_content", "thinking", "signature"}), "thinking"),
    (frozenset({"finish_reason", "finishReason", "done_reason", "stop_reason"}), "end"),
    (frozenset({"usage", "usageMetadata"}), "usage"),
    (frozenset({"role"}), "start"),
)
"""What the fields of an event say that have a value; the first row that fits."""

_PIECE_OF_CALL: Final = frozenset(
    {"arguments", "partial_json", "delta", "inputTextDelta", "argsTextDelta", "name", "args", "input_text_delta"}
)
"""Fields that hold a piece of a call, which becomes a part only when the call is whole."""


def kind_of_event(event: ReadEvent) -> EventKind:
    """The kind of an event."""
    for fits, kind in _BY_OUTPUT:
        if any(map(fits, event.outputs)):
            return kind
    by_field = _kind_of_fields(event.event)
    if by_field == "call":  # a piece of a call, whatever the type of its event says
        return by_field
    for pattern, kind in _BY_TYPE:
        if pattern.search(event.name):
            return kind
    return by_field or "other"


def _kind_of_fields(event: Mapping[str, Any]) -> EventKind | None:
    found = {name for name, value in _fields(event, _MOST_LEVELS) if value not in (None, "", [], {})}
    return next((kind for names, kind in _BY_FIELD if names & found), None)


def _fields(value: object, levels: int) -> Iterator[tuple[str, Any]]:
    if levels and isinstance(value, dict):
        for name, inner in value.items():
            yield name, inner
            yield from _fields(inner, levels - 1)
    elif levels and isinstance(value, list):
        for inner in value[:_MOST_LEVELS]:
            yield from _fields(inner, levels - 1)


def changed_the_answer(event: ReadEvent, kind: EventKind) -> bool:
    """Whether an event brought something of the answer: keep-alives, comments and empty deltas do not."""
    if any(_has_content(output) for output in event.outputs):
        return True
    return kind == "call" and any(True for _ in _pieces(event.event))


def _pieces(event: Mapping[str, Any]) -> Iterator[str]:
    """The pieces of a call that an event holds."""
    found = ((name, value) for name, value in _fields(event, _MOST_LEVELS) if name in _PIECE_OF_CALL)
    yield from (value for _, value in found if isinstance(value, str) and value)


def _has_content(output: StreamOutput) -> bool:
    match output:
        case TextPart() | ThinkingPart():
            return bool(output.value)
        case ToolCallPart():
            return True
        case DataPart():
            return output.mime_type != USAGE_MIME_TYPE
    return False


def said_by(event: ReadEvent, kind: EventKind) -> str:
    """What an event says, in a few words: what came of it, else the pieces of a call in it, else its fields."""
    shown = " ".join(word for output in event.outputs if (word := _said(output)))
    if not shown and kind == "call":
        shown = " ".join(_pieces(event.event))
    if not shown and event.event:
        shown = _json({name: value for name, value in event.event.items() if name != "type"})
    return shortened(shown or event.data.decode(errors="replace").strip())


def _said(output: StreamOutput) -> str:
    match output:
        case TextPart() | ThinkingPart():
            return output.value
        case ToolCallPart():
            return f"{output.name}({_json(output.input)})"
        case DataPart():
            return text_of_part(output)
        case Finish():
            return _end(output)
    return ""


def _end(finish: Finish) -> str:
    words: Sequence[str | None] = (
        finish.outcome.value,
        None if finish.reason is None else finish.reason.raw or finish.reason.unified.value,
        None if finish.error is None else str(finish.error),
    )
    return ": ".join(word for word in words if word)
