"""Reads the one piece of text in which a chunk differs from the chunk before it, without reading the rest.

A chunk is some 300 bytes of JSON around a word. Nearly all chunks of an answer are the same bytes but for that word
and, at OpenAI, a padding of random length. What stands before and behind the word was understood once, so that only the
word is decoded.

This is no guess: where the bytes around a complete JSON string are the same, the document is the same but for that
string (RFC 8259 section 7: a string ends with its first quotation mark that no backslash hides).
"""

from __future__ import annotations

import re
import string
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from partstream.codec.json_codec import DECODE_ERRORS, make_text_decoder

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ChunkTemplate", "make_chunk_template"]

_STRING: Final = rb'("(?:[^"\\]|\\.)*+")'
_PADDING: Final = re.compile(rb'"obfuscation":\s*"([\w-]*)(".*)', re.DOTALL)
"""OpenAI hides the length of a word with letters and digits: `stream_options.include_obfuscation`."""
_LETTERS: Final = string.ascii_letters.encode() + string.digits.encode() + b"_-"
_NOTHING: Final = b"\0"
"""No JSON text begins with it."""
_TRIES: Final = 8
"""How many templates in a row may fit no chunk: a server that gives each chunk another id never sends two alike."""

_decode_text = make_text_decoder()


class ChunkTemplate(NamedTuple):
    """The bytes around the text of a chunk.

    Attributes:
        read: Returns the text of a chunk that differs from the one that was learned in nothing else, None for any
            other; raises one of the decode errors where what stands in its place is no JSON text.
        learn: Takes a chunk that was read another way, and the text that is all it says.
    """

    read: Callable[[bytes], str | None]
    learn: Callable[[bytes, str], None]


def make_chunk_template(field: str) -> ChunkTemplate:
    """Makes the template of the chunks with a text in one field; it fits none before it has learned one.

    Its state is that of two functions, because a method would take half as long again to reach it.
    """
    where = re.compile(b'"%b":\\s*%b' % (re.escape(field.encode()), _STRING), re.DOTALL)
    decode, letters = _decode_text, _LETTERS
    head, tries = _NOTHING, 0
    behind, end = b"", b""  # what follows the text: all of it, or what stands before and behind the padding

    def read(chunk: bytes) -> str | None:
        nonlocal tries
        tail = chunk.removeprefix(head)
        if tail is chunk:
            return None
        text, _, rest = tail.partition(behind)
        if rest != end and (not end or rest.translate(None, letters) != end or not rest.endswith(end)):
            return None
        tries = 0
        return decode(text)  # of a chunk that goes on otherwise, the text is all the rest, and no JSON

    def learn(chunk: bytes, text: str) -> None:
        nonlocal head, behind, end, tries
        if tries >= _TRIES:
            return
        tries += 1
        places = list(islice(where.finditer(chunk), 2))
        if len(places) != 1 or not _says(places[0][1], text):
            return
        head, behind, end = chunk[: places[0].start(1)], chunk[places[0].end(1) :], b""
        padding = _PADDING.search(behind)
        if padding is not None and padding[2].translate(None, letters) == padding[2]:
            behind, end = behind[: padding.start(1)], padding[2]

    return ChunkTemplate(read, learn)


def _says(token: bytes, text: str) -> bool:
    try:
        return _decode_text(token) == text
    except DECODE_ERRORS:
        return False
