"""Error messages of servers, without what they repeat of a request: the words of known sentences stay.

The sentences (docs/wires/practice.md#known-sentences-of-servers) come from :mod:`partstream.protocols.errors` and the
tables of the protocols. A word of them stays only among others of them: a word alone is more likely a person's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from partstream.bundles.redaction.stand_ins import stand_in
from partstream.devtools.redaction.rules import SENTENCES

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["hidden_sentence"]

_LETTERS: Final = re.compile(r"[A-Za-z]+(?:'[a-z]{1,2})?")
_WORDS: Final = frozenset(word.lower() for word in _LETTERS.findall(SENTENCES))
_TOKEN: Final = re.compile(
    r"(?P<word>[A-Za-z]+(?:'[a-z]{1,2})?)(?![\w-])"
    r"|(?P<address>[0-9]{1,3}(?:\.[0-9]{1,3}){3})(?![A-Za-z0-9])"
    r"|(?P<number>[0-9]{1,7}(?:[.,][0-9]{1,6})*(?:ms|[smhd%])?)(?![A-Za-z0-9])"
    r"|(?P<other>\w+(?:[.-]\w+)*)"
)
_MOST_BETWEEN: Final = 4
"""Characters between two words of one sentence."""


def hidden_sentence(text: str, name_of: Callable[[str], str | None]) -> str:
    """The text, with stand-ins for all that is no part of a known sentence.

    Args:
        text: What a server said.
        name_of: The name that stands for an id or a tool that other fields of the recording name; None for other words.
    """
    pieces: list[str] = []
    end = 0
    for start, stop, said in _kept(text, name_of):
        pieces += (stand_in(text[end:start]), said)
        end = stop
    return "".join((*pieces, stand_in(text[end:])))


def _kept(text: str, name_of: Callable[[str], str | None]) -> list[tuple[int, int, str]]:
    """What stays of a text, and what its names have become, each with its place.

    Words of known sentences, and numbers among them, stay where at least two follow each other, or one is all there is.
    """
    kept: list[tuple[int, int, str]] = []
    run: list[tuple[int, int, str]] = []
    tokens = list(_TOKEN.finditer(text))
    for token in tokens:
        start, end = token.span()
        said = name_of(token[0])
        is_name = said is not None
        is_known = is_name or token.lastgroup == "number" or (token.lastgroup != "address" and _is_word(token))
        if run and (not is_known or start - run[-1][1] > _MOST_BETWEEN):
            kept += run if _is_sentence(run, len(tokens)) else ()
            run = []
        if is_name:
            kept.append((start, end, said or ""))
        if is_known and (run or is_name or token.lastgroup != "number" or not text[:start].strip()):
            run.append((start, end, said or token[0]))
    kept += run if _is_sentence(run, len(tokens)) else ()
    return sorted(set(kept))


def _is_word(token: re.Match[str]) -> bool:
    words = _LETTERS.findall(token[0]) if token.lastgroup == "word" else token[0].split("_")
    return all(word.lower() in _WORDS for word in words)


def _is_sentence(run: list[tuple[int, int, str]], tokens: int) -> bool:
    return len(run) > 1 or len(run) == tokens
