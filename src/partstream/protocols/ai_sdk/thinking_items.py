"""Reads the thinking of a message as reasoning items: the shown text and the provider metadata.

Thinking comes in two forms. An answer as it streamed has many parts, and the metadata of the last of a block lists all
items so far. Hosts keep one part, with the text joined and the last metadata, whose items say where they stood.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.places import PLACE, AnswerPlace
from partstream.conversation.reasoning import ITEMS, usable_items
from partstream.conversation.texts import well_formed
from partstream.parts import TextPart, ThinkingPart, ToolCallPart
from partstream.protocols.ai_sdk.provider_state import REASONING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from partstream.parts import MessagePart

__all__ = ["thinking_items"]

_OPTIONS: Final = "providerOptions"


def thinking_items(parts: Iterable[MessagePart]) -> tuple[Mapping[str, Any], ...]:
    """The items of one message of the assistant, in order, each with its place."""
    reader = _Reader()
    for part in parts:
        reader.read(part)
    reader.close()
    return tuple(reader.items)


class _Reader:
    """One message so far."""

    def __init__(self) -> None:
        self.items: list[Mapping[str, Any]] = []
        self._place = AnswerPlace()
        self._shown: dict[str | None, str] = {}
        self._taken: dict[str | None, list[Mapping[str, Any]]] = {}
        self._last_id: str | None = None
        self._listed = 0

    def read(self, part: MessagePart) -> None:
        if isinstance(part, ThinkingPart):
            self._thinking(part)
            return
        if isinstance(part, TextPart) and part.value:
            self.close()
            self._place.add_text(part.value)
        elif isinstance(part, ToolCallPart):
            self.close()
            self._place.add_call()

    def close(self) -> None:
        """Ends what is open: what was shown of it and no item says is reasoning without options."""
        for block, shown in self._shown.items():
            self.items += self._taken.get(block, ())
            if text := well_formed(shown):
                self.items.append({"type": REASONING, "text": text, PLACE: self._place.value})
        self._shown, self._taken = {}, {}

    def _thinking(self, part: ThinkingPart) -> None:
        block = self._last_id if part.id is None else part.id
        self._last_id = block
        self._shown[block] = self._shown.get(block, "") + part.value
        listed = part.metadata.get(ITEMS) if part.metadata else None
        if isinstance(listed, list | tuple):
            new = listed[self._listed :]
            self._listed = len(listed)
            for item in usable_items(new):
                if isinstance(item.get(_OPTIONS), Mapping):
                    self._take(item)

    def _take(self, item: Mapping[str, Any]) -> None:
        """Takes a listed item; its shown text is not repeated."""
        said = item.get("text")
        block = self._last_id
        if item.get("type") == REASONING and isinstance(said, str) and said:
            # The block that says exactly this, else one that hosts have joined with others.
            blocks = [block for block, shown in self._shown.items() if said in shown]
            block = min(blocks, key=lambda block: self._shown[block] != said, default=block)
            self._shown[block] = self._shown[block].replace(said, "", 1)
        self._taken.setdefault(block, []).append({PLACE: self._place.value, **item})
