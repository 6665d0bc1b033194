"""Texts from outside in a form that both databases take."""

from __future__ import annotations

from partstream.numbers import storable_text

__all__ = ["content_text", "name_text"]


def name_text(text: str) -> str:
    """The first thousand characters of a name; Postgres has no text with a zero byte, and UTF-8 no half of a pair."""
    return storable_text(text).replace("\0", "?")


def content_text(text: str) -> str:
    """A whole text."""
    return text.encode(errors="replace").decode().replace("\0", "?")
