"""Which header fields a proxy hands on (RFC 9110 section 7.6.1), in both directions. Sans-IO."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["HeaderFields", "request_fields", "response_fields"]

HeaderFields: TypeAlias = "list[tuple[bytes, bytes]]"
"""Names in lower case, and values, in their order."""

_OF_ONE_CONNECTION: Final = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_WRITTEN_ANEW: Final = frozenset({b"accept-encoding", b"content-length", b"expect", b"host"})
"""Of a request: what the client of the server says itself, for the body that it sends."""


def request_fields(fields: Iterable[tuple[bytes, bytes]]) -> HeaderFields:
    """The fields of a request as the server gets them; the body is asked for as it is, so that it can be read."""
    kept = [(name, value) for name, value in response_fields(fields) if name not in _WRITTEN_ANEW]
    return [*kept, (b"accept-encoding", b"identity")]


def response_fields(fields: Iterable[tuple[bytes, bytes]]) -> HeaderFields:
    """The fields of a response as the client gets them: without those of one connection."""
    lower = [(name.lower(), value) for name, value in fields]
    named = {option.strip().lower() for name, value in lower if name == b"connection" for option in value.split(b",")}
    return [(name, value) for name, value in lower if name not in _OF_ONE_CONNECTION and name not in named]
