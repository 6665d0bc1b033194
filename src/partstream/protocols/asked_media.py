"""Reads images and files of requests: bytes in a data URL or in base64, or an address."""

from __future__ import annotations

from base64 import b64decode
from typing import Final
from urllib.parse import unquote_to_bytes

from partstream.conversation.media import URI_LIST, sniff
from partstream.errors import InvalidRequestError
from partstream.parts import DataPart

__all__ = ["read_address", "read_bytes"]

_UNKNOWN: Final = "application/octet-stream"


def read_address(url: str, where: str) -> DataPart:
    """The content of a URL: its bytes if it is a data URL, else the address itself.

    Raises:
        InvalidRequestError: It is a damaged data URL.
    """
    return read_bytes(url, where) if _is_data_url(url) else DataPart.text(url, URI_LIST)


def read_bytes(value: str, where: str, label: str = "") -> DataPart:
    """The bytes of a data URL (RFC 2397) or of plain base64, with their media type.

    Args:
        value: The data URL, or the base64.
        where: The place in the request.
        label: The media type that the request states beside plain base64, if it states one.

    Raises:
        InvalidRequestError: It is neither.
    """
    head, comma, payload = value[5:].partition(",") if _is_data_url(value) else (f"{label};base64", ",", value)
    if not comma:
        raise InvalidRequestError(where, f"{value!r:.60}", "a data URL")
    stated = head.removesuffix(";base64")
    try:
        data = _from_base64(payload) if stated != head else unquote_to_bytes(payload)
    except ValueError as error:
        raise InvalidRequestError(where, f"{len(payload):,} characters that are not base64", "base64") from error
    return DataPart(data, stated or sniff(data) or _UNKNOWN)


def _is_data_url(value: str) -> bool:
    return value[:5].lower() == "data:"


def _from_base64(payload: str) -> bytes:
    compact = "".join(payload.split())
    return b64decode(compact + "=" * (-len(compact) % 4), validate=True)
