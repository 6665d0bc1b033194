"""Reads the content of messages: a string, or parts; media come as bytes, as an address, or in the form before 1.0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.errors import InvalidRequestError
from partstream.protocols.read_request import (
    described,
    optional_text,
    read_address,
    read_bytes,
    read_parts,
    required_text,
    said,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.parts import DataPart, TextPart
    from partstream.protocols.read_request import Counts

__all__ = ["read_content"]


def read_content(value: object, where: str, counts: Counts) -> tuple[TextPart | DataPart, ...]:
    """The texts and files of a content.

    Raises:
        InvalidRequestError: It has the wrong form.
    """
    return read_parts(value, where, counts, _READERS)


def _text(part: Mapping[str, Any], where: str, _counts: Counts) -> TextPart | None:
    return said(part, "text", where)


def _media(part: Mapping[str, Any], where: str, counts: Counts) -> DataPart | None:
    source, at = part.get("source"), f"{where}.source"
    if not isinstance(source, dict):
        raise InvalidRequestError(at, described(source), "an object with a type")
    kind = optional_text(source, "type", at)
    if kind == "url":
        return read_address(required_text(source, "value", at), f"{at}.value")
    if kind == "data":
        label = optional_text(source, "mimeType", at)
        return read_bytes(required_text(source, "value", at), f"{at}.value", label)
    counts.add(f"content[].source.{kind or 'without a type'}")  # a file that only a provider can reach
    return None


def _binary(part: Mapping[str, Any], where: str, counts: Counts) -> DataPart | None:
    """A part as packages before 1.0 send it: `{"type": "binary", "mimeType", "data" | "url" | "id"}`."""
    if data := optional_text(part, "data", where):
        return read_bytes(data, f"{where}.data", optional_text(part, "mimeType", where))
    if url := optional_text(part, "url", where):
        return read_address(url, f"{where}.url")
    counts.add("content[].binary.id")
    return None


_READERS: Final[Mapping[str, Callable[[Mapping[str, Any], str, Counts], TextPart | DataPart | None]]] = {
    "text": _text,
    **dict.fromkeys(("image", "audio", "video", "document"), _media),
    "binary": _binary,
}
