"""What a message of the assistant takes back of the reasoning that led to it.

Source: docs/wires/chat-completions.md#sending-reasoning-back.

What was received in a field goes back in the same field, whole, unless the server is known to want it elsewhere or not
at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.chat_completions.provider_state import CONTENT, REASONING_DETAILS, THINKING_BLOCKS
from partstream.settings.kinds import Choice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.protocols.chat_completions.attachments import Wire
    from partstream.protocols.chat_completions.provider_state import CarriedMessage

__all__ = ["REASONING_CONTENT", "ReasoningBack", "SentBack", "sent_back"]

REASONING_CONTENT: Final = "reasoning_content"

_PLAIN: Final = (REASONING_CONTENT, "reasoning", "reasoning_text")
"""The fields for reasoning as plain text, in the order in which readers prefer them."""
_OTHERS: Final = frozenset({"role", CONTENT, "name", "tool_calls", "tool_call_id", "refusal", "audio", "function_call"})
"""Fields of a message that say something else."""


class ReasoningBack(Choice):
    """Where reasoning goes that a server gave, in later requests to the same model."""

    AUTO = "auto", "Where the server is known to want it, else into the field in which it came"
    RECEIVED = "received", "Into the field in which it came"
    REASONING_CONTENT = REASONING_CONTENT, "Into `reasoning_content`"
    REASONING = "reasoning", "Into `reasoning`"
    TAGS = "tags", "Into the text, between `<think>` and `</think>`"
    OFF = "off", "Nowhere"


@dataclass(frozen=True, slots=True)
class SentBack:
    """What a message takes back.

    Attributes:
        fields: Fields of the message.
        opening: What stands before its text.
        parts: The parts of the content before its text.
    """

    fields: Mapping[str, Any] = field(default_factory=dict)
    opening: str = ""
    parts: tuple[Wire, ...] = ()


def sent_back(carried: CarriedMessage, back: ReasoningBack) -> SentBack:
    """What a message takes back, given what was carried to it."""
    extra: Wire = {"extra_content": dict(carried.extra)} if carried.extra else {}
    if back is ReasoningBack.OFF:
        return SentBack(extra)
    plain = "\n\n".join(text for name in _PLAIN if (text := carried.fields.get(name, "")))
    received: Wire = {name: text for name, text in carried.fields.items() if name not in _OTHERS}
    others = {name: text for name, text in received.items() if name not in _PLAIN}
    opening = carried.fields.get(CONTENT, "")
    if back is ReasoningBack.TAGS:
        opening = opening or (f"<think>{plain}</think>\n\n" if plain else "")
        return SentBack(others | extra, opening)
    if carried.details:  # the whole list, and then no plain text (docs/wires/chat-completions.md#reasoning-details)
        received = others | {REASONING_DETAILS: [dict(entry) for entry in carried.details]}
    elif back in _FIELDS:
        received = others | ({_FIELDS[back]: plain} if plain else {})
    if carried.blocks:
        received[THINKING_BLOCKS] = [dict(block) for block in carried.blocks]
    return SentBack(received | extra, opening, tuple(dict(part) for part in carried.parts))


_FIELDS: Final = {
    ReasoningBack.REASONING_CONTENT: REASONING_CONTENT,
    ReasoningBack.REASONING: "reasoning",
}
