"""The results that the kit gives for the tool calls of a target."""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING, Final

from partstream.errors import CallerError
from partstream.lm.parts import DataPart, TextPart, ToolResultPart

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.lm.parts import ToolCallPart, ToolResultContent

__all__ = ["PIXEL", "RESULT_KINDS", "RESULT_WORD", "result_of"]

PIXEL: Final = DataPart.image(
    b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="),
    "image/png",
)
"""An image of one pixel."""

RESULT_WORD: Final = "seventeen"
"""The word that every result with text holds: where it goes can be seen."""


def _text(call: ToolCallPart) -> tuple[ToolResultContent, ...]:
    return (TextPart(f"{call.name}: {RESULT_WORD} degrees"),)


_CONTENT: Final[Mapping[str, Callable[[ToolCallPart], tuple[ToolResultContent, ...]]]] = {
    "": _text,
    "text": _text,
    "image": lambda _: (TextPart(f"A picture of {RESULT_WORD}."), PIXEL),
    "error": lambda call: (TextPart(f"{call.name} failed: {RESULT_WORD} is no place"),),
    "empty": lambda _: (),
}
RESULT_KINDS: Final = tuple(_CONTENT)
"""The kinds of results; the empty one is text."""


def result_of(call: ToolCallPart, kind: str = "") -> ToolResultPart:
    """A result of a kind for a call.

    Raises:
        CallerError: The kind is unknown.
    """
    if kind not in _CONTENT:
        raise CallerError(f"result: got {kind!r}, expected one of {', '.join(filter(None, RESULT_KINDS))}")
    return ToolResultPart(call.call_id, _CONTENT[kind](call), is_error=kind == "error")
