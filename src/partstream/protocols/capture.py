"""Turns captures into the bytes of a stream: unpacks gzip, and splits JSON that does not hold one event in each line.

Takes bytes that somebody else has read.
"""

from __future__ import annotations

import zlib
from json import JSONDecodeError, JSONDecoder
from typing import Any, Final

from partstream.json_codec import dumps

__all__ = ["CaptureError", "as_stream"]

_GZIP: Final = b"\x1f\x8b"
_GZIP_WINDOW: Final = zlib.MAX_WBITS | 16
"""zlib's way to say that the data has the head of gzip."""
_BLANKS: Final = " \t\r\n"
_MARK: Final = b"\xef\xbb\xbf"


class CaptureError(ValueError):
    """A file cannot be unpacked."""


def as_stream(data: bytes, path: str) -> tuple[bytes, str]:
    """The bytes of a stream, and the name by whose ending its framing is told.

    An array of events, or events on several lines each, become one event a line.

    Args:
        data: The file.
        path: Its name.

    Raises:
        CaptureError: It is packed with gzip, and broken.
    """
    if data.startswith(_GZIP):
        data, path = _unpacked(data), path.removesuffix(".gz")
    values = _json_values(data)
    if values is None:
        return data, path
    return b"".join(dumps(value) + b"\n" for value in values), "events.jsonl"


def _unpacked(data: bytes) -> bytes:
    pieces: list[bytes] = []
    while data:
        member = zlib.decompressobj(_GZIP_WINDOW)
        try:
            pieces.append(member.decompress(data))
        except zlib.error as error:
            raise CaptureError(f"broken gzip ({error})") from error
        if not member.eof:
            raise CaptureError("gzip that ends too early")
        data = member.unused_data.lstrip(b"\0")
    return b"".join(pieces)


def _json_values(data: bytes) -> list[dict[str, Any]] | None:
    """The objects of an array, or of JSON that does not hold one event in each line; None for every other form."""
    begins = data.removeprefix(_MARK).lstrip()
    if not begins.startswith((b"[", b"{")):
        return None
    first_line = begins.partition(b"\n")[0]
    if begins.startswith(b"{") and first_line.rstrip().endswith(b"}"):
        return None  # one event a line
    try:
        values = _sequence(begins.decode())
    except (UnicodeDecodeError, JSONDecodeError, RecursionError):
        return None
    flat = [one for value in values for one in (value if isinstance(value, list) else [value])]
    return [one for one in flat if isinstance(one, dict)] or None


def _sequence(text: str) -> list[Any]:
    """The JSON values of a text, one after the other, with or without commas between them."""
    decoder = JSONDecoder()
    values: list[Any] = []
    position = 0
    while position < len(text):
        value, position = decoder.raw_decode(text, position)
        values.append(value)
        while position < len(text) and text[position] in f"{_BLANKS},":
            position += 1
    return values
