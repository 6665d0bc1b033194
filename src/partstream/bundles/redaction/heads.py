"""Paths, queries and header fields: what of them stays, and what each of the others is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from partstream.bundles.redaction.field_names import is_plain_word
from partstream.bundles.redaction.fragments import Meaning
from partstream.bundles.redaction.known_names import HEADER_ENDINGS_KEPT, HEADERS_KEPT, PATH_WORDS
from partstream.bundles.redaction.moments import hidden_date
from partstream.bundles.redaction.personal import names_a_person, without_personal
from partstream.bundles.redaction.stand_ins import HIDDEN, hide, stand_in
from partstream.codec.redaction import names_a_secret, secrets_in_header

if TYPE_CHECKING:
    from collections.abc import Iterator

    from partstream.bundles.redaction.replacing import Replacement
    from partstream.bundles.redaction.searching import Found
    from partstream.devtools.bundles.exchange import Headers

__all__ = ["known_in_headers", "known_in_query", "replaced_headers", "replaced_path", "replaced_query"]

_COUNTS: Final = re.compile(r"ratelimit|rate-limit|tokens?-(?:limit|remaining|reset|used)|max-tokens", re.IGNORECASE)
"""Fields whose values are numbers, though their names hold `token`."""
_PERSON: Final = re.compile(
    r"request-?id|correlation|trace|session|organi[sz]ation|project|account|user(?!-agent)|tenant|client-id|machine|"
    r"device|cf-ray|amzn?-|forwarded|real-ip|installation|editor-device|conversation|thread",
    re.IGNORECASE,
)
_SHORTEST: Final = 8
_NAME: Final = re.compile(r"(?:[A-Za-z]{1,20}[0-9]{0,3}|[0-9]{1,3})(?:[-_](?:[A-Za-z]{1,20}[0-9]{0,3}|[0-9]{1,3}))*")
_LONGEST_NAME: Final = 80
"""The name of a header field, or of a field of a query, as people make them: words with signs between them."""
_VERB: Final = re.compile(r"(?:stream|server|batch|count|generate|embed|raw|predict)[A-Za-z]{0,30}")
"""What an API of Google does with a model: it stands behind its name."""
_WORDS: Final = re.compile(r"[^\s;,/()=]+")
_QUERY_KEPT: Final = frozenset({"alt", "api-version", "beta", "stream", "key-type", "$alt", "prettyprint", "timeout"})
_QUERY_NAME: Final = re.compile(rf"\$?{_NAME.pattern}(?:[.\[\]]{{1,2}}(?:{_NAME.pattern})?)*")
_UNSAID: Final = re.compile(r"%[0-9A-Fa-f]{2}(?:%[0-9A-Fa-f]{2})*")
_NUMBER: Final = re.compile(r"-?[\d.,]+(?:ms|[smhd%])?(?:\d+(?:\.\d+)?(?:ms|[smh]))*")


def known_in_headers(headers: Headers) -> Iterator[str]:
    """Keys and ids of people in header fields."""
    for name, value in headers:
        if _holds_secret(name):
            yield from (one for one in secrets_in_header(value) if len(one) >= _SHORTEST and not is_plain_word(one))
        elif _PERSON.search(name) and len(value) >= _SHORTEST and not is_plain_word(value):
            yield value


def known_in_query(query: str) -> Iterator[str]:
    """Keys in a query."""
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        if names_a_secret(name) and name.lower() not in _QUERY_KEPT:
            yield value
            yield unquote(value)


def replaced_headers(headers: Headers, replacement: Replacement, *, whole: bool) -> Headers:
    """Header fields with what stands for their values.

    Args:
        headers: The fields.
        replacement: Replaces the values.
        whole: Whether values that nobody knows are replaced too, not only keys and ids of people.
    """
    return tuple(
        (_header_name(name, replacement, whole=whole), _header(name, value, replacement, whole=whole))
        for name, value in headers
    )


def _header_name(name: str, replacement: Replacement, *, whole: bool) -> str:
    found = [] if _is_harmless(name) else replacement.search.find(name)
    if not found and whole and (len(name) > _LONGEST_NAME or _NAME.fullmatch(name) is None):
        return stand_in(name)
    return _without(name, found, replacement)


def _holds_secret(name: str) -> bool:
    return names_a_secret(name) and _COUNTS.search(name) is None


def _header(name: str, value: str, replacement: Replacement, *, whole: bool) -> str:
    lower = name.lower()
    if _holds_secret(name):
        return replacement.replaced(Meaning.SECRET, value, ())
    if _PERSON.search(name):
        return replacement.replaced(Meaning.PERSON, value, ())
    found = replacement.search.find(value)
    if not whole or (_COUNTS.search(name) and _NUMBER.fullmatch(value) and not names_a_person(value)):
        return _without(value, found, replacement)
    if _stays(lower):
        kept = without_personal(_without(value, found, replacement), stand_in)
        return _WORDS.sub(_word, kept)
    if lower in ("date", "expires", "last-modified") or "reset" in lower:
        replacement.counts["time"] += 1
        return hidden_date(value)
    return replacement.replaced(Meaning.WORD if _NUMBER.fullmatch(value) else Meaning.TEXT, value, found)


def _word(match: re.Match[str]) -> str:
    word = match[0]
    return word if is_plain_word(word) or set(word) <= {HIDDEN} else stand_in(word)


def _stays(name: str) -> bool:
    return name in HEADERS_KEPT or name.endswith(HEADER_ENDINGS_KEPT)


def _without(value: str, found: list[Found], replacement: Replacement) -> str:
    """A value that stays, without the keys in it."""
    for one in found:
        replacement.counts[one.rule] += 1
        value = value[: one.start] + hide(value[one.start : one.end]) + value[one.end :]
    return value


def replaced_path(path: str, replacement: Replacement, *, whole: bool) -> str:
    """A path with what stands for its segments; words of APIs and names of models stay."""
    segments = path.split("/")
    return "/".join(_segment(one, replacement, whole=whole) for one in segments)


def _segment(segment: str, replacement: Replacement, *, whole: bool) -> str:
    found = replacement.search.find(segment)
    if segment and set(segment) <= {HIDDEN}:
        return segment
    head, _, verb = segment.partition(":")
    if not found and (not whole or segment in PATH_WORDS or not segment):
        return segment
    is_kept = not names_a_person(segment) and is_plain_word(segment)
    if not found and is_kept and (_is_model(head) or _VERB.fullmatch(verb)):
        return segment
    if not whole:
        return replacement.replaced(Meaning.SECRET, segment, ())
    return replacement.replaced(Meaning.ID, segment, ()) if not found else hide(segment)


def _is_model(word: str) -> bool:
    """Whether a word is the name of a model: plain, and with a number and a sign in it, as `gpt-4o` has."""
    return is_plain_word(word) and any(sign in word for sign in "-._") and any(letter.isdigit() for letter in word)


def replaced_query(query: str, replacement: Replacement, *, whole: bool) -> str:
    """A query with what stands for its values."""
    return "&".join(_pair(one, replacement, whole=whole) for one in query.split("&"))


def _pair(pair: str, replacement: Replacement, *, whole: bool) -> str:
    name, equals, value = pair.partition("=")
    holds_key = not _is_harmless(name) and bool(replacement.search.find(name))
    if holds_key or (whole and not _is_name(name)):
        kept = _plain_value(value) if whole else _without(value, replacement.search.find(value), replacement)
        return hide(_UNSAID.sub(_plain, name)) + equals + kept
    if not equals or name.lower() in _QUERY_KEPT:
        if replacement.search.find(pair):
            return hide(pair)
        return pair if not whole or _is_harmless(value) else f"{name}={_plain_value(value)}"
    if names_a_secret(name):
        return name + equals + replacement.replaced(Meaning.SECRET, value, ())
    if not whole:
        return name + equals + _without(value, replacement.search.find(value), replacement)
    return name + equals + replacement.replaced(Meaning.TEXT, _UNSAID.sub(_plain, value), ())


def _is_name(name: str) -> bool:
    """Whether this is the name of a field of a query, as the makers of an API choose it."""
    return not name or (
        len(name) <= _LONGEST_NAME and _QUERY_NAME.fullmatch(name) is not None and not names_a_person(name)
    )


def _is_harmless(value: str) -> bool:
    return is_plain_word(value) and not names_a_person(value)


def _plain_value(value: str) -> str:
    return stand_in(_UNSAID.sub(_plain, value))


def _plain(escapes: re.Match[str]) -> str:
    """Letters for escapes of a URL, as many: what they say would stay otherwise."""
    return "x" * len(escapes[0])
