"""Makes text that every server can read, and one text of several; does not know where the text is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["joined_texts", "well_formed"]


def joined_texts(texts: Iterable[str]) -> str:
    """The texts of one tool result as one, with a line end between two of them that no white space separates.

    Each text is a whole of its own, such as a search hit or the content of a file. Without a separator, the last word
    of one and the first of the next become one word.
    """
    joined: list[str] = []
    for text in filter(None, texts):
        if joined and not joined[-1][-1].isspace() and not text[0].isspace():
            joined.append("\n")
        joined.append(text)
    return "".join(joined)


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
