"""Seals JSON values into one word of text that other programs carry and give back; a changed text reads as None."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any, Final

from partstream.codec.json_codec import JSONDecodeError, dumps, loads
from partstream.conversation.turns import short_digest

__all__ = ["seal", "unseal"]

_FORM: Final = re.compile(r"partstream1\.([A-Za-z0-9_-]+)\.([0-9a-f]{16})")


def seal(value: object) -> str:
    """The sealed text of a JSON value: ASCII letters, digits, dots, hyphens and underscores."""
    payload = urlsafe_b64encode(dumps(value)).decode().rstrip("=")
    return f"partstream1.{payload}.{short_digest(payload)}"


def unseal(text: str) -> Any:
    """The value in a text from :func:`seal`; None for any other text."""
    match = _FORM.fullmatch(text)
    if match is None or short_digest(match[1]) != match[2]:
        return None
    try:
        return loads(urlsafe_b64decode(match[1] + "=" * (-len(match[1]) % 4)))
    except (ValueError, JSONDecodeError):
        return None
