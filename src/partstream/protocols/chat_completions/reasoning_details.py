"""Merges the entries of `reasoning_details` and of `thinking_blocks`, which stream as deltas.

A server takes the list back only as it made it: so consecutive entries that continue each other become one, and all
others stay apart and in order.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.read_response import EmittedPrefix

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["BLOCK_TEXTS", "DETAIL_TEXTS", "MergedEntries", "merge_blocks", "merge_details"]

DETAIL_TEXTS: Final[Mapping[str, str]] = {"reasoning.text": "text", "reasoning.summary": "summary"}
"""The field of an entry's text by the type of the entry; entries of other types, such as encrypted ones, are whole."""

BLOCK_TEXTS: Final[Mapping[str, str]] = {"thinking": "thinking"}
"""The same for the blocks of LiteLLM."""

_WORD: Final = re.compile(r"\w")
_IDENTITY: Final = ("index", "id")
"""Where both entries give one of these, entries that differ in it do not continue each other."""


class MergedEntries:
    """A list of entries that grows by deltas.

    Args:
        texts: The field of an entry's text by the entry's type.
        sealed_by: The field that ends an entry: nothing continues an entry that has it. None where nothing ends one.
    """

    __slots__ = ("_entries", "_pieces", "_said", "_sealed_by", "_texts")

    def __init__(self, texts: Mapping[str, str], sealed_by: str | None = None) -> None:
        self._texts = texts
        self._sealed_by = sealed_by
        self._entries: list[dict[str, Any]] = []
        self._pieces: list[str] = []  # of the text of the last entry
        self._said = EmittedPrefix()  # the same, to know it when it is repeated

    def __bool__(self) -> bool:
        """Whether there is an entry."""
        return bool(self._entries)

    def add(self, entry: Mapping[str, Any]) -> str:
        """Takes the next entry; returns the piece of text that it adds."""
        name = self._text_field(entry)
        said = None if name is None else entry.get(name)
        piece = said if isinstance(said, str) else ""
        last = self._entries[-1] if self._entries else None
        if name is None or last is None or not self._continues(entry, last):
            self._close()
            self._entries.append(dict(entry))
        else:
            piece = self._new_of(piece)
            last |= {key: one for key, one in entry.items() if key != name and last.get(key) in (None, "")}
        if piece:
            self._pieces.append(piece)
            self._said.add(piece)
        return piece

    def take(self) -> list[dict[str, Any]]:
        """The entries so far; what comes next begins a new list."""
        self._close()
        taken, self._entries = self._entries, []
        return taken

    def _text_field(self, entry: Mapping[str, Any]) -> str | None:
        kind = entry.get("type")
        return self._texts.get(kind) if isinstance(kind, str) else None

    def _continues(self, entry: Mapping[str, Any], last: Mapping[str, Any]) -> bool:
        if entry.get("type") != last.get("type") or (self._sealed_by and last.get(self._sealed_by)):
            return False
        pairs = ((entry.get(name), last.get(name)) for name in _IDENTITY)
        return all(one is None or other is None or one == other for one, other in pairs)

    def _new_of(self, piece: str) -> str:
        """What a piece adds: some repeat everything before them (docs/wires/chat-completions.md#reasoning-details).

        A few signs alone may well be said twice: a line of dashes grows by dashes.
        """
        length = self._said.length
        repeats = len(piece) > length and self._said.begins(piece) and _WORD.search(piece, 0, length) is not None
        return piece[length:] if repeats else piece

    def _close(self) -> None:
        """Puts the pieces together, once for each entry."""
        if self._pieces and (name := self._text_field(self._entries[-1])) is not None:
            self._entries[-1][name] = "".join(self._pieces)
        self._pieces = []
        self._said = EmittedPrefix()


def merge_details(entries: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The entries of `reasoning_details` with those joined that continue each other."""
    return _merged(MergedEntries(DETAIL_TEXTS), entries)


def merge_blocks(entries: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The blocks of `thinking_blocks`: those of one thought are joined until its signature has come."""
    return _merged(MergedEntries(BLOCK_TEXTS, "signature"), entries)


def _merged(merged: MergedEntries, entries: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    for entry in entries:
        merged.add(entry)
    return merged.take()
