"""What a JSON text says before it breaks off: it tells what a stream is that was cut in its first event."""

from __future__ import annotations

import re
from typing import Any, Final

from partstream.json_codec import JSONDecodeError, loads

__all__ = ["begun_object"]

_SIGNS: Final = re.compile(r'"(?:[^"\\]|\\.)*"?|[{}\[\],:]', re.DOTALL)
_CLOSES: Final = {"{": "}", "[": "]"}
_MOST: Final = 65536
"""Characters that are looked at: the kind of an event stands at its beginning."""


def begun_object(data: bytes) -> dict[str, Any] | None:
    """The object that a text begins, with the members that it holds whole and what is there of a last string.

    Args:
        data: The beginning of a JSON text, in UTF-8.

    Returns:
        The object; None for a text that begins with anything else, or that says no member.
    """
    text = data.decode(errors="ignore").lstrip()[:_MOST]
    if not text.startswith("{"):
        return None
    for candidate in _closed(text):
        try:
            value = loads(candidate.encode())
        except (JSONDecodeError, RecursionError):
            continue
        return value if isinstance(value, dict) and value else None
    return None


def _closed(text: str) -> list[str]:
    """The text with every open string, list and object closed: as it is, and as it was before its last member."""
    open_values: list[str] = []
    before_member, open_then = "", ""
    ends_in_string = False
    for sign in _SIGNS.finditer(text):
        part = sign[0]
        ends_in_string = part.startswith('"') and (len(part) == 1 or not part.endswith('"') or _is_hidden(part))
        if part in _CLOSES:
            open_values.append(_CLOSES[part])
            before_member, open_then = text[: sign.end()], "".join(reversed(open_values))
        elif part in {"}", "]"}:
            if open_values:
                open_values.pop()
        elif part == ",":
            before_member, open_then = text[: sign.start()], "".join(reversed(open_values))
    closing = "".join(reversed(open_values))
    whole = text.rstrip("\\") + '"' if ends_in_string else text
    return [whole + closing, before_member + open_then]


def _is_hidden(part: str) -> bool:
    """Whether the quote at the end of a string is hidden by a backslash."""
    inner = part[:-1]
    return (len(inner) - len(inner.rstrip("\\"))) % 2 == 1
