"""Turns captures into the bytes of a stream.

Unpacks gzip, takes the heads of HTTP replies off, and splits JSON that does not hold one event in each line.

Takes bytes that somebody else has read.
"""

from __future__ import annotations

import re
import zlib
from json import JSONDecodeError, JSONDecoder
from typing import Any, Final

from partstream.codec.json_codec import begun_object, dumps

__all__ = ["CaptureError", "as_stream"]

_GZIP: Final = b"\x1f\x8b"
_GZIP_WINDOW: Final = zlib.MAX_WBITS | 16
"""zlib's way to say that the data has the head of gzip."""
_BLANKS: Final = " \t\r\n"
_MARK: Final = b"\xef\xbb\xbf"
_HTTP_HEADS: Final = re.compile(
    rb"(?:HTTP/[0-9.]{1,3} [0-9]{3}[^\r\n]*\r?\n(?:[!-9;-~]+:[^\r\n]*\r?\n)*\r?\n)+",
)
"""The heads of HTTP replies before a body, as `curl -i` prints them: that of a redirect or a proxy stands before the
last one."""


class CaptureError(ValueError):
    """A file cannot be unpacked."""


def as_stream(data: bytes, path: str) -> tuple[bytes, str]:
    """The bytes of a stream, and the name by whose ending its framing is told.

    An array of events, or events on several lines each, become one event a line; the last may be cut. The heads of HTTP
    replies before them are left out.

    Args:
        data: The file.
        path: Its name.

    Raises:
        CaptureError: It is packed with gzip, and broken.
    """
    if data.startswith(_GZIP):
        data, path = _unpacked(data), path.removesuffix(".gz")
    if (heads := _HTTP_HEADS.match(data)) is not None:
        data = data[heads.end() :]
    lines = _lines(data)
    return (data, path) if lines is None else (lines, "events.jsonl")


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


def _lines(data: bytes) -> bytes | None:
    """One event a line, of an array or of JSON that does not hold one event in each line; None for every other form.

    What the data breaks off with is the last line, without its end.
    """
    begins = data.removeprefix(_MARK).lstrip()
    if not begins.startswith((b"[", b"{")):
        return None
    first_line = begins.partition(b"\n")[0]
    if begins.startswith(b"{") and first_line.rstrip().endswith(b"}"):
        return None  # one event a line
    try:
        values, rest = _sequence(begins.decode(errors="ignore" if _is_cut_character(begins) else "strict"))
    except (UnicodeDecodeError, RecursionError):
        return None
    objects = [one for one in values if isinstance(one, dict)]
    is_begun = rest.startswith("{") and begun_object(rest.encode()) is not None
    if (rest and not is_begun) or not (objects or (is_begun and begins.startswith(b"["))):
        return None
    return b"".join(dumps(one) + b"\n" for one in objects) + _one_line(rest).encode()


def _one_line(text: str) -> str:
    """The beginning of an object in one line, as events stand in a recording."""
    return text[:1] + text[1:].lstrip().replace("\n", " ").replace("\r", " ")


def _is_cut_character(data: bytes) -> bool:
    """Whether the data ends inside a character, as bytes do that break off."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.end == len(data) and error.reason == "unexpected end of data"
    return False


def _sequence(text: str) -> tuple[list[Any], str]:
    """The JSON values of a text, one after the other, with or without commas between them, and what is no value.

    Of arrays, the elements.
    """
    decoder = JSONDecoder()
    values: list[Any] = []
    depth = position = 0
    while (position := _after_blanks(text, position)) < len(text):
        sign = text[position]
        if sign == "[" and depth == 0:
            depth, position = 1, position + 1
        elif sign == "]" and depth:
            depth, position = 0, position + 1
        else:
            try:
                value, position = decoder.raw_decode(text, position)
            except JSONDecodeError:
                break
            values.append(value)
    return values, text[position:]


def _after_blanks(text: str, position: int) -> int:
    while position < len(text) and text[position] in f"{_BLANKS},":
        position += 1
    return position
