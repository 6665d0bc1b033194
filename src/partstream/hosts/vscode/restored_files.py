"""Puts the files of earlier answers in place of the links that :mod:`partstream.hosts.vscode.shown_files` wrote.

Copilot keeps the text of an answer and not its data. So a conversation that comes back holds links: with the files in
their place a model sees the picture that it drew, and no server sees where the file is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from partstream.lm.messages import Role
from partstream.lm.parts import DataPart, TextPart

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from partstream.lm.messages import ChatMessage
    from partstream.lm.parts import MessagePart
    from partstream.runtime.answer_files import KeptFiles

__all__ = ["restored"]

_LINE: Final = re.compile(
    r"(?:\n\n)?\[(?P<type>[^\]\n,]+), (?P<size>[^\]\n]+)\]\((?P<url>file://[^)\s]+)\)(?:\n\n|\n?\Z)"
)
"""A line with a link, and the blank lines around it; hosts strip those at the end of an answer."""
_MOST_BYTES: Final = 20 * 1024 * 1024
"""The most bytes of all files of a conversation: the safe limit of one request (docs/wires/gemini.md#contents)."""


def restored(messages: Sequence[ChatMessage], files: KeptFiles, *, takes_images: bool) -> list[ChatMessage]:
    """The conversation with files in place of the links to them.

    Files that are gone, and those that are too many bytes in all, the oldest first, leave their description.

    Args:
        messages: The conversation as the host has kept it.
        files: Keeps the files.
        takes_images: Whether the model takes images; without that, all files leave their description.
    """
    room = _Room(_MOST_BYTES if takes_images else 0)
    newest_first = [_restored_message(message, files, room) for message in reversed(messages)]
    return newest_first[::-1]


@dataclass(slots=True)
class _Room:
    """How many bytes the files of a conversation may still take."""

    left: int


def _restored_message(message: ChatMessage, files: KeptFiles, room: _Room) -> ChatMessage:
    if message.role is not Role.ASSISTANT:
        return message
    parts: list[MessagePart] = []
    for part in reversed(message.content):
        pieces = [*_pieces(part.value, files, room)] if isinstance(part, TextPart) else [part]
        parts += reversed(pieces)
    return replace(message, content=tuple(reversed(parts)))


def _pieces(text: str, files: KeptFiles, room: _Room) -> Iterator[MessagePart]:
    """The text and the files between it."""
    begin = 0
    for line in _LINE.finditer(text):
        if not files.owns(line["url"]):
            continue
        if line.start() > begin:
            yield TextPart(text[begin : line.start()])
        data = files.find(line["url"], room.left)
        room.left -= len(data or b"")
        yield TextPart(f"[{line['type']}]") if data is None else DataPart(data, line["type"])
        begin = line.end()
    if begin < len(text) or not text:
        yield TextPart(text[begin:])
