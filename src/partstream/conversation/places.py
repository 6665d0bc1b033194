"""Where an item of an answer stood: how it is counted while the answer comes, and how it is found again in a message.

Hosts join the texts of an answer and give them back before its calls (observed in Copilot 0.67), so that only a place
tells that thinking, or a signature, stood between two of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.turns import Attachment, Call, Text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.conversation.turns import Piece

__all__ = ["PLACE", "AnswerPlace", "Spot", "follows_text", "split_text", "spot_of"]

PLACE: Final = "after"
"""The field of an item that says its place: `[calls before it, characters of text after the last of them]`.

Before 0.9, the second was a boolean: whether any text stood there. It is still read, and means behind all of that text.
"""


class AnswerPlace:
    """The place of the next item of an answer; sees every text and call before it, in order.

    White space at the beginning of an answer does not count, because hosts remove it.
    """

    __slots__ = ("_calls", "_characters", "_has_begun")

    def __init__(self) -> None:
        self._calls = 0
        self._characters = 0
        self._has_begun = False

    def add_text(self, text: str) -> None:
        """Goes on behind a text."""
        if not self._has_begun:
            text = text.lstrip()
            self._has_begun = bool(text)
        self._characters += len(text)

    def add_call(self) -> None:
        """Goes on behind a call."""
        self._calls += 1
        self._characters = 0
        self._has_begun = True

    @property
    def value(self) -> list[int]:
        """The place as :data:`PLACE` says it."""
        return [self._calls, self._characters]


@dataclass(frozen=True, slots=True, order=True)
class Spot:
    """A spot in the pieces of a message.

    Attributes:
        index: The index of the piece before which it is, or in which it is.
        characters: The number of characters of the text at that index that stand before it; 0 before the piece.
    """

    index: int
    characters: int = 0


def split_text(text: Text, characters: int) -> tuple[Text, Text]:
    """The text in two, the first with so many characters; half a JSON document is none."""
    first, second = text.value[:characters], text.value[characters:]
    return replace(text, value=first, is_json=False), replace(text, value=second, is_json=False)


def follows_text(item: Mapping[str, Any]) -> bool:
    """Tells whether the place of an item counts characters, so that another text would mean another place."""
    place = _place_of(item)
    return place is not None and type(place[1]) is int and place[1] > 0


def spot_of(content: Sequence[Piece], item: Mapping[str, Any]) -> Spot:
    """The spot in the pieces of a message where an item stood: the beginning if it does not say.

    A place behind more than there is means the end of what there is.
    """
    place = _place_of(item)
    if place is None:
        return Spot(0)
    calls, text = place
    index = 0
    while calls > 0 and index < len(content):
        calls -= isinstance(content[index], Call)
        index += 1
    return _behind_texts(content, index) if isinstance(text, bool) and text else _behind(content, index, text)


def _place_of(item: Mapping[str, Any]) -> tuple[int, int] | None:
    match item.get(PLACE):
        case [int(calls), bool() | int() as text] if type(calls) is int:
            return calls, text
        case _:
            return None


def _behind_texts(content: Sequence[Piece], index: int) -> Spot:
    while index < len(content) and isinstance(content[index], Text):
        index += 1
    return Spot(index)


def _behind(content: Sequence[Piece], index: int, characters: int) -> Spot:
    """The spot behind so many characters of the texts from an index on, up to the next call."""
    while characters > 0 and index < len(content):
        piece = content[index]
        if not isinstance(piece, Text | Attachment):
            break
        if isinstance(piece, Text):
            ignored = 0 if any(map(_begins, content[:index])) else len(piece.value) - len(piece.value.lstrip())
            if ignored + characters < len(piece.value):
                return Spot(index, ignored + characters)
            characters -= len(piece.value) - ignored
        index += 1
    return Spot(index)


def _begins(piece: Piece) -> bool:
    """Whether an answer has begun with this piece, so that white space behind it counts."""
    return isinstance(piece, Call) or (isinstance(piece, Text) and not piece.value.isspace())
