"""Reads the content of messages and tool outputs: text, images and files.

Source: OpenResponses specification 2026-04-24, the content parts of `ItemParam`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.media import file_name
from partstream.protocols.read_request import optional_text, read_address, read_bytes, read_parts, said

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.parts import DataPart, TextPart, ToolResultContent
    from partstream.protocols.read_request import Counts

__all__ = ["read_content"]


def read_content(value: object, where: str, counts: Counts) -> tuple[ToolResultContent, ...]:
    """The parts of a content field; a string is one text, and an empty text gives no part.

    Raises:
        InvalidRequestError: A part has the wrong form.
    """
    return read_parts(value, where, counts, _READERS)


def _text(part: Mapping[str, Any], where: str, counts: Counts) -> TextPart | None:
    return said(part, "text", where)


def _refusal(part: Mapping[str, Any], where: str, counts: Counts) -> TextPart | None:
    return said(part, "refusal", where)


def _image(part: Mapping[str, Any], where: str, counts: Counts) -> DataPart | None:
    if part.get("detail") not in {None, "auto"}:
        counts.add("content[].input_image.detail")
    return _fetched(part, "image_url", where, counts)


def _video(part: Mapping[str, Any], where: str, counts: Counts) -> DataPart | None:
    return _fetched(part, "video_url", where, counts)


def _file(part: Mapping[str, Any], where: str, counts: Counts) -> DataPart | None:
    data = optional_text(part, "file_data", where)
    name = optional_text(part, "filename", where)
    # The schema says base64, but clients send a data URL (docs/wires/openresponses.md#files).
    read = read_bytes(data, f"{where}.file_data") if data else _fetched(part, "file_url", where, counts)
    if read is not None and name and name != file_name(read.mime_type):
        counts.add("content[].input_file.filename")
    return read


_READERS: Final[dict[str, Callable[[Mapping[str, Any], str, Counts], ToolResultContent | None]]] = {
    "input_text": _text,
    "output_text": _text,
    "text": _text,
    "summary_text": _text,
    "reasoning_text": _text,
    "refusal": _refusal,
    "input_image": _image,
    "input_video": _video,
    "input_file": _file,
}


def _fetched(part: Mapping[str, Any], name: str, where: str, counts: Counts) -> DataPart | None:
    """The content of a URL: its bytes if it holds them, else the address itself."""
    url = optional_text(part, name, where)
    if not url:
        counts.add(f"content[].{part['type']} (without {name})")  # OpenAI's `file_id`
        return None
    return read_address(url, f"{where}.{name}")
