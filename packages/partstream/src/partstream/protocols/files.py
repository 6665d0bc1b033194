"""The files that a server made, such as pictures and sound, as parts; one rule for all wires.

A server sends a file as base64, in a `data:` URL, or as the address of one. :func:`inline_file` reads the bytes, and
:func:`file_at` an address of either kind. Many servers repeat a file when they close an answer, so :class:`Files` shows
each once. A file that cannot be read is counted, never dropped.
"""

from __future__ import annotations
import hashlib
from base64 import b64decode
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from partstream.codec.text import bare_media_type
from partstream.conversation.citations import linked_file
from partstream.conversation.media import sniff, type_of_file
from partstream.lm.outputs import FileMode, StreamOutput, Unmapped
from partstream.lm.parts import DataPart, ResponsePart, unchecked_part
from partstream.protocols.read_response import JSONObject, identifier, mapping

_URL_ALPHABET: Final = str.maketrans("-_", "+/", "\t\n\v\f\r ")
"""Both alphabets as one; blanks mean nothing, since servers break long texts into lines."""


def read_base64(said: object) -> bytes | None:
    """The bytes of a text in base64, in either alphabet, with or without padding, blanks or breaks of lines; None where
    there are none."""
    if not isinstance(said, str):
        return None
    text = said.translate(_URL_ALPHABET).rstrip("=")
    try:
        return b64decode(text + "=" * (-len(text) % 4), validate=True) or None
    except ValueError:  # not of the alphabet; not ASCII
        return None


def inline_file(said: object, media_type: str | None = None) -> DataPart | None:
    """The part of a file in base64; None where its bytes cannot be read.

    Args:
        said: The text, also one with `data:` before it.
        media_type: What the server says; where it says none, the first bytes show it.
    """
    if isinstance(said, str) and said[:5].lower() == "data:":
        made = _of_data_url(said)
        return (
            made
            if made is None or media_type is None
            else unchecked_part(DataPart, made.data, type_of_file(made.data, media_type))
        )
    data = read_base64(said)
    return None if data is None else unchecked_part(DataPart, data, type_of_file(data, media_type))


def file_at(address: str, mode: FileMode) -> ResponsePart | None:
    """The part of a file at an address: a `data:` URL, or one of the web; None where none can be made.

    Args:
        mode: How an address of the web is rendered.
    """
    if address[:5].lower() == "data:":
        return _of_data_url(address)
    return linked_file(address, mode) if address.lower().startswith(("http://", "https://")) else None


def _of_data_url(url: str) -> DataPart | None:
    head, _, said = url[5:].partition(",")
    data = read_base64(said) if head.lower().endswith(";base64") else unquote_to_bytes(said)
    # What the first bytes show counts: gateways put `image/png` before every picture.
    return (
        unchecked_part(DataPart, data, type_of_file(data, sniff(data) or bare_media_type(head)))
        if data is not None and data
        else None
    )


class Files:
    """The files of one answer, each once.

    Args:
        mode: How a file is rendered of which only the address comes.

    Attributes:
        any_shown: Whether one became a part.
    """

    def __init__(self, mode: FileMode) -> None:
        self._mode = mode
        self._seen: set[bytes] = set()
        self.any_shown = False

    def show(self, said: Any, wire: JSONObject, outputs: list[StreamOutput], media_type: str | None = None) -> None:
        """Shows a file.

        Args:
            said: Its bytes in base64, or its address.
            wire: The object that holds it, which is counted if the file cannot be read.
            outputs: Where the part goes.
            media_type: The server's type for bytes.
        """
        address = said if isinstance(said, str) else ""
        key = hashlib.sha256(address.encode(errors="surrogatepass")).digest()
        if key in self._seen:
            return
        self._seen.add(key)
        is_url = ":" in address[:9]
        made = file_at(address, self._mode) if is_url else inline_file(address, media_type)
        self.any_shown = self.any_shown or made is not None
        outputs.append(made if made is not None else Unmapped("image (not readable)", wire))


def picture_in(part: JSONObject) -> str | None:
    """The address of the picture in a content part, `{"image_url": {"url"}}` and its variants; None without one."""
    names = ("image_url", "url", "b64_json", "data")
    return identifier(mapping(part, "image_url"), "url") or next(
        (found for name in names if (found := identifier(part, name)) is not None), None
    )
