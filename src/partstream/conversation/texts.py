"""Text that every server can read; knows nothing of where it stands."""

from __future__ import annotations

__all__ = ["well_formed"]


def well_formed(text: str) -> str:
    """The text with halves of characters joined where both are there, and replaced by U+FFFD where one is missing.

    Programs that cut UTF-16 text leave them behind. JSON has a form for them that many servers refuse.
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
