"""Strings as they stand in JSON: their text, and another text in its place, escape for escape, byte for byte."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["read_raw", "write_raw"]

_ESCAPE: Final = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|\\", re.DOTALL
)
_PAIR_LENGTH: Final = 12
_UNIT_LENGTH: Final = 6
_KNOWN: Final = b'"\\/bfnrt'
_SHORT: Final = {b"n": "\n", b"r": "\r", b"t": "\t", b"b": "\b", b"f": "\f"}


def read_raw(raw: bytes) -> str:
    """The text of a string as it stands between its quotation marks; bytes that are no UTF-8 stay apart as surrogates.

    A surrogate pair in escapes is one character; an escape that JSON does not know is what follows its backslash.
    """
    if b"\\" not in raw:
        return raw.decode(errors="surrogateescape")
    pieces, end = [], 0
    for escape in _ESCAPE.finditer(raw):
        pieces.append(raw[end : escape.start()].decode(errors="surrogateescape"))
        pieces.append(_meaning(escape[0]))
        end = escape.end()
    pieces.append(raw[end:].decode(errors="surrogateescape"))
    return "".join(pieces)


def write_raw(raw: bytes, text: str) -> bytes:
    """The string with another text in it, which has as many characters, each as long in UTF-8 as the one before.

    Each escape keeps its form. One of two characters, such as `\\n`, stays as it is.
    """
    if b"\\" not in raw:
        return _literal(raw, text)
    pieces, end, at = [], 0, 0
    for escape in _ESCAPE.finditer(raw):
        between = len(raw[end : escape.start()].decode(errors="surrogateescape"))
        pieces.append(_literal(raw[end : escape.start()], text[at : at + between]))
        at += between
        length = len(_meaning(escape[0]))
        pieces.append(_escaped(escape[0], text[at : at + length]))
        at += length
        end = escape.end()
    pieces.append(_literal(raw[end:], text[at:]))
    return b"".join(pieces)


def _literal(raw: bytes, text: str) -> bytes:
    """Text without escapes; a byte that is no UTF-8 stays, whatever stands for it."""
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        before = raw.decode(errors="surrogateescape")
        whole = (old if "\ud800" <= new <= "\udfff" else new for old, new in zip(before, text, strict=True))
        return "".join(whole).encode(errors="surrogateescape")


def _meaning(escape: bytes) -> str:
    if len(escape) == _PAIR_LENGTH:
        return _unit_pair(escape)
    if len(escape) == _UNIT_LENGTH:
        return chr(int(escape[2:], 16))
    if len(escape) == 1:
        return "\\"
    return _SHORT.get(escape[1:]) or escape[1:].decode("latin-1")


def _unit_pair(escape: bytes) -> str:
    units = bytes.fromhex((escape[2:6] + escape[8:12]).decode())
    return units.decode("utf-16-be")


def _escaped(escape: bytes, text: str) -> bytes:
    if len(escape) == _PAIR_LENGTH:
        units = text.encode("utf-16-be").hex()
        return f"\\u{units[:4]}\\u{units[4:]}".encode()
    if len(escape) == _UNIT_LENGTH and text != _meaning(escape):
        return f"\\u{ord(text):04x}".encode()
    if len(escape) == 2 and escape[1:] not in _KNOWN and text.isascii():
        return b"\\" + text.encode()
    return escape
