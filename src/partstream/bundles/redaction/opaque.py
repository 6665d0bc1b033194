"""Replaces what people do not read: opaque state and files in base64, of the same length, and still base64."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from typing import Final

from partstream.bundles.redaction.stand_ins import stand_in

__all__ = ["hidden_bytes", "hidden_data_url", "hidden_media", "hidden_state", "is_media"]

_MAGIC: Final = 16
"""The first bytes of a file name its type (docs/wires/practice.md#opaque-state-and-media)."""
_KINDS: Final = (
    re.compile(rb"\x89PNG\r\n\x1a\n"),
    re.compile(rb"\xff\xd8\xff"),
    re.compile(rb"GIF8[79]a"),
    re.compile(rb"RIFF.{4}(?:WEBP|WAVE|AVI )", re.DOTALL),
    re.compile(rb".{4}ftyp", re.DOTALL),
    re.compile(rb"II\*\x00|MM\x00\*"),
    re.compile(rb"%PDF-"),
    re.compile(rb"OggS"),
    re.compile(rb"ID3|\xff[\xfb\xf3\xf2]"),
    re.compile(rb"PK\x03\x04"),
    re.compile(rb"\x1f\x8b"),
)
_SHORTER: Final = ((b"\x1f\x8b", 3), (b"ID3", 10))
"""Kinds whose first sixteen bytes may hold a part of the content, such as the name of a file: how many of them stay."""
_WITH_SIZE: Final = re.compile(rb"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR")
_SIZE_END: Final = 24
"""Width and height of a PNG stand behind its first sixteen bytes."""

_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_SHORTEST: Final = 8
_SHORTEST_IN_TEXT: Final = 24
"""Digits of a text that may be a file in base64: less than that is a word."""
_HIDDEN: Final = re.compile(r"[^=\s\"'\\]")
_DATA_URL: Final = re.compile(
    r"(?P<kind>data:[a-z]{0,20}/?[\w.+-]{0,60})(?P<parameters>(?:;[\w.+/%=~!*'()-]{0,200})*?)(?P<mark>;base64,)",
    re.IGNORECASE | re.ASCII,
)
_CHARSET: Final = re.compile(r"(?:;charset=[\w-]{1,20})?", re.IGNORECASE | re.ASCII)
_TO_BASE64: Final = str.maketrans("-_", "+/")


def hidden_bytes(data: bytes) -> bytes:
    """Bytes of a file: the first ones stay if they say its kind, the others become zero."""
    kept = 0
    if any(kind.match(data) for kind in _KINDS):
        kept = _SIZE_END if _WITH_SIZE.match(data) else _MAGIC
        kept = next((most for head, most in _SHORTER if data.startswith(head)), kept)
    return data[:kept] + bytes(max(0, len(data) - kept))


def is_media(text: str, *, in_text: bool = False) -> bool:
    """Whether a text is the base64 of a file whose first bytes say its kind.

    Args:
        text: The text.
        in_text: Whether it stands where people and models write.
    """
    if len(text) < (_SHORTEST_IN_TEXT if in_text else _SHORTEST) or _BASE64.fullmatch(text) is None:
        return False
    head = _head(text)
    return any(kind.match(head) for kind in _KINDS)


def hidden_media(text: str) -> str:
    """A file in base64, of the same length; what is no base64 is hidden like opaque state."""
    if not is_media(text):
        return hidden_state(text)
    head = hidden_bytes(_head(text) + bytes(_SIZE_END))[:_SIZE_END]
    kept = b64encode(head).decode()
    if "-" in text or "_" in text:
        kept = kept.replace("+", "-").replace("/", "_")
    kept = kept[: len(text) // 4 * 4 - 4]
    return kept + hidden_state(text[len(kept) :])


def hidden_state(text: str) -> str:
    """Opaque state: the digit for zero bits in each place; the signs at the end of base64 stay."""
    return _HIDDEN.sub(_zero, text)


def hidden_data_url(text: str) -> str | None:
    """A data URL (RFC 2397) without its content; None for any other text."""
    head = _DATA_URL.match(text)
    if head is None:
        return None
    said = head["parameters"]  # such as the name of a file
    parameters = said if _CHARSET.fullmatch(said) else stand_in(said)
    return head["kind"] + parameters + head["mark"] + hidden_media(text[head.end() :])


def _zero(letter: re.Match[str]) -> str:
    return "A" if letter[0].isascii() else stand_in(letter[0])


def _head(text: str) -> bytes:
    """The first bytes of a base64 text."""
    digits = text[: 4 * _SIZE_END // 3].rstrip("=").translate(_TO_BASE64)
    digits = digits[: len(digits) // 4 * 4]
    return b64decode(digits)
