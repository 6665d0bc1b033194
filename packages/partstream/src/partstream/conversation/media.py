"""Determines the kind of a data part by its first bytes, because its label may be wrong; knows no message and no wire.

VS Code re-encodes images as PNG and keeps their old label (`image/jpeg`), so the label is only the second source. Bytes
that are not text never become text, whatever their label.
"""

from __future__ import annotations
import re
from base64 import b64encode
from enum import StrEnum
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from partstream.codec.text import bare_media_type, late_pattern
from partstream.lm.parts import DataPart, is_of_host


class MediaKind(StrEnum):
    """The kind of input that a model accepts."""

    TEXT = "text"
    IMAGE = "image"
    FILE = "file"


class Media(NamedTuple):
    """The content of a data part.

    Attributes:
        media_type: The true media type, without parameters, in lower case.
        url: The address of an image or a file whose bytes are somewhere else; otherwise empty.
    """

    kind: MediaKind
    media_type: str
    text: str = ""
    url: str = ""


URI_LIST: Final = "text/uri-list"
"""The media type of a part that holds a URL instead of bytes (RFC 2483). In a part of a client that says what is there,
it has a parameter: `text/uri-list;type=image/*`."""
_TYPE: Final = ";type="

_UNKNOWN: Final = "application/octet-stream"

_SIGNATURES: Final[tuple[tuple[int, bytes, str], ...]] = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (4, b"ftypavif", "image/avif"),
    (4, b"ftypheic", "image/heic"),
    (0, b"II*\x00", "image/tiff"),
    (0, b"MM\x00*", "image/tiff"),
    (0, b"BM", "image/bmp"),
    (0, b"%PDF-", "application/pdf"),
    (8, b"WAVE", "audio/wav"),
    (0, b"OggS", "audio/ogg"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"\x1f\x8b", "application/gzip"),
)
"""Offset, signature and media type."""

_CONTAINERS: Final = frozenset({"application/zip", "application/gzip"})
"""Formats that contain other formats: the label is more exact (`application/vnd.openxmlformats-...` is a zip file)."""

_ALIASES: Final = {"image/jpg": "image/jpeg", "application/x-pdf": "application/pdf", "audio/x-wav": "audio/wav"}

_TEXT_SUFFIXES: Final = ("/json", "+json", "/xml", "+xml", "/yaml", "/x-yaml", "/toml", "/javascript", "/sql")
"""Text types outside `text/`, including SVG: no model server accepts SVG as an image."""

_EXTENSIONS: Final = {
    "application/pdf": "pdf",
    "application/zip": "zip",
    "application/gzip": "gz",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
    "audio/mpeg": "mp3",
    "audio/ogg": "ogg",
    "audio/wav": "wav",
    "image/bmp": "bmp",
    "image/svg+xml": "svg",
    "image/tiff": "tiff",
    "video/mp4": "mp4",
}

_CONTROLS: Final = dict.fromkeys([*range(9), 11, *range(14, 27), *range(28, 32)])
"""Characters that text does not contain; tab, line ends, form feed and the terminal's escape character are text."""

_LINKED: Final = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "avif": "image/avif",
    "heic": "image/heic",
    "pdf": "application/pdf",
}
"""What the name of a file at a URL says of it: the only source, because nothing is fetched."""

_ADDRESS: Final = late_pattern(r"https?://[^\s\x00-\x1f]+", re.IGNORECASE)
_ANY_ADDRESS: Final = late_pattern(r"[a-z][a-z0-9+.-]*://[^\s\x00-\x1f]+", re.IGNORECASE)
"""Of a file that its client says to be one, such as `gs://bucket/video`."""
_USUAL: Final = {"image/*": "image/jpeg", "video/*": "video/mp4", "audio/*": "audio/mpeg"}
"""The media type of an address of which only the kind is known: servers that want a type look at the bytes anyway."""


def address_part(url: str, media_type: str = "") -> DataPart:
    """The part of an address; `media_type` is what its client says to be there, such as `image/*`, or empty."""
    return DataPart.text(url, f"{URI_LIST}{_TYPE}{media_type}" if media_type else URI_LIST)


def is_address(part: DataPart) -> bool:
    """Whether a part holds an address in place of bytes."""
    return bare_media_type(part.mime_type) == URI_LIST


def sniff(data: bytes) -> str | None:
    """The media type by the first bytes, or None."""
    head = data[:16]
    for offset, signature, media_type in _SIGNATURES:
        if head.startswith(signature, offset):
            return media_type if _is_plausible(media_type, data) else None
    return None


def type_of_file(data: bytes, stated: str | None) -> str:
    """The media type of a file that a client or a server sends: the stated one, else what the first bytes show. One
    that stands for a mark of the host or for an address is none of a file: what it says would count as the word of the
    host, as state that another model gave, or as an address that was not looked at."""
    if stated and not is_of_host(stated) and not (bare_media_type(stated) == URI_LIST and ";" in stated):
        return stated
    return sniff(data) or _UNKNOWN


def read_media(part: DataPart) -> Media:
    """The content of a data part. Never raises: bytes of an unknown kind are a file."""
    label = bare_media_type(part.mime_type)
    label = _ALIASES.get(label, label)
    if label == URI_LIST and (linked := _linked(part)) is not None:
        return linked
    if label.startswith("text/") or label.endswith(_TEXT_SUFFIXES):
        text = _as_text(part.data)
        if text is not None:
            return Media(MediaKind.TEXT, label, text)
        label = _UNKNOWN
    found = sniff(part.data)
    if found is not None and not (found in _CONTAINERS and label != _UNKNOWN):
        label = found
    if label.startswith("image/") and label != "image/*":
        return Media(MediaKind.IMAGE, label)
    return Media(MediaKind.FILE, _UNKNOWN if label.endswith("/*") or not label else label)


def _linked(part: DataPart) -> Media | None:
    """The image or the file whose address a URI list of one line is, as far as its client or its name tells; otherwise
    None. Of an image, the name tells more than a client that says `image/*`."""
    address, stated = (_as_text(part.data) or "").strip(), bare_media_type(part.mime_type.partition(_TYPE)[2])
    if not (_ANY_ADDRESS if stated else _ADDRESS).fullmatch(address):
        return None
    try:
        name = urlsplit(address).path.rpartition("/")[2]
    except ValueError:  # no URL after all
        return None
    named = _LINKED.get(name.rpartition(".")[2].lower()) if "." in name else None
    is_open = not stated or stated.endswith("/*") or stated == _UNKNOWN
    fits = named is not None and (stated in {"", _UNKNOWN} or named.partition("/")[0] == stated.partition("/")[0])
    media_type = named if is_open and fits else _USUAL.get(stated, stated)
    if not media_type:
        return None
    kind = MediaKind.IMAGE if media_type.startswith("image/") else MediaKind.FILE
    return Media(kind, media_type, url=address)


def data_url(data: bytes, media_type: str) -> str:
    """The bytes as a data URL (RFC 2397)."""
    return f"data:{media_type};base64,{b64encode(data).decode()}"


def file_name(media_type: str) -> str:
    """A name for a file without one; servers determine the format by its extension."""
    return f"file.{_EXTENSIONS.get(media_type, 'bin')}"


def extension_of(media_type: str) -> str:
    """The usual extension of files of a media type, without its dot; `bin` where none is known."""
    images = {known: extension for extension, known in reversed(_LINKED.items())}
    return _EXTENSIONS.get(media_type) or images.get(media_type, "bin")


def _is_plausible(media_type: str, data: bytes) -> bool:
    """Whether a signature can be right: the two letters of a bitmap are weak evidence, so its size has to match too."""
    return media_type != "image/bmp" or (len(data) >= 14 and int.from_bytes(data[2:6], "little") == len(data))


def _as_text(data: bytes) -> str | None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if len(text.translate(_CONTROLS)) == len(text) else None
