"""Reads fields of chunks under all their names in all versions; the first one that exists wins.

Being there is not being true: `""` and 0 are values. Source of the names: `ai` 4.3.19, 5.0.277, 6.0.50, 7.0.173 and the
pre-releases of 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from partstream.errors import UpstreamProtocolError
from partstream.numbers import as_count
from partstream.protocols.read_response import shown

__all__ = [
    "ARGUMENTS_DELTA",
    "BLOCK_ID",
    "CALL_ID",
    "CALL_INPUT",
    "ERROR",
    "MEDIA_TYPE",
    "METADATA",
    "SOURCE_ID",
    "TEXT",
    "TOTAL_USAGE",
    "Chunk",
    "Names",
    "count",
    "field",
    "identifier",
    "is_summary",
    "mapping",
    "merge",
    "metadata",
    "sequence",
    "take_metadata",
    "text",
]

Chunk: TypeAlias = dict[str, Any]
"""A chunk as it came. Versions differ and JSON has lost some of it, so nothing about it is certain."""

Names: TypeAlias = tuple[str, ...]

TEXT: Final[Names] = ("text", "textDelta", "delta")
BLOCK_ID: Final[Names] = ("id",)
CALL_ID: Final[Names] = ("toolCallId", "id")
CALL_INPUT: Final[Names] = ("input", "args")
ARGUMENTS_DELTA: Final[Names] = ("delta", "inputTextDelta", "argsTextDelta")
ERROR: Final[Names] = ("error", "errorText")
MEDIA_TYPE: Final[Names] = ("mediaType", "mimeType")
METADATA: Final[Names] = ("providerMetadata", "experimental_providerMetadata")
SOURCE_ID: Final[Names] = ("id", "sourceId")
TOTAL_USAGE: Final[Names] = ("totalUsage", "usage")

_UNDEFINED: Final = "$undefined"
"""How a tagged recording writes what JavaScript calls undefined: `{"$undefined": true}`."""


def field(chunk: Chunk, names: Names) -> Any:
    """The first field that exists, or None."""
    for name in names:
        value = chunk.get(name)
        if value is not None and not _is_undefined(value):
            return value
    return None


def _is_undefined(value: Any) -> bool:
    return type(value) is dict and _UNDEFINED in value


def _defined(value: Chunk) -> Chunk:
    return {name: inner for name, inner in value.items() if not _is_undefined(inner)}


def text(chunk: Chunk, names: Names) -> str:
    """The string in a field; empty if there is none.

    Raises:
        UpstreamProtocolError: It holds something else.
    """
    value = field(chunk, names)
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    raise UpstreamProtocolError(
        event_type=identifier(chunk, ("type",)),
        field=names[0],
        got=f"{type(value).__name__} {shown(value)}",
        expected="a string",
    )


def identifier(chunk: Chunk, names: Names) -> str | None:
    """The non-empty string in a field, or None."""
    value = field(chunk, names)
    return value if isinstance(value, str) and value else None


def mapping(chunk: Chunk, names: Names) -> Chunk:
    """The object in a field; empty if there is none, because data beside the answer must not fail it."""
    value = field(chunk, names)
    return value if isinstance(value, dict) else {}


def metadata(chunk: Chunk) -> Chunk:
    """The provider metadata of a chunk, by provider; undefined values are left out."""
    said = mapping(chunk, METADATA)
    return {name: _defined(value) if isinstance(value, dict) else value for name, value in _defined(said).items()}


def is_summary(by_provider: Mapping[str, Any]) -> bool:
    """Tells whether provider metadata marks a text as the summary of a compacted conversation."""
    said = by_provider.get("anthropic")
    return isinstance(said, Mapping) and said.get("type") == "compaction"


def take_metadata(known: Chunk, chunk: Chunk) -> None:
    """Merges the provider metadata of a chunk into the known metadata; later values win."""
    for provider, said in metadata(chunk).items():
        if isinstance(said, dict):
            merge(known, provider, said)


def merge(known: Chunk, name: str, said: Any) -> None:
    """Merges an object into the known one under a name, in place; a value of another type replaces it.

    In place, because a stream may add a word with each of its chunks. `known` holds copies, so that no chunk changes.
    """
    before = known.get(name)
    if isinstance(before, dict) and isinstance(said, dict):
        before.update(said)
    else:
        known[name] = dict(said) if isinstance(said, dict) else said


def sequence(chunk: Chunk, names: Names) -> list[Any]:
    """The list in a field; empty if there is none."""
    value = field(chunk, names)
    return value if isinstance(value, list) else []


def count(chunk: Chunk, names: Names) -> int | None:
    """The count in a field, or None."""
    return as_count(field(chunk, names))
