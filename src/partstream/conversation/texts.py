"""Makes text that every server can read; does not know where the text is used."""

from __future__ import annotations

__all__ = ["well_formed"]


def well_formed(text: str) -> str:
    """The text with surrogate pairs joined, and U+FFFD instead of each lone surrogate.

    Programs that cut UTF-16 text produce lone surrogates. JSON can represent them, but many servers refuse them.
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
