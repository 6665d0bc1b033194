"""Reads the content of the user's messages: text, images, documents, search results, and results of tools.

Source: `anthropic` 2.12.0, `types/*_block_param.py`; docs/wires/anthropic-messages.md#images-and-files and
docs/wires/anthropic-messages.md#tool-results. A mark for the prompt cache is no content, and is skipped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.errors import InvalidRequestError
from partstream.parts import DataPart, TextPart, ToolResultPart
from partstream.protocols.read_request import (
    checked,
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

    from partstream.parts import ToolResultContent
    from partstream.protocols.read_request import Counts

__all__ = ["read_content", "read_said_by_user", "read_text"]

_Said: TypeAlias = "ToolResultContent | ToolResultPart"


def read_content(value: object, where: str, counts: Counts) -> tuple[ToolResultContent, ...]:
    """The parts of the content of a result or of a document; a string is one text, and nothing is no part.

    Raises:
        InvalidRequestError: A block has the wrong form.
    """
    return () if value is None else read_parts(value, where, counts, _GIVEN)


def read_said_by_user(value: object, where: str, counts: Counts) -> tuple[_Said, ...]:
    """The parts of a message of the user.

    Raises:
        InvalidRequestError: A block has the wrong form.
    """
    return read_parts(value, where, counts, _SAID)


def read_text(block: Mapping[str, Any], where: str, counts: Counts) -> TextPart | None:
    """The text of a block; None if it is empty."""
    return said(block, "text", where)


def _image(block: Mapping[str, Any], where: str, counts: Counts) -> DataPart | None:
    source = _source(block, where)
    read = _IN_IMAGE.get(source["type"])
    if read is None:
        counts.add(f"content[].image.source.{source['type']}")  # a file that only the client's server has
        return None
    return read(source, f"{where}.source")


def _document(block: Mapping[str, Any], where: str, counts: Counts) -> DataPart | TextPart | None:
    """A document; what it is called and whether it may be cited has no place in a conversation."""
    for name in ("title", "context"):
        if optional_text(block, name, where):
            counts.add(f"content[].document.{name}")
    citations = checked(block, "citations", dict, "an object", where)
    if citations and citations.get("enabled"):
        counts.add("content[].document.citations")
    source = _source(block, where)
    if source["type"] == "content":
        parts = read_content(source.get("content"), f"{where}.source.content", counts)
        texts = [part.value for part in parts if isinstance(part, TextPart)]
        if len(texts) < len(parts):
            counts.add("content[].document.source.content (images)")
        return TextPart("\n\n".join(texts)) if texts else None
    read = _IN_DOCUMENT.get(source["type"])
    if read is None:
        counts.add(f"content[].document.source.{source['type']}")
        return None
    return read(source, f"{where}.source")


def _source(block: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    source = block.get("source")
    if not isinstance(source, dict) or not isinstance(source.get("type"), str):
        raise InvalidRequestError(f"{where}.source", described(source), "an object with a type")
    return source


def _base64(source: Mapping[str, Any], where: str) -> DataPart:
    label = optional_text(source, "media_type", where)
    return read_bytes(required_text(source, "data", where), f"{where}.data", label)


def _url(source: Mapping[str, Any], where: str) -> DataPart:
    return read_address(required_text(source, "url", where), f"{where}.url")


def _plain_text(source: Mapping[str, Any], where: str) -> DataPart:
    label = optional_text(source, "media_type", where) or "text/plain"
    return DataPart.text(optional_text(source, "data", where), label)


_IN_IMAGE: Final[dict[str, Callable[[Mapping[str, Any], str], DataPart]]] = {"base64": _base64, "url": _url}
_IN_DOCUMENT: Final[dict[str, Callable[[Mapping[str, Any], str], DataPart]]] = {**_IN_IMAGE, "text": _plain_text}


def _search_result(block: Mapping[str, Any], where: str, counts: Counts) -> TextPart:
    """What a search of the client found, with its source and title before it: they are what a model cites."""
    counts.add("content[].search_result (as text)")
    head = (optional_text(block, "title", where), optional_text(block, "source", where))
    parts = read_content(block.get("content"), f"{where}.content", counts)
    texts = (part.value for part in parts if isinstance(part, TextPart))
    return TextPart("\n".join(filter(None, (*head, *texts))))


def _tool_result(block: Mapping[str, Any], where: str, counts: Counts) -> ToolResultPart:
    call_id = required_text(block, "tool_use_id", where)
    failed = checked(block, "is_error", bool, "true or false", where)
    return ToolResultPart(call_id, read_content(block.get("content"), f"{where}.content", counts), bool(failed))


_GIVEN: Final[dict[str, Callable[[Mapping[str, Any], str, Counts], ToolResultContent | None]]] = {
    "text": read_text,
    "image": _image,
    "document": _document,
    "search_result": _search_result,
}
_SAID: Final[dict[str, Callable[[Mapping[str, Any], str, Counts], _Said | None]]] = {
    **_GIVEN,
    "tool_result": _tool_result,
}
