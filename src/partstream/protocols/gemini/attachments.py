"""Images and files as parts of a Gemini request; source: docs/wires/gemini.md#contents."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.conversation.turns import Attachment, Result, Text, TurnRole
from partstream.errors import RequestNotExpressibleError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from partstream.conversation.turns import Piece, Turn

__all__ = ["Wire", "file_part", "fits_into_response", "takes", "within_limit"]

Wire: TypeAlias = dict[str, Any]
"""A JSON object of the wire."""

_IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"})
_IN_RESPONSES: Final = frozenset({"image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"})
_TAKEN: Final = ("audio/", "video/", "text/")
_EXPECTED: Final = "text, PDF, sound, video, or an image as PNG, JPEG, WebP or HEIC"


def takes(piece: Attachment) -> bool:
    """Whether the models take files of this type."""
    return piece.media_type in _IMAGES or piece.media_type == "application/pdf" or piece.media_type.startswith(_TAKEN)


def fits_into_response(piece: Attachment) -> bool:
    """Whether a file may stand inside the result of a tool, at models that take files there."""
    return piece.media_type in _IN_RESPONSES and not piece.url


def file_part(piece: Attachment) -> Wire:
    """The part for an image or another file: its bytes, or its address, which the server fetches.

    Raises:
        RequestNotExpressibleError: The models take no files of this type.
    """
    if not takes(piece):
        what = f"a file of {piece.media_type}" if piece.url else f"{len(piece.data):,} bytes of {piece.media_type}"
        raise RequestNotExpressibleError(what, piece.where, _EXPECTED)
    if piece.url:
        return {"fileData": {"mimeType": piece.media_type, "fileUri": piece.url}}
    return {"inlineData": {"mimeType": piece.media_type, "data": b64encode(piece.data).decode()}}


def within_limit(turns: Sequence[Turn], most: int) -> tuple[Turn, ...]:
    """The turns with words in place of files that the request has no room for, and of those that no model takes.

    The newest files stay. What the user has just said stays whole: where that alone is too large, nothing can be sent.

    Args:
        turns: The conversation.
        most: The most bytes of all files together, in base64.

    Raises:
        RequestNotExpressibleError: The files of the last message of the user are larger.
    """
    last = max((turn.message for turn in turns if turn.role is TurnRole.USER), default=None)
    room = _Room(most)
    kept = [room.fill(turn, is_last=turn.message == last) for turn in reversed(turns)]
    return tuple(reversed(kept))


class _Room:
    """The bytes that are left in a request.

    Args:
        most: All bytes.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._used = 0

    def fill(self, turn: Turn, *, is_last: bool) -> Turn:
        """The turn with the files that there is room for."""
        if not _has_files(turn.content):
            return turn
        is_asked = is_last and turn.role is TurnRole.USER
        pieces = [self._piece(piece, is_asked=is_asked) for piece in reversed(turn.content)]
        return replace(turn, content=tuple(reversed(pieces)))

    def _piece(self, piece: Piece, *, is_asked: bool) -> Piece:
        if isinstance(piece, Attachment):
            return self._file(piece, is_asked=is_asked)
        if isinstance(piece, Result):
            content = [
                self._file(one, is_asked=False) if isinstance(one, Attachment) else one
                for one in reversed(piece.content)
            ]
            return replace(piece, content=tuple(reversed(content)))
        return piece

    def _file(self, piece: Attachment, *, is_asked: bool) -> Attachment | Text:
        """The file, or words in its place.

        Args:
            piece: The file.
            is_asked: Whether the user has just given it. Another one that no model takes is worth a word: a tool or
                another model gave it, or it was given to another model, and the conversation goes on.
        """
        if not takes(piece) and not is_asked:
            return Text(f"[{piece.media_type}, which cannot be shown]")
        self._used += (len(piece.data) + 2) // 3 * 4
        if self._used <= self._most:
            return piece
        if is_asked:
            what = f"files of {self._used:,} bytes in base64"
            raise RequestNotExpressibleError(what, piece.where, f"at most {self._most:,} in one request")
        return Text(f"[{piece.media_type}, left out: the files of this conversation are too large for one request]")


def _has_files(pieces: Iterable[Piece]) -> bool:
    return any(
        isinstance(piece, Attachment)
        or (isinstance(piece, Result) and any(isinstance(one, Attachment) for one in piece.content))
        for piece in pieces
    )
