"""Writes the trace of an answer: one line for each event, with its time, its type, its ids and what came of it.

A trace says types, ids and lengths, and holds nothing that a person or a model wrote.
"""

from __future__ import annotations

import logging
import re
import time
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.redaction import Redactor
from partstream.lm.outputs import Finish, Unmapped
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart
from partstream.protocols.reader import Tap
from partstream.upstream.context import TRACE, is_traced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from partstream.lm.outputs import StreamOutput
    from partstream.protocols.reader import ReadStep

__all__ = ["AttemptTrace", "open_trace"]

_logger = logging.getLogger("partstream.upstreams.trace")

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z_]{0,39}")
_NAME_OF_ID: Final = re.compile(r"(?i:.*_)?(?:id|index|number)|.*(?:Id|ID|Index|Number)")
_WORD: Final = re.compile(r"[\w.:/+=\[\]-]{1,80}", re.ASCII)
"""What an id or a type is made of; any other text may be somebody's words, of which only the length is written."""

_CONTENT: Final = frozenset({"args", "arguments", "data", "input", "output", "result", "value"})
"""Fields of events whose own fields a model or an application chose."""


class AttemptTrace(Tap):
    """The trace of one attempt at an answer.

    Args:
        number: The number of the attempt among those of its upstream.
        clock: Returns seconds.

    Attributes:
        redactor: Removes secrets; set as soon as it is known what the upstream was sent.
    """

    def __init__(self, number: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.redactor = Redactor()
        self._number = number
        self._clock = clock
        self._start = clock()
        self._steps = 0

    def step(self, step: ReadStep) -> None:
        """Writes the line of one step."""
        self._steps += 1
        words = [_shown(step.kind), *(f"{name}={value}" for name, value in _ids(step.event))]
        if step.size:
            words.append(f"({step.size} bytes)")
        outputs = ", ".join(map(_described, step.outputs)) or "nothing"
        line = f"{self._clock() - self._start:+.3f} s  {' '.join(words)} -> {outputs}"
        _logger.log(TRACE, "answer %d #%d %s", self._number, self._steps, self.redactor.redact(line))


def open_trace(number: int) -> AttemptTrace | None:
    """The trace of an attempt at an answer; None where nobody wants it.

    Args:
        number: The number of the attempt among those of its upstream.
    """
    return AttemptTrace(number) if is_traced(_logger) else None


def _shown(text: str) -> str:
    return text if _WORD.fullmatch(text) else f"({len(text)} characters)"


def _ids(event: Mapping[str, Any], place: str = "") -> Iterator[tuple[str, str]]:
    """The ids and indices of an event and of the objects in it, one level deep."""
    for name, value in event.items():
        if not _NAME.fullmatch(name):
            continue
        if isinstance(value, dict) and not place and name not in _CONTENT:
            yield from _ids(value, f"{name}.")
        elif isinstance(value, str | int) and not isinstance(value, bool) and _NAME_OF_ID.fullmatch(name):
            yield place + name, _shown(str(value))


def _described(output: StreamOutput) -> str:
    match output:
        case TextPart(value=value):
            return f"text of {len(value)}"
        case ThinkingPart(value=value):
            return f"thinking of {len(value)}"
        case ToolCallPart(call_id=call_id, input=given):
            return f"tool call {_shown(call_id)} with {len(given)} arguments"
        case DataPart(mime_type=mime_type, data=data):
            return f"data {_shown(mime_type)} of {len(data)} bytes"
        case Unmapped():
            return "no part"
        case Finish():
            return _end(output)


def _end(finish: Finish) -> str:
    reason, usage = finish.reason, finish.usage
    words = [f"end {finish.outcome.value}"]
    if reason is not None:
        words.append(f"{reason.unified.value} ({_shown(reason.raw)})" if reason.raw else reason.unified.value)
    if usage is not None:
        words.append(f"tokens {usage.input_tokens} in, {usage.output_tokens} out")
    if finish.error is not None:
        words.append(type(finish.error).__name__)
    return " ".join(words)
