"""Makes data parts of a model's files, from every form in which the SDK and JSON write bytes; fetches nothing."""

from __future__ import annotations

import re
from base64 import b64decode
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from partstream.codec.json_codec import JSONDecodeError, is_json, loads
from partstream.conversation.media import sniff
from partstream.outputs import FileMode, StreamOutput, Unmapped
from partstream.parts import DataPart, unchecked_part
from partstream.protocols.ai_sdk.fields import MEDIA_TYPE, Chunk, field, identifier, mapping
from partstream.protocols.citations import linked_file

__all__ = ["data_chunk", "data_part", "file_part"]

_BYTES: Final = ("uint8Array", "uint8ArrayData", "base64", "base64Data", "data", "url")
_WRAPPINGS: Final = 2
_UNKNOWN: Final = "application/octet-stream"
_MEDIA_TYPE: Final = "application/vnd.vercel.{}+json"
_DATA: Final = "data-"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9!#$&^_.-]*")
"""What may stand in a media type: RFC 6838, 4.2."""


def file_part(chunk: Chunk, mode: FileMode) -> StreamOutput:
    """The part of a file chunk; an Unmapped if neither bytes nor an address can be read.

    Args:
        chunk: The chunk.
        mode: What becomes of a file that is an address.
    """
    file = mapping(chunk, ("file",)) or chunk
    media_type = identifier(file, MEDIA_TYPE)
    for name in _BYTES:
        value = _untagged(field(file, (name,)))
        if value is None:
            continue
        address = value if isinstance(value, str) and _is_url(value) else None
        if address is not None and not address.startswith("data:"):
            return linked_file(address, mode) or Unmapped(f"{chunk['type']} (not readable)", chunk)
        data = _from_data_url(address) if address is not None else _bytes(value)
        if data is not None:
            return unchecked_part(DataPart, data, _media_type(media_type, address, data))
    return Unmapped(f"{chunk['type']} (not readable)", chunk)


def data_part(chunk: Chunk) -> StreamOutput:
    """The data part of a `data-NAME` chunk; an Unmapped if its name or value has no form."""
    name, value = chunk["type"].removeprefix(_DATA), chunk.get("data")
    if not _NAME.fullmatch(name) or not is_json(value):
        return Unmapped(chunk["type"], chunk)
    return DataPart.json(value, _MEDIA_TYPE.format(name))


def data_chunk(part: DataPart) -> Chunk | None:
    """The `data-NAME` chunk of a part that came from one, or None."""
    before, after = _MEDIA_TYPE.split("{}")
    name = part.mime_type.removeprefix(before).removesuffix(after)
    if part.mime_type != _MEDIA_TYPE.format(name) or not _NAME.fullmatch(name):
        return None
    try:
        value = loads(part.data)
        is_whole = DataPart.json(value, part.mime_type) == part
    except (JSONDecodeError, TypeError):  # TypeError: a number such as 1e999, which reads as infinite
        return None
    return {"type": _DATA + name, "data": value} if is_whole else None


def _untagged(value: Any) -> Any:
    """What V4 of the provider's interface wraps: `{"type": "data", "data": …}` and `{"type": "url", "url": …}`; and
    what tagged recordings do, also inside of that."""
    for _ in range(_WRAPPINGS):
        inner = field(value, ("$uint8array", "$url", "data", "url")) if isinstance(value, dict) else None
        if inner is None:
            break
        value = inner
    return value


def _is_url(value: str) -> bool:
    return value.startswith(("data:", "http://", "https://"))


def _bytes(value: Any) -> bytes | None:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, str):
        return _from_base64(value)
    if isinstance(value, dict):  # how JSON.stringify writes a Uint8Array: {"0": 137, "1": 80, …}
        value = [value.get(str(place)) for place in range(len(value))]
    if isinstance(value, list) and all(type(byte) is int and 0 <= byte < 256 for byte in value):
        return bytes(value)
    return None


def _from_base64(value: str) -> bytes | None:
    """Decodes base64 in both alphabets, with or without padding, as JavaScript does."""
    compact = "".join(value.split()).replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return b64decode(compact + "=" * (-len(compact) % 4), validate=True)
    except ValueError:  # not of the alphabet; not ASCII
        return None


def _from_data_url(url: str) -> bytes | None:
    head, comma, body = url.partition(",")
    if not comma:
        return None
    if head.endswith(";base64"):
        return _from_base64(unquote_to_bytes(body.encode(errors="replace")).decode(errors="replace"))
    return unquote_to_bytes(body.encode(errors="replace"))


def _media_type(said: str | None, url: str | None, data: bytes) -> str:
    """The stated media type; if it is missing or partial (`image/*`), the type that the first bytes show."""
    named = said or (url or "").removeprefix("data:").partition(",")[0].partition(";")[0]
    if "/" in named and not named.endswith("/*"):
        return named
    return sniff(data) or _UNKNOWN
