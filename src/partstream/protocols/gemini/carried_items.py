"""What a Gemini model wants back of its answer: the shape of the items that carry it through the conversation.

A model signs parts of its answer, and refuses or loses its train of thought where a signature does not come back at
exactly the part that had it (docs/wires/gemini.md#signatures). The items of one answer are, in order, in the metadata
of its thinking (:data:`partstream.conversation.reasoning.ITEMS`) and come back in requests to the same upstream and
model as :class:`partstream.conversation.turns.Reasoning`. They have `"type": "gemini-part"` and one of these forms::

    {"toolCallId": ID, "given": BOOL, "thoughtSignature": S}   the call handed out under this id: whether
                                                               the server gave the id, and the signature, if any
    {"textLength": NUMBER, "checksum": C,                      the NUMBER characters of text right before the item were
     "thoughtSignature": S}                                    one signed part; 0 for an empty text
    {"file": NUMBER, "thoughtSignature": S}                    the file of this number, from 0, among those that the
                                                               answer handed out
    {"part": PART, "textLength": NUMBER, "checksum": C}        a part that is sent back as it came, at this place: code
                                                               and tools that the server ran, a signed thought. It takes
                                                               the place of the NUMBER characters of text right before
                                                               the item, which show it; without it, of none

A call without a signature whose id was made here has no item. The checksum is that of the text
(:func:`partstream.protocols.read_response.checksum`): a text that somebody has edited is not the one that was signed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "CHECKSUM",
    "FILE",
    "GIVEN",
    "ITEM_TYPE",
    "PART",
    "SIGNATURE",
    "TEXT_LENGTH",
    "TOOL_CALL_ID",
    "CarriedItem",
    "CarriedPart",
    "SignedFile",
    "SignedText",
    "StateOfCall",
    "read_item",
    "usable_signature",
]

ITEM_TYPE: Final = "gemini-part"
"""The type of every item: it belongs to a part before it or stands for itself, and needs no piece that follows."""
TOOL_CALL_ID: Final = "toolCallId"
GIVEN: Final = "given"
SIGNATURE: Final = "thoughtSignature"
TEXT_LENGTH: Final = "textLength"
CHECKSUM: Final = "checksum"
FILE: Final = "file"
PART: Final = "part"


@dataclass(frozen=True, slots=True)
class StateOfCall:
    """What a call takes back.

    Attributes:
        call_id: The id under which the call was handed out.
        is_given: Whether the server gave the id: then it goes back with both (docs/wires/gemini.md#call-ids).
        signature: The signature of the part, or None.
    """

    call_id: str
    is_given: bool
    signature: str | None


@dataclass(frozen=True, slots=True)
class SignedText:
    """The signature of a text.

    Attributes:
        length: The characters right before the item that were one part; 0 for an empty text.
        signature: The signature.
        checksum: The checksum of those characters; None if the item does not say it.
    """

    length: int
    signature: str
    checksum: int | None = None


@dataclass(frozen=True, slots=True)
class SignedFile:
    """The signature of an image or another file.

    Attributes:
        number: Its number among the files of the answer, from 0.
        signature: The signature.
    """

    number: int
    signature: str


@dataclass(frozen=True, slots=True)
class CarriedPart:
    """A part that is sent back as it came.

    Attributes:
        part: The part.
        length: The characters right before the item that show it, in whose place it is sent.
        checksum: The checksum of those characters; None if the item does not say it.
    """

    part: Mapping[str, Any]
    length: int = 0
    checksum: int | None = None


CarriedItem: TypeAlias = StateOfCall | SignedText | SignedFile | CarriedPart


def usable_signature(value: Any) -> str | None:
    """A signature, or None: an empty one is refused as corrupted (docs/wires/gemini.md#signatures)."""
    return value if isinstance(value, str) and value else None


def read_item(item: Mapping[str, Any]) -> CarriedItem | None:
    """What an item says; None for an item of another protocol, or one that says nothing."""
    signature = usable_signature(item.get(SIGNATURE))
    call_id, part = item.get(TOOL_CALL_ID), item.get(PART)
    if item.get("type") != ITEM_TYPE:
        return None
    if isinstance(call_id, str):
        return StateOfCall(call_id, item.get(GIVEN) is True, signature)
    length, number, checksum = (_count(item.get(name)) for name in (TEXT_LENGTH, FILE, CHECKSUM))
    if isinstance(part, dict) and part:
        return CarriedPart(part, length or 0, checksum)
    if signature is not None and length is not None:
        return SignedText(length, signature, checksum)
    return SignedFile(number, signature) if signature is not None and number is not None else None


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None
