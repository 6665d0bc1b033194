"""Finds keys in a text, in whichever form they stand there: plain, escaped for JSON, a URL or HTML, or in base64."""

from __future__ import annotations

import re
from base64 import b64decode
from typing import TYPE_CHECKING, Final, NamedTuple

from partstream.bundles.redaction.rules import PERSON_RULES, RULES, SHORTEST_ENCODED
from partstream.codec.redaction import Redactor, decoded_views

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from partstream.bundles.redaction.rules import SecretRule

__all__ = ["Found", "Search"]

_RUN: Final = re.compile(rf"[A-Za-z0-9+/_-]{{{SHORTEST_ENCODED},}}+={{0,2}}")
_HEX_RUN: Final = re.compile(rf"[0-9a-fA-F]{{{2 * SHORTEST_ENCODED},}}")
_TO_BASE64: Final = str.maketrans("-_", "+/")
_MOST_LAYERS: Final = 2
"""Base64 in base64 is still read; anything deeper is no form in which a server repeats a key."""
_SHORTEST_KNOWN: Final = 8


class Found(NamedTuple):
    """Where a key stands.

    Attributes:
        start: Its first character.
        end: The one behind its last.
        rule: The rule that found it.
    """

    start: int
    end: int
    rule: str


class Search:
    """Looks for keys in texts.

    Args:
        known: Keys and ids of people that are known from elsewhere, such as the headers of a request.
    """

    __slots__ = ("_known", "_rules")

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._rules = (*RULES, *PERSON_RULES)
        self._known = Redactor(one for one in known if len(one) >= _SHORTEST_KNOWN)

    def find(self, text: str) -> list[Found]:
        """All keys in a text, in order. Of two that overlap both are there, unless one holds the other."""
        found = [Found(start, end, "known-secret") for start, end in self._known.spans(text)]
        found += self._by_rules(text, _MOST_LAYERS)
        found.sort(key=lambda one: (one.start, -one.end))
        outer: list[Found] = []
        for one in found:
            if not outer or one.end > outer[-1].end:
                outer.append(one)
        return outer

    def _by_rules(self, text: str, layers: int) -> Iterator[Found]:
        yield from self._plain(text)
        if layers:
            yield from self._encoded(text, layers)
        for view in decoded_views(text):
            for one in (*self._plain(view.text), *(self._encoded(view.text, layers) if layers else ())):
                start, end = view.before(one.start, one.end)
                yield Found(start, end, one.rule)

    def _plain(self, text: str) -> Iterator[Found]:
        lower = text.lower()
        if len(lower) != len(text):  # `İ` becomes two characters; only the words are looked for in it
            lower = "".join(letter.lower()[:1] for letter in text)
        for rule in self._rules:
            if any(word in lower for word in rule.words):
                yield from _matches(rule, text)

    def _encoded(self, text: str, layers: int) -> Iterator[Found]:
        for run in _RUN.finditer(text):
            for offset in range(4):
                decoded = _from_base64(run[0][offset:])
                if self._holds_a_key(decoded, layers - 1):
                    yield Found(run.start(), run.end(), "encoded-secret")
                    break
        for run in _HEX_RUN.finditer(text):
            decoded = bytes.fromhex(run[0][: len(run[0]) // 2 * 2]).decode("latin-1")
            if self._holds_a_key(decoded, layers - 1):
                yield Found(run.start(), run.end(), "encoded-secret")

    def _holds_a_key(self, text: str, layers: int) -> bool:
        return next(self._by_rules(text, layers), None) is not None


def _matches(rule: SecretRule, text: str) -> Iterator[Found]:
    for match in rule.pattern.finditer(text):
        groups = match.groupdict()
        group = next((name for name in ("secret", "quoted") if groups.get(name)), 0)
        yield Found(match.start(group), match.end(group), rule.name)


def _from_base64(digits: str) -> str:
    whole = digits.rstrip("=").translate(_TO_BASE64)
    whole = whole[: len(whole) - (len(whole) % 4 == 1)]
    return b64decode(whole + "=" * (-len(whole) % 4)).decode("latin-1")
