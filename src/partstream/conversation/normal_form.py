"""Converts messages into turns; leaves out only empty texts and the host's marks.

A table converts the parts by their class; other modules handle thinking and ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from partstream.conversation.greeting import leading_instructions
from partstream.conversation.media import MediaKind, read_media
from partstream.conversation.texts import well_formed
from partstream.conversation.turns import Attachment, Call, Note, Result, Text, Turn, TurnRole
from partstream.lm.messages import Role
from partstream.lm.parts import (
    KNOWN_MARKS,
    DataPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    is_mark,
    row_of_class,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from partstream.conversation.turns import Piece, ResultContent
    from partstream.lm.messages import ChatMessage
    from partstream.lm.parts import MessagePart, ToolResultContent

__all__ = ["read_turns"]


class _Placed(NamedTuple):
    """A piece, and the role of the turn to which it belongs."""

    role: TurnRole
    piece: Piece


_Notes: TypeAlias = list[Note]

_SPEAKERS: Final = {Role.SYSTEM: TurnRole.SYSTEM, Role.USER: TurnRole.USER, Role.ASSISTANT: TurnRole.ASSISTANT}
_SHOWN_BY: Final = {TurnRole.SYSTEM: TurnRole.USER}
"""The role of images and files in messages of a role that allows only text."""
_JSON_SUFFIXES: Final = ("/json", "+json")


def read_turns(messages: Sequence[ChatMessage]) -> tuple[list[Turn], list[Note]]:
    """The turns of a conversation in order, with the given ids and names; and notes.

    Consecutive results form one turn. Thinking is left out: it goes back in another way, or not at all.
    """
    turns: list[Turn] = []
    notes: _Notes = []
    instructions = leading_instructions(messages)
    for number, message in enumerate(messages):
        speaker = TurnRole.SYSTEM if number < instructions else _SPEAKERS[message.role]
        run: list[Piece] = []
        role = speaker
        for place, part in enumerate(message.content):
            placed = row_of_class(_CONVERTERS, part)(part, speaker, f"messages[{number}].content[{place}]", notes)
            if placed is None:
                continue
            if placed.role is not role:
                _end_run(turns, role, run, number)
                role, run = placed.role, []
            run.append(placed.piece)
        _end_run(turns, role, run, number)
    return turns, notes


def _end_run(turns: list[Turn], role: TurnRole, run: Iterable[Piece], number: int) -> None:
    content = tuple(run)
    if content:
        turns.append(Turn(role, content, number))


def _text(part: TextPart, speaker: TurnRole, _where: str, _notes: _Notes) -> _Placed | None:
    return _Placed(speaker, Text(well_formed(part.value))) if part.value else None


def _data(part: DataPart, speaker: TurnRole, where: str, notes: _Notes) -> _Placed | None:
    content = _content(part, where, notes)
    if isinstance(content, Attachment):
        return _Placed(_SHOWN_BY.get(speaker, speaker), content)
    return None if content is None else _Placed(speaker, content)


def _thinking(_part: ThinkingPart, _speaker: TurnRole, _where: str, _notes: _Notes) -> None:
    """Leaves reasoning out: it is not the assistant's text, and sending it as text teaches the model to think aloud."""


def _call(part: ToolCallPart, _speaker: TurnRole, where: str, _notes: _Notes) -> _Placed:
    return _Placed(TurnRole.ASSISTANT, Call(part.call_id, part.name, part.input, where))


def _result(part: ToolResultPart, _speaker: TurnRole, where: str, notes: _Notes) -> _Placed:
    pieces = (_content(piece, f"{where}.content[{place}]", notes) for place, piece in enumerate(part.content))
    content = tuple(piece for piece in pieces if piece is not None)
    return _Placed(TurnRole.TOOL, Result(part.call_id, "", content, part.is_error, where))


_CONVERTERS: Final[dict[type[MessagePart], Callable[..., _Placed | None]]] = {
    TextPart: _text,
    ThinkingPart: _thinking,
    DataPart: _data,
    ToolCallPart: _call,
    ToolResultPart: _result,
}
"""The converters by part class; a converter returns None for a part that is left out."""


def _content(part: ToolResultContent, where: str, notes: _Notes) -> ResultContent | None:
    if isinstance(part, TextPart):
        return Text(well_formed(part.value)) if part.value else None
    if is_mark(part.mime_type):
        if part.mime_type not in KNOWN_MARKS:
            notes.append(Note(f"data of the unknown type {part.mime_type[:80]!r}, kept out of the prompt", where))
        return None
    media = read_media(part)
    if media.kind is MediaKind.TEXT:
        return Text(media.text, media.media_type.endswith(_JSON_SUFFIXES)) if media.text else None
    data = b"" if media.url else part.data
    return Attachment(media.kind, media.media_type, data, where, media.url)
