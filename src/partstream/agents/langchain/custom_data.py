"""What a node writes with `get_stream_writer()`. Needs no framework."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from partstream.outputs import Unmapped
from partstream.parts import DataPart, TextPart, ThinkingPart

if TYPE_CHECKING:
    from partstream.agents.adapter import AgentOutput

__all__ = ["CUSTOM_MIME_TYPE", "custom_outputs"]

CUSTOM_MIME_TYPE: Final = "application/vnd.partstream.custom+json"
"""The media type of the part with a value that a node has written."""
_LONGEST: Final = 200
"""The most characters of a value in a line for people."""


def custom_outputs(data: Any) -> list[AgentOutput]:
    """The outputs of what a node has written: a part is itself, a text is a line of progress, any other JSON value is
    a line and a data part for programs."""
    if isinstance(data, TextPart | ThinkingPart | DataPart):
        return [data]
    if isinstance(data, str):
        return [_line(data)]
    try:
        shown = json.dumps(data, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return [Unmapped(f"custom.{type(data).__name__}", {})]
    return [_line(shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"), DataPart.json(data, CUSTOM_MIME_TYPE)]


def _line(text: str) -> ThinkingPart:
    return ThinkingPart(f"\n\n{text}\n\n")
