"""The visible text of an answer, as far as something has to be found in it again."""

from __future__ import annotations

from partstream.protocols.citations import RecentText

__all__ = ["ShownText"]


class ShownText:
    """What the answer shows: what the model said, and blocks that stand between it.

    Args:
        keeps_all: Whether places in the text will be asked for, so that all of it is kept.
    """

    __slots__ = ("_pieces", "_recent")

    def __init__(self, *, keeps_all: bool) -> None:
        self._recent = RecentText()
        self._pieces: list[tuple[str, bool]] | None = [] if keeps_all else None

    def add(self, piece: str, *, is_said: bool) -> None:
        """Takes the next piece.

        Args:
            piece: The text.
            is_said: Whether the model said it.
        """
        self._recent.add(piece)
        if self._pieces is not None:
            self._pieces.append((piece, is_said))

    def recently_said(self, words: str) -> bool:
        """Whether `words` stand in the last few thousand characters."""
        return self._recent.recently_said(words)

    def place(self, start: int, end: int, words: str) -> tuple[int, int] | None:
        """Where words of the model stand in all that is shown, in characters from 0; None where they are not found.

        Args:
            start: Their first byte of UTF-8 in all that the model said.
            end: The byte behind them.
            words: The words themselves, or an empty text: servers count from different places (facts 8).
        """
        pieces = self._pieces or []
        said = "".join(piece for piece, is_said in pieces if is_said)
        raw = said.encode("utf-8", "surrogatepass")
        begin = len(raw[:start].decode(errors="ignore"))
        length = len(raw[start:end].decode(errors="ignore"))
        if words and said[begin : begin + length] != words:
            begin, length = said.find(words), len(words)
        if begin < 0 or length <= 0:
            return None
        return self._shown(begin, is_end=False), self._shown(begin + length, is_end=True)

    def _shown(self, place: int, *, is_end: bool) -> int:
        """The place in all that is shown of a place in what the model said."""
        shown = 0
        for piece, is_said in self._pieces or ():
            if is_said:
                if place < len(piece) or (is_end and place == len(piece)):
                    return shown + place
                place -= len(piece)
            shown += len(piece)
        return shown + place
