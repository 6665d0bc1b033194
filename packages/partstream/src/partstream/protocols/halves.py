"""Joins characters that a server cut in two between events.

A server that cuts UTF-16 text may send `\\ud83d` at the end of a delta, `\\ude00` at the beginning of the next. Alone
neither is a character, and no encoding has it. :class:`Halves` looks at the JSON of an event, before a reader of a wire
does: it holds the first half back and puts it before the text at the same place of a later event. So it holds for text,
thinking and arguments of every wire alike, and a closing event that repeats the text agrees with what came.

A place is the path to a text, with the type of the event and the indexes and ids on the way: two choices or two calls
may arrive in turns. A half that gets no other stays what it is, before the next text at its place.

The fast decoders refuse half a character, so events without one cost nothing.
"""

from __future__ import annotations
from collections.abc import Hashable
from typing import Any, Final

_FIRST: Final = ("\ud800", "\udbff")
_SECOND: Final = ("\udc00", "\udfff")
_IDS: Final = ("index", "output_index", "content_index", "summary_index", "item_id", "messageId", "toolCallId")
_PIECES: Final = frozenset(
    {"delta", "text", "content", "thinking", "reasoning", "reasoning_content", "reasoning_text", "refusal"}
    | {"arguments", "partial_json", "transcript", "textDelta", "argsTextDelta", "inputTextDelta"}
)
"""The fields of all wires that hold a piece of something longer."""
_MOST_LEVELS: Final = 24
_MOST_HELD: Final = 100

Path = tuple["Hashable", ...]


class Halves:
    """The first halves of characters that wait for their second ones, in one stream."""

    __slots__ = ("held",)

    def __init__(self) -> None:
        self.held: dict[Path, str] = {}

    def join(self, event: Any) -> None:
        """Joins the texts of an event with what is held, and holds back what they end with; in place."""
        if isinstance(event, dict):
            kind = event.get("type")
            self._walk(event, (kind if isinstance(kind, str) else None,), _MOST_LEVELS)

    def _walk(self, value: dict[str, Any] | list[Any], path: Path, levels: int) -> None:
        if isinstance(value, dict):
            found = (value.get(name) for name in _IDS)
            path = (*path, *(one for one in found if isinstance(one, int | str)))
        for key, one in [*(value.items() if isinstance(value, dict) else enumerate(value))]:
            if isinstance(one, str):
                if key in _PIECES and one and (self.held or not one.isascii()):
                    value[key] = self._joined(one, (*path, key))
            elif isinstance(one, dict | list) and levels:
                self._walk(one, (*path, key), levels - 1)

    def _joined(self, text: str, path: Path) -> str:
        before = self.held.pop(path, "")
        if before and _SECOND[0] <= text[0] <= _SECOND[1]:
            before, text = (before + text[0]).encode("utf-16", "surrogatepass").decode("utf-16"), text[1:]
        text = before + text
        if _FIRST[0] <= text[-1] <= _FIRST[1] and len(self.held) < _MOST_HELD:
            self.held[path] = text[-1]
            text = text[:-1]
        return text
