"""The name of a media type without what may stand around it."""

from __future__ import annotations

__all__ = ["bare_media_type"]


def bare_media_type(text: str) -> str:
    """A media type without its parameters, in small letters (RFC 9110 section 8.3.1): `Text/HTML; charset=utf-8` is
    `text/html`.
    """
    return text.partition(";")[0].strip().lower()
