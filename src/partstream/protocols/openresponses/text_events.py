"""Handles the events of messages and reasoning: text, refusals, thinking and citations."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from partstream.conversation.reasoning import MOST_ITEMS
from partstream.outputs import StreamOptions, StreamOutput, ThinkingMode, Unmapped
from partstream.parts import TextPart, ThinkingPart, text_part, thinking_part
from partstream.protocols.citations import Citations
from partstream.protocols.openresponses import texts
from partstream.protocols.openresponses.carried_items import CarriedItems
from partstream.protocols.openresponses.citations import citation_of, key_of
from partstream.protocols.openresponses.fields import Wire, identifier, index, mapping, sequence, text
from partstream.protocols.openresponses.items import IN_ORDER, SAME_ID, SAME_PLACE
from partstream.protocols.openresponses.texts import (
    OUTPUT_TEXT,
    PART_CHANNELS,
    REASONING,
    SUMMARY,
    Channel,
    Slot,
    TextItem,
    TextItems,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.outputs import FastPath
    from partstream.protocols.openresponses.items import Close

__all__ = ["Outputs", "TextEvents"]

Outputs: TypeAlias = list[StreamOutput]

_TOO_MANY: Final = f"reasoning (more than {MOST_ITEMS} items of one answer)"


class TextEvents:
    """Handlers of text events, and the items and slots that they fill.

    Attributes:
        compacted: Whether the upstream has summarised the conversation.
    """

    def __init__(self, options: StreamOptions) -> None:
        self.compacted = False
        self._options = options
        self._messages = TextItems()
        self._reasoning = TextItems()
        self._citations = Citations(options.citations)
        self._active: Slot | None = None  # the slot of the last delta, the only one that may hold text back
        self._carried = CarriedItems()

    # Events of texts

    def delta(self, event: Wire, outputs: Outputs, channel: Channel) -> FastPath | None:
        """Emits a piece of a text; returns the fast path for further pieces."""
        delta = text(event, "delta")
        if not delta:
            return None
        slot = self._slot(event, channel)
        self._activate(slot, outputs)
        said = slot.push(delta)
        _mark_said(slot)
        if said and slot.make is not None:
            outputs.append(slot.make(said))
        return slot.sink

    def text_done(self, event: Wire, outputs: Outputs, channel: Channel) -> None:
        """Takes a whole text and emits what is missing of it."""
        self._close(self._slot(event, channel), text(event, channel.whole_field), event, outputs)

    def part_added(self, event: Wire, outputs: Outputs, _argument: None) -> None:
        """A part of an item begins."""
        self.release(outputs)
        part = mapping(event, "part")
        channel = self._part_channel(event, part)
        if channel is None:
            outputs.append(Unmapped(f"part:{identifier(part, 'type')}", event))
            return
        item = self._items(channel).find(identifier(event, "item_id"), index(event, "output_index"))
        part_index = index(event, channel.index_field)
        if item.announced_at(channel, part_index) is None:
            self._new_slot(item, channel, part_index).announced = True

    def part_done(self, event: Wire, outputs: Outputs, _argument: None) -> None:
        """A part of an item ends."""
        part = mapping(event, "part")
        channel = self._part_channel(event, part)
        if channel is None:
            return  # counted when it was added
        slot = self._close(self._slot(event, channel), text(part, channel.whole_field), event, outputs)
        self._close_annotations([part], slot, outputs)

    def annotation(self, event: Wire, outputs: Outputs, _argument: None) -> None:
        """A source of a text."""
        self.release(outputs)
        slot = self._slot(event, OUTPUT_TEXT)
        slot.annotated = True
        if annotation := mapping(event, "annotation"):
            self._cite(annotation, slot, outputs)

    # Items

    def message_added(self, event: Wire, _outputs: Outputs, item: Wire) -> None:
        """A message begins."""
        self._messages.announce(identifier(item, "id"), index(event, "output_index"))

    def message_done(self, event: Wire, outputs: Outputs, item: Wire) -> None:
        """A message ends."""
        known = self._messages.find(identifier(item, "id"), index(event, "output_index"))
        self._close_message(known, event, outputs, item)

    def reasoning_added(self, event: Wire, _outputs: Outputs, item: Wire) -> None:
        """Reasoning begins."""
        self._reasoning.announce(identifier(item, "id"), index(event, "output_index"))

    def reasoning_done(self, event: Wire, outputs: Outputs, item: Wire) -> None:
        """Reasoning ends."""
        known = self._reasoning.find(identifier(item, "id"), index(event, "output_index"))
        self._close_reasoning(known, event, outputs, item)

    def compaction_done(self, _event: Wire, outputs: Outputs, item: Wire) -> None:
        """A summary of the conversation that only the upstream can read.

        It goes back like reasoning: once, in the metadata of thinking, among the items of the answer.
        """
        self.compacted = True
        self.release(outputs)
        fields = {name: identifier(item, name) for name in ("type", "id", "encrypted_content")}
        state = {name: value for name, value in fields.items() if value is not None}
        if "encrypted_content" not in state or self._options.thinking is not ThinkingMode.PART:
            return
        if not self._carried.knows(state):
            listed = self._carried.add(state)
            outputs.append(Unmapped(_TOO_MANY, item) if listed is None else thinking_part("", None, listed))

    # The response

    def release(self, outputs: Outputs) -> None:
        """Emits what was held back, before anything else is emitted."""
        slot = self._active
        if slot is not None and slot.held:
            said = slot.release()
            if slot.make is not None:
                outputs.append(slot.make(said))

    def pair_messages(self, snapshot: list[tuple[int, Wire]]) -> dict[int, Close]:
        """Closes each message of the final snapshot, by its place."""
        return self._pair(self._messages, snapshot, self._close_message)

    def pair_reasoning(self, snapshot: list[tuple[int, Wire]]) -> dict[int, Close]:
        """Closes each reasoning item of the final snapshot, by its place."""
        return self._pair(self._reasoning, snapshot, self._close_reasoning)

    def at_end(self, outputs: Outputs) -> None:
        """Emits the text for the end of an answer."""
        outputs.extend(self._citations.at_end())

    @staticmethod
    def _pair(
        items: TextItems, snapshot: list[tuple[int, Wire]], close: Callable[[TextItem, Wire, Outputs, Wire], None]
    ) -> dict[int, Close]:
        pairs = items.match_snapshot(snapshot, (SAME_ID, SAME_PLACE, IN_ORDER))
        return {place: partial(close, item) for place, item in pairs.items()}

    def _close_annotations(self, parts: list[Wire], slot: Slot, outputs: Outputs) -> None:
        if slot.channel is OUTPUT_TEXT and not slot.annotated:
            for part in parts:
                for annotation in sequence(part, "annotations"):
                    self._cite(annotation, slot, outputs)

    def _cite(self, annotation: Wire, slot: Slot, outputs: Outputs) -> None:
        outputs.extend(self._citations.render(citation_of(annotation), slot, key_of(annotation, slot)))

    def _items(self, channel: Channel) -> TextItems:
        return self._reasoning if channel.is_reasoning else self._messages

    def _part_channel(self, event: Wire, part: Wire) -> Channel | None:
        channel = PART_CHANNELS.get(identifier(part, "type") or "")
        if channel is OUTPUT_TEXT:
            # vLLM opens an `output_text` part inside a reasoning item (docs/wires/openresponses.md#vllm).
            where = identifier(event, "item_id"), index(event, "output_index")
            reasoning = self._reasoning.known(*where)
            if (
                reasoning is not None
                and reasoning.announced
                and not reasoning.closed
                and not self._messages.known(*where)
            ):
                return REASONING
        return channel

    def _slot(self, event: Wire, channel: Channel) -> Slot:
        item = self._items(channel).find(identifier(event, "item_id"), index(event, "output_index"))
        part_index = index(event, channel.index_field)
        return item.existing(channel, part_index) or self._new_slot(item, channel, part_index)

    def _new_slot(self, item: TextItem, channel: Channel, part_index: int | None) -> Slot:
        make: Callable[[str], TextPart | ThinkingPart] | None = text_part
        if channel.is_reasoning:
            make = partial(thinking_part, id=item.id) if self._options.thinking is ThinkingMode.PART else None
        return item.add(Slot(channel, item.output_index, part_index, make))

    def _activate(self, slot: Slot, outputs: Outputs) -> Slot:
        if self._active is not slot:
            self.release(outputs)
            self._active = slot
        self._items(slot.channel).texts.touch(slot, slot.item, slot.channel)
        return slot

    def _close(self, slot: Slot, whole: str, event: Wire, outputs: Outputs) -> Slot:
        """Emits what a closing event adds to the slot's text."""
        if slot.is_empty and whole:
            slot = self._items(slot.channel).saying(slot, whole) or slot
        self._activate(slot, outputs)
        missing, agrees = slot.close(whole)
        if whole:
            _mark_said(slot)
        if missing and slot.make is not None:
            outputs.append(slot.make(missing))
        if not agrees:
            outputs.append(Unmapped(f"{event['type']} (differs from the text before it)", event))
        return slot

    def _close_parts(self, item: TextItem, groups: dict[Channel, list[Wire]], event: Wire, outputs: Outputs) -> None:
        for channel, parts in groups.items():
            slots = item.first_slots(channel, max(len(parts), 1))
            if len(slots) == 1 and len(parts) > 1:
                # Deltas whose indices did not tell the parts apart: they stream into one slot.
                slot = self._close(slots[0], texts.joined(channel, parts), event, outputs)
                self._close_annotations(parts, slot, outputs)
                continue
            for place, part in enumerate(parts):
                if place == len(slots):
                    slots.append(self._new_slot(item, channel, place))
                    slots[place].announced = True
                slot = slots[place]
                slot = self._close(slot, text(part, channel.whole_field), event, outputs)
                self._close_annotations([part], slot, outputs)

    def _close_message(self, item: TextItem, event: Wire, outputs: Outputs, wire: Wire) -> None:
        content = wire.get("content")
        parts = [{"type": "output_text", "text": content}] if isinstance(content, str) else sequence(wire, "content")
        groups: dict[Channel, list[Wire]] = {}
        for part in parts:
            channel = PART_CHANNELS.get(identifier(part, "type") or "")
            if channel is not None and not channel.is_reasoning:
                groups.setdefault(channel, []).append(part)
            elif not item.closed:
                outputs.append(Unmapped(f"part:{identifier(part, 'type')}", part))
        self._close_parts(item, groups, event, outputs)
        self.release(outputs)
        item.closed = True

    def _close_reasoning(self, item: TextItem, event: Wire, outputs: Outputs, wire: Wire) -> None:
        groups = {SUMMARY: sequence(wire, "summary"), REASONING: sequence(wire, "content")}
        if item.said:
            # Text of one channel is not repeated through the other (docs/wires/openresponses.md#xai-and-deepseek).
            groups = {channel: parts for channel, parts in groups.items() if item.has(channel)}
        if self._active is None or self._active.item is not item:
            self.release(outputs)
        before = len(outputs)
        self._close_parts(item, groups, event, outputs)
        self.release(outputs)
        if not item.closed:
            item.closed = True
            self._close_metadata(item, wire, outputs, before)

    def _close_metadata(self, item: TextItem, wire: Wire, outputs: Outputs, before: int) -> None:
        """Gives the item's last thinking part what the upstream needs back. Copilot keeps only the last metadata of a
        model call, so it lists the reasoning items before this one as well."""
        identity = {"id": identifier(wire, "id") or item.id, "encrypted_content": identifier(wire, "encrypted_content")}
        known = {name: value for name, value in identity.items() if value is not None}
        if self._options.thinking is not ThinkingMode.PART or (not item.said and "encrypted_content" not in known):
            return
        listed = self._carried.add(known)
        if listed is None:
            outputs.append(Unmapped(_TOO_MANY, wire))
            return
        metadata = {**known, **listed}
        # Only a part that this very event gave: what came before may have gone out already.
        last = outputs[-1] if len(outputs) > before else None
        if isinstance(last, ThinkingPart):
            outputs[-1] = thinking_part(last.value, last.id, metadata)
        else:
            outputs.append(thinking_part("", item.id, metadata))


def _mark_said(slot: Slot) -> None:
    if slot.item is not None:
        slot.item.said = True
