"""Writes texts, images and files as content blocks (docs/wires/anthropic-messages.md#images-and-files).

A text of white space alone is no block: servers refuse it, and gateways refuse the request behind it for ever.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

from partstream.conversation.media import MediaKind
from partstream.conversation.pairing import MISSING_RESULT
from partstream.conversation.turns import Attachment, Text
from partstream.errors import RequestNotExpressibleError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from partstream.conversation.turns import Result, ResultContent
    from partstream.protocols.anthropic_messages.server_rules import ServerRules

__all__ = ["Wire", "input_blocks", "result_block", "takes", "text_blocks"]

Wire: TypeAlias = dict[str, Any]
"""A JSON object of the wire."""

_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_PDF: Final = "application/pdf"


def text_blocks(value: str) -> list[Wire]:
    """A text as the blocks that it makes: one, or none for white space alone."""
    return [{"type": "text", "text": value}] if value.strip() else []


def takes(piece: Attachment, rules: ServerRules) -> bool:
    """Whether the server takes an image or a file."""
    if piece.url and not rules.fetches:
        return False
    if piece.kind is MediaKind.IMAGE:
        return rules.takes_images and piece.media_type in _IMAGES
    return rules.takes_documents and piece.media_type == _PDF


def input_blocks(pieces: Iterable[ResultContent], rules: ServerRules) -> list[Wire]:
    """What a user says, or a tool gave, as blocks.

    Raises:
        RequestNotExpressibleError: The server does not take an image or a file.
    """
    blocks: list[Wire] = []
    for piece in pieces:
        blocks += text_blocks(piece.value) if isinstance(piece, Text) else [_attachment(piece, rules)]
    return blocks


def result_block(result: Result, rules: ServerRules) -> Wire:
    """The result of a tool; one without content is legal, and one that is missing counts as an error.

    What the server does not take of it is said in words: the model asked for it, and can look for another way.
    """
    content = input_blocks((_sayable(piece, rules) for piece in result.content), rules)
    block: Wire = {"type": "tool_result", "tool_use_id": result.call_id}
    if content:
        block["content"] = content[0]["text"] if len(content) == 1 and content[0]["type"] == "text" else content
    if result.is_error or result.content == (Text(MISSING_RESULT),):
        block["is_error"] = True
    return block


def _sayable(piece: ResultContent, rules: ServerRules) -> ResultContent:
    if isinstance(piece, Text) or takes(piece, rules):
        return piece
    return Text(f"[{piece.media_type}, which cannot be shown]")


def _attachment(piece: Attachment, rules: ServerRules) -> Wire:
    if not takes(piece, rules):
        _refuse(piece, rules)
    kind = "image" if piece.kind is MediaKind.IMAGE else "document"
    if piece.url:
        return {"type": kind, "source": {"type": "url", "url": piece.url}}
    data = b64encode(piece.data).decode()
    return {"type": kind, "source": {"type": "base64", "media_type": piece.media_type, "data": data}}


def _refuse(piece: Attachment, rules: ServerRules) -> NoReturn:
    got = f"the address of {piece.media_type}" if piece.url else f"{len(piece.data):,} bytes of {piece.media_type}"
    if piece.url and not rules.fetches:
        expected = "the file itself: this server fetches none"
    else:
        images = ", ".join(sorted(one.removeprefix("image/") for one in _IMAGES))
        taken = ["text", *([f"images ({images})"] if rules.takes_images else [])]
        expected = " or ".join([*taken, *(["PDF files"] if rules.takes_documents else [])])
    raise RequestNotExpressibleError(got, piece.where, expected)
