"""Makes data parts of the images that models draw: base64 without a media type (docs/wires/ollama.md#lines)."""

from __future__ import annotations

from base64 import b64decode
from typing import Final

from partstream.conversation.media import sniff
from partstream.parts import DataPart, unchecked_part

__all__ = ["image_part"]

_UNKNOWN: Final = "application/octet-stream"
_DATA_URL: Final = "data:"


def image_part(value: object) -> DataPart | None:
    """The image that an element of `images` is, of the type that its first bytes show; None for what is no base64.

    Emulators put `data:` URLs there.
    """
    if not isinstance(value, str):
        return None
    said = value.partition(",")[2] if value[:5].lower() == _DATA_URL else value
    try:
        data = b64decode(said, validate=True)
    except ValueError:
        return None
    return unchecked_part(DataPart, data, sniff(data) or _UNKNOWN) if data else None
