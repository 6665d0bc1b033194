"""Makes parts of the files of an answer: bytes in the stream, or an address (docs/wires/gemini.md#parts)."""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING, Final

from partstream.conversation.media import sniff
from partstream.parts import DataPart, unchecked_part
from partstream.protocols.citations import linked_file
from partstream.protocols.read_response import identifier, text

if TYPE_CHECKING:
    from partstream.outputs import FileMode
    from partstream.parts import ResponsePart
    from partstream.protocols.read_response import Wire

__all__ = ["inline_file", "named_file"]

_UNKNOWN: Final = "application/octet-stream"


def inline_file(blob: Wire) -> DataPart | None:
    """The part of an `inlineData`; None where its bytes cannot be read.

    The media type is what the server says; where it says none, what the first bytes show.
    """
    said = text(blob, "data").replace("-", "+").replace("_", "/")
    try:
        data = b64decode(said + "=" * (-len(said) % 4))
    except ValueError:  # not of the alphabet; not ASCII
        return None
    media_type = identifier(blob, "mimeType") or sniff(data) or _UNKNOWN
    return unchecked_part(DataPart, data, media_type) if data else None


def named_file(file: Wire, mode: FileMode) -> ResponsePart | None:
    """The part of a `fileData`; None where no link can hold its address, such as that of a bucket.

    Args:
        file: The object.
        mode: What becomes of an address.
    """
    address = text(file, "fileUri")
    is_web = address.lower().startswith(("http://", "https://"))
    return linked_file(address, mode) if is_web else None
