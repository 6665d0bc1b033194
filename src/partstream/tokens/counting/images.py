"""Reads the dimensions of an image from its header; decodes no pixels and knows no tokens.

Sources: the PNG specification (third edition, 11.2.1), JPEG (ITU-T T.81, B.2), GIF89a (18), and the WebP container
specification (RFC 9649, 2.5 to 2.7).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Dimensions", "read_dimensions"]


class Dimensions(NamedTuple):
    """The size of an image in pixels; both are greater than zero."""

    width: int
    height: int


def read_dimensions(data: bytes) -> Dimensions | None:
    """The size of a PNG, JPEG, GIF or WebP image; None for a damaged or cut header, or another format."""
    for signature, read in _READERS:
        if data.startswith(signature):
            found = read(data)
            return found if found is not None and found.width > 0 and found.height > 0 else None
    return None


def _number(data: bytes, start: int, length: int) -> int:
    """A big-endian number; 0 if the data ends before the number does."""
    field = data[start : start + length]
    return int.from_bytes(field, "big") if len(field) == length else 0


def _little(data: bytes, start: int, length: int) -> int:
    """A little-endian number; 0 if the data ends before the number does."""
    field = data[start : start + length]
    return int.from_bytes(field, "little") if len(field) == length else 0


def _png(data: bytes) -> Dimensions | None:
    if data[12:16] != b"IHDR":
        return None
    return Dimensions(_number(data, 16, 4), _number(data, 20, 4))


def _gif(data: bytes) -> Dimensions | None:
    return Dimensions(_little(data, 6, 2), _little(data, 8, 2))


_STANDALONE: Final = frozenset({0x01, *range(0xD0, 0xD9)})
"""JPEG markers without a length: TEM, RSTn, SOI."""

_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""JPEG markers that start a frame (SOFn), which holds the size: the whole range except DHT, JPG and DAC."""

_SCAN_ENDS: Final = frozenset({0xD9, 0xDA})
"""EOI and SOS: the pixels start, and no frame came before them."""


def _jpeg(data: bytes) -> Dimensions | None:
    place = 2
    while place + 1 < len(data):
        if data[place] != 0xFF:
            return None
        marker = data[place + 1]
        if marker == 0xFF:  # fill bytes may stand before a marker
            place += 1
        elif marker in _STANDALONE:
            place += 2
        elif marker in _FRAMES:
            return Dimensions(_number(data, place + 7, 2), _number(data, place + 5, 2))
        elif marker in _SCAN_ENDS:
            return None
        else:
            length = _number(data, place + 2, 2)
            if length < 2:
                return None
            place += 2 + length
    return None


def _webp(data: bytes) -> Dimensions | None:
    read = _WEBP_FORMS.get(data[12:16])
    return read(data) if read is not None and data[8:12] == b"WEBP" else None


def _webp_lossy(data: bytes) -> Dimensions | None:
    if data[23:26] != b"\x9d\x01\x2a":  # the start code of a key frame
        return None
    return Dimensions(_little(data, 26, 2) & 0x3FFF, _little(data, 28, 2) & 0x3FFF)


def _webp_lossless(data: bytes) -> Dimensions | None:
    if data[20:21] != b"\x2f" or len(data) < 25:
        return None
    bits = _little(data, 21, 4)
    return Dimensions((bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1)


def _webp_extended(data: bytes) -> Dimensions | None:
    if len(data) < 30:
        return None
    return Dimensions(_little(data, 24, 3) + 1, _little(data, 27, 3) + 1)


_WEBP_FORMS: Final[dict[bytes, Callable[[bytes], Dimensions | None]]] = {
    b"VP8 ": _webp_lossy,
    b"VP8L": _webp_lossless,
    b"VP8X": _webp_extended,
}

_READERS: Final[tuple[tuple[bytes, Callable[[bytes], Dimensions | None]], ...]] = (
    (b"\x89PNG\r\n\x1a\n", _png),
    (b"\xff\xd8", _jpeg),
    (b"GIF87a", _gif),
    (b"GIF89a", _gif),
    (b"RIFF", _webp),
)
"""The first bytes of each format, and the function that reads its header."""
