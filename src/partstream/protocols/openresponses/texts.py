"""Messages and reasoning items, and the slots that their texts stream into.

A slot is one content part: its text arrives as deltas and is said again by up to four closing events.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partstream.protocols.citations import FOLD_AT
from partstream.protocols.openresponses.fields import Wire, text
from partstream.protocols.openresponses.items import Item, Items
from partstream.protocols.openresponses.said_texts import TextIndex
from partstream.protocols.openresponses.streamed_text import HELD_ENDINGS, StreamedText

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.outputs import FastPath, StreamOutput
    from partstream.parts import TextPart, ThinkingPart

__all__ = [
    "OUTPUT_TEXT",
    "PART_CHANNELS",
    "REASONING",
    "REFUSAL",
    "SUMMARY",
    "Channel",
    "Slot",
    "TextItem",
    "TextItems",
    "joined",
]


class Channel(NamedTuple):
    """A kind of text that streams.

    Attributes:
        name: Ours.
        is_reasoning: Whether it belongs to reasoning items; else to messages.
        index_field: Where its events say which part of the item they mean.
        whole_field: Where its closing events and parts hold the whole text.
    """

    name: str
    is_reasoning: bool
    index_field: str
    whole_field: str


OUTPUT_TEXT: Final = Channel("output_text", False, "content_index", "text")
REFUSAL: Final = Channel("refusal", False, "content_index", "refusal")
REASONING: Final = Channel("reasoning", True, "content_index", "text")
SUMMARY: Final = Channel("summary", True, "summary_index", "text")

PART_CHANNELS: Final = {
    "output_text": OUTPUT_TEXT,
    "text": OUTPUT_TEXT,  # from SGLang (docs/wires/openresponses.md#sglang)
    "refusal": REFUSAL,
    "reasoning_text": REASONING,
    "summary_text": SUMMARY,
}
"""The channel of each type of content part."""


class Slot(StreamedText):
    """A content part that text streams into.

    Attributes:
        channel: The kind of text.
        output_index: The item's place as the slot's events say it, or None.
        part_index: The part's place in the item as the slot's events say it, or None.
        make: Makes the part that a fragment becomes, or None when nothing is to be emitted.
        sink: The short way for deltas, see :class:`partstream.outputs.ResponseStream`; None without an `output_index`,
            because then only the long way tells whose a delta is.
        item: The item that it belongs to, set when it is added to one.
        announced: Whether it is known to be a part of its own, however much its text is like another's.
        annotated: Whether annotations arrived by events of their own; closing events only repeat them.
    """

    __slots__ = ("annotated", "announced", "channel", "item", "make", "output_index", "part_index", "sink")

    def __init__(
        self,
        channel: Channel,
        output_index: int | None,
        part_index: int | None,
        make: Callable[[str], TextPart | ThinkingPart] | None,
    ) -> None:
        super().__init__()
        self.channel = channel
        self.output_index = output_index
        self.part_index = part_index
        self.make = make
        self.item: TextItem | None = None
        self.announced = False
        self.annotated = False
        self.sink = None if output_index is None else self._make_sink()

    def _make_sink(self) -> FastPath:
        """The fast path: nearly all events of a response are deltas for the slot of the event before.

        Everything is a local name here, because this function costs more than all others together. Small integers are
        the same object in CPython; others are compared by type as well, because 1.0 and True equal 1 and are no index.
        """
        output_index, part_index = self.output_index, self.part_index
        pieces, add, make, held_endings, fold_at = self.pieces, self.pieces.append, self.make, HELD_ENDINGS, FOLD_AT

        def sink(event: Any, outputs: list[StreamOutput]) -> bool:
            delta, place, part = event.delta, event.output_index, event.part_index
            if place is not output_index and (type(place) is not int or place != output_index):
                return False
            if part is not part_index and (type(part) is not int or part != part_index):
                return False
            if type(delta) is not str:
                return False
            if self.held or delta[-1:] in held_endings:
                delta = self.push(delta)
                if not delta:
                    return True
            else:
                add(delta)
                if len(pieces) >= fold_at:
                    self.fold()
            if make is not None:
                outputs.append(make(delta))
            return True

        return sink


class TextItem(Item):
    """A message or a reasoning item.

    Attributes:
        said: Whether one of its slots has emitted anything, or holds something back.
    """

    __slots__ = ("_channels", "_current", "said")

    def __init__(self, item_id: str | None, output_index: int | None) -> None:
        super().__init__(item_id, output_index)
        self.said = False
        self._channels: dict[Channel, dict[int | None, Slot]] = {}
        self._current: dict[Channel, Slot] = {}

    def existing(self, channel: Channel, part_index: int | None) -> Slot | None:
        """The slot that an event means, or None.

        An index that no `content_part.added` announced means the slot that is open: vLLM counts `content_index` up
        with every delta (docs/wires/openresponses.md#vllm), llama.cpp leaves it out.
        """
        exact = self.announced_at(channel, part_index)
        if exact is not None:
            return exact
        current = self._current.get(channel)
        if current is not None and (part_index is None or not current.closed):
            return current
        return None

    def announced_at(self, channel: Channel, part_index: int | None) -> Slot | None:
        """The slot of that very index, or None."""
        return self._channels.get(channel, {}).get(part_index)

    def add(self, slot: Slot) -> Slot:
        """Adds a new slot and makes it the open one of its channel."""
        slot.item = self
        self._channels.setdefault(slot.channel, {})[slot.part_index] = slot
        self._current[slot.channel] = slot
        return slot

    def has(self, channel: Channel) -> bool:
        """Whether it has a slot of that channel."""
        return channel in self._channels

    def first_slots(self, channel: Channel, count: int) -> list[Slot]:
        """The first slots of one channel, no more than `count`."""
        return list(islice(self._channels.get(channel, {}).values(), count))


class TextItems(Items[TextItem]):
    """All messages, or all reasoning items, of one response.

    Attributes:
        texts: What their slots have emitted.
    """

    __slots__ = ("texts",)

    def __init__(self) -> None:
        super().__init__(TextItem)
        self.texts = TextIndex[Slot]()

    def saying(self, empty: Slot, whole: str) -> Slot | None:
        """The slot whose text `whole` repeats, although it came for the slot `empty`; None if there is none.

        LiteLLM closes a message under an id that it never opened (docs/wires/openresponses.md#litellm), and vLLM a part
        under such an index. An announced slot counts as itself: two messages may say the same.
        """
        item = empty.item
        if item is not None and item.announced:
            return None if empty.announced else self.texts.find(empty.channel, whole, item, without=None)
        return self.texts.find(empty.channel, whole, None, without=item if empty.announced else None)


def joined(channel: Channel, parts: list[Wire]) -> str:
    """The whole text of parts of one channel."""
    return "".join(text(part, channel.whole_field) for part in parts)
