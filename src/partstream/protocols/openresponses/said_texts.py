"""Finds the slot that has emitted a text, or the beginning of one, without a look at every slot; knows no event.

A closing event may come under an id or index that nothing opened, so the text itself says which slot it closes. A slot
is filed under the length and checksum of what it has emitted, and again when that has changed since the last search.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from itertools import islice
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeAlias, TypeVar

from partstream.protocols.openresponses.streamed_text import StreamedText
from partstream.protocols.read_response import checksum

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = ["TextIndex"]

_LOOKED_AT: Final = 8
"""How many slots that say the same are looked at, the latest first, for one of another item than the one left out."""

_Shelf: TypeAlias = "tuple[Hashable | None, Hashable]"
"""All slots of a channel, or those of one item."""

SlotT = TypeVar("SlotT", bound=StreamedText)


class _Place(NamedTuple):
    """Where a slot is filed."""

    length: int
    checksum: int
    open: bool


class TextIndex(Generic[SlotT]):
    """What the slots of one response's messages, or of its reasoning, have emitted."""

    __slots__ = ("_changed", "_lengths", "_places", "_slots")

    def __init__(self) -> None:
        self._changed: dict[SlotT, _Shelf] = {}
        self._places: dict[SlotT, _Place] = {}
        self._slots: dict[tuple[_Shelf, _Place], OrderedDict[SlotT, Hashable]] = {}
        self._lengths: dict[_Shelf, list[int]] = {}  # of the slots that are open, each once, in order

    def touch(self, slot: SlotT, item: Hashable, channel: Hashable) -> None:
        """Says that a slot may emit something from now on, until another one is touched.

        Args:
            slot: The slot.
            item: The item that it belongs to.
            channel: Its kind of text.
        """
        self._changed.pop(slot, None)
        self._changed[slot] = item, channel

    def find(self, channel: Hashable, whole: str, item: Hashable | None, without: Hashable | None) -> SlotT | None:
        """The latest slot that has emitted `whole`; else the open one that has emitted most of its beginning.

        Args:
            channel: The kind of text.
            whole: The text.
            item: The only item whose slots are meant, or None for those of all items.
            without: The item whose slots are not meant, or None.
        """
        self._file_changed()
        shelf = item, channel
        length, all_of_it = len(whole), checksum(whole)
        for is_open in (True, False):
            if slot := self._latest(shelf, _Place(length, all_of_it, is_open), without):
                return slot
        found: SlotT | None = None
        end, begun = 0, 0
        for length in self._lengths.get(shelf, ()):
            if length >= len(whole):
                break
            begun = checksum(whole[end:length], begun)
            end = length
            found = self._latest(shelf, _Place(length, begun, open=True), without) or found
        return found

    def _latest(self, shelf: _Shelf, place: _Place, without: Hashable | None) -> SlotT | None:
        slots = self._slots.get((shelf, place))
        if slots is None:
            return None
        latest = islice(reversed(slots.items()), _LOOKED_AT)
        return next((slot for slot, item in latest if item is not without), None)

    def _file_changed(self) -> None:
        for slot, (item, channel) in self._changed.items():
            place = None if slot.is_empty else _Place(*slot.summary, not slot.closed)
            before = self._places.get(slot)
            if place is None or place == before:
                continue
            for shelf in ((None, channel), (item, channel)):
                if before is not None:
                    self._take_out(shelf, before, slot)
                self._slots.setdefault((shelf, place), OrderedDict())[slot] = item
                if place.open:
                    self._add_length(shelf, place.length)
            self._places[slot] = place
        if self._changed:
            last, shelf = self._changed.popitem()
            self._changed = {last: shelf}

    def _add_length(self, shelf: _Shelf, length: int) -> None:
        lengths = self._lengths.setdefault(shelf, [])
        at = bisect_left(lengths, length)
        if at == len(lengths) or lengths[at] != length:
            lengths.insert(at, length)

    def _take_out(self, shelf: _Shelf, place: _Place, slot: SlotT) -> None:
        slots = self._slots[shelf, place]
        del slots[slot]
        if not slots:
            del self._slots[shelf, place]
