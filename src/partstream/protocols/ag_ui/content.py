"""Writes texts and files as the content of AG-UI's messages: a string, or parts with a source.

Source: `ContentPart` and `PartSource` of ag-ui-protocol 1.0.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.texts import joined_texts
from partstream.conversation.turns import Attachment, Text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.conversation.turns import ResultContent

__all__ = ["content_of", "result_content_of"]

_KINDS: Final[Mapping[str, str]] = {"image": "image", "audio": "audio", "video": "video"}
"""The type of a part by the first half of a media type; every other file is a document."""


def content_of(pieces: Sequence[ResultContent]) -> str | list[dict[str, Any]]:
    """The content of a message of the user: one text is a string, which agents of every version take."""
    if len(pieces) == 1 and isinstance(pieces[0], Text):
        return pieces[0].value
    return [_part(piece) for piece in pieces]


def result_content_of(pieces: Sequence[ResultContent]) -> str | list[dict[str, Any]]:
    """The content of a result: a string, unless files are in it."""
    if any(isinstance(piece, Attachment) for piece in pieces):
        return [_part(piece) for piece in pieces]
    return joined_texts(piece.value for piece in pieces if isinstance(piece, Text))


def _part(piece: ResultContent) -> dict[str, Any]:
    if isinstance(piece, Text):
        return {"type": "text", "text": piece.value}
    if piece.url:
        source = {"type": "url", "value": piece.url, "mimeType": piece.media_type}
    else:
        source = {"type": "data", "value": b64encode(piece.data).decode(), "mimeType": piece.media_type}
    return {"type": _KINDS.get(piece.media_type.partition("/")[0], "document"), "source": source}
