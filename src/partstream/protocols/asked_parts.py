"""Reads the content of a message in a request: a string, or a list of parts that each have a type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from partstream.errors import InvalidRequestError
from partstream.parts import TextPart
from partstream.protocols.asked_fields import described, optional_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.parts import MessagePart
    from partstream.protocols.asked_fields import Counts

__all__ = ["read_parts", "said"]

_Part = TypeVar("_Part", bound="MessagePart")


def read_parts(
    value: object,
    where: str,
    counts: Counts,
    readers: Mapping[str, Callable[[Mapping[str, Any], str, Counts], _Part | None]],
) -> tuple[_Part | TextPart, ...]:
    """The parts of a content field; a string is one text, and an empty text gives no part.

    Args:
        value: The content.
        where: Its place in the request.
        counts: Counts the parts of an unknown type.
        readers: The reader of each known type; None from it gives no part.

    Raises:
        InvalidRequestError: The content or a part has the wrong form.
    """
    if isinstance(value, str):
        return (TextPart(value),) if value else ()
    if not isinstance(value, list):
        raise InvalidRequestError(where, described(value), "a string or a list of content parts")
    parts: list[_Part] = []
    for place, part in enumerate(value):
        at = f"{where}[{place}]"
        if not isinstance(part, dict) or not isinstance(part.get("type"), str):
            raise InvalidRequestError(at, described(part), "an object with a type")
        reader = readers.get(part["type"])
        if reader is None:
            counts.add(f"content[].{part['type']}")
            continue
        read = reader(part, at, counts)
        if read is not None:
            parts.append(read)
    return tuple(parts)


def said(part: Mapping[str, Any], name: str, where: str) -> TextPart | None:
    """The text in a field of a part; None if it is empty.

    Raises:
        InvalidRequestError: It is missing, or has another type.
    """
    if part.get(name) is None:
        raise InvalidRequestError(f"{where}.{name}", "nothing", "a string")
    text = optional_text(part, name, where)
    return TextPart(text) if text else None
