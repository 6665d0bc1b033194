"""Removes secrets from texts, in whichever form a server repeats them.

A server that refuses a key may quote it: plain, escaped for JSON (`\\/`, `\\u0026`), for a URL (`%2F`) or for HTML
(`&amp;`), several of them nested, or in base64 or hexadecimal digits, alone or after a user name. So a text is searched
unchanged, and again with its escapes decoded, until nothing is left to decode (:func:`decoded_views`). A secret that is
found in a decoded text is hidden at its place in the original text (:class:`DecodedText`).
"""

from __future__ import annotations
import re
from base64 import b64decode, b64encode
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
from typing import Any, Final, NamedTuple, NoReturn, Self

from partstream.codec.text import late_pattern

HIDDEN: Final = "***"

_NAMES_OF_SECRETS: Final = late_pattern(
    r"auth|client-?cert|^code$|cookie|credential|honeycomb-team|key|pass|principal|secret|shared-?access|sig|token",
    re.IGNORECASE,
)
_RATE_LIMIT: Final = late_pattern(r"rate-?limit", re.IGNORECASE)
"""`x-ratelimit-remaining-tokens` counts tokens of texts."""
_SCHEME: Final = late_pattern(r"(?:basic|bearer|digest|token) (?=\S)", re.IGNORECASE)
"""The scheme of credentials (RFC 9110 section 11.4) is no secret."""

_SHORTEST_ENCODED: Final = 8
"""Characters of a secret whose encoded and cut-off forms are searched: those of a shorter one would be found in words.
"""
_MOST_DECODINGS: Final = 4
"""No reader understands a text with escapes nested more often."""

_ESCAPES: Final = late_pattern(
    r"""
    [\\%&\x00] (?:                                          # one class of characters first: that is searched fast
      (?<=\\) (?:
        (?P<utf16> \\* u [0-9a-fA-F]{4} (?: \\+ u [0-9a-fA-F]{4} )* )   # JSON: \u0026, in a quoted JSON text \\u0026
      | (?P<byte> \\* x [0-9a-fA-F]{2} )                     # Python and C: \x26
      | \\* (?P<mark> ["'/] )                                # JSON: \/ and \"
      | (?P<backslash> \\+ )
      )
    | (?<=%) (?P<url> (?:25)* [0-9a-fA-F]{2} (?: % (?:25)* [0-9a-fA-F]{2} )* )   # RFC 3986 section 2.1: %26, %2526
    | (?<=&) (?:amp;)* (?:
        \#0* (?P<decimal> [0-9]{2,7} ) ;                     # HTML: &#38;
      | \#[xX]0* (?P<hexadecimal> [0-9a-fA-F]{2,6} ) ;
      | (?P<name> amp | lt | gt | quot | apos ) ;
      )
    | (?<=\x00) (?P<nothing> \x00* )                        # ASCII in UTF-16, read as UTF-8
    )
    """,
    re.VERBOSE,
)
_NAMED: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_LAST_UNICODE: Final = 0x10FFFF
_BASE64URL_TO_BASE64: Final = str.maketrans("-_", "+/")
_TO_LOWER: Final = str.maketrans(ascii_uppercase, ascii_lowercase)
_BASE64_DIGITS: Final = f"{ascii_letters}{digits}+/-_"
_BASE64_RUN: Final = late_pattern(r"[A-Za-z0-9+/_-]+={0,2}")
_CUT_ENDS: Final = tuple(
    late_pattern(rf"{half_an_escape}[\"'`….\s\\]*\Z")
    for half_an_escape in ("", r"%(?:25)*[0-9a-fA-F]?", r"\\+u?x?[0-9a-fA-F]{0,3}", r"&[#0-9A-Za-z]{0,6}")
)
"""The ends of a text that was cut: half an escape, quotation marks, dots."""
_LONGEST_CUT_END: Final = 24


class HiddenValues(dict[str, Any]):
    """Fields whose values may be secrets: its `repr` shows the names alone, also in a copy by `dataclasses.asdict`."""

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{name!r}: ***' for name in self)}}}"


class NotPickled:
    """Something immutable with a secret in it: it is its own copy, and refuses pickle, which would write it down."""

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        """Refuses.

        Raises:
            TypeError: Always.
        """
        raise TypeError(f"{type(self).__name__} cannot be pickled: it may hold a key, which would be stored")


class _Span(NamedTuple):
    start: int
    end: int


class _Piece(NamedTuple):
    """A piece of a decoded text: where it begins there and in the text before, and whether it is the same in both."""

    at: int
    before: int
    is_same: bool


class DecodedText(NamedTuple):
    """A text with its escapes decoded.

    Attributes:
        inner: The text that was decoded, if it was decoded from another one itself.
    """

    text: str
    pieces: list[_Piece]
    inner: DecodedText | None = None

    def before(self, start: int, end: int) -> tuple[int, int]:
        """The place of a span before anything was decoded."""
        span = self._span_before(_Span(start, end))
        return (span.start, span.end) if self.inner is None else self.inner.before(*span)

    def _span_before(self, span: _Span) -> _Span:
        first, last = self._piece_at(span.start), self._piece_at(span.end - 1)
        start, end = self.pieces[first], self.pieces[last]
        return _Span(
            start.before + (span.start - start.at if start.is_same else 0),
            end.before + span.end - end.at if end.is_same else self.pieces[last + 1].before,
        )

    def _piece_at(self, position: int) -> int:
        return bisect_right(self.pieces, position, key=lambda piece: piece.at) - 1


class Redactor:
    """Removes a set of secrets from texts; `hidden` replaces each of them."""

    def __init__(self, secrets: Iterable[str] = (), hidden: str = HIDDEN) -> None:
        self._hidden = hidden
        self._secrets = frozenset(filter(None, secrets))
        self._wanted = [_Wanted.of(self._secrets)]

    def __repr__(self) -> str:
        return f"<Redactor of {len(self._secrets)} secrets>"

    @property
    def secrets(self) -> frozenset[str]:
        """The secrets, for something else that removes them."""
        return self._secrets

    def knows(self, secrets: Iterable[str]) -> bool:
        """Whether all these secrets are among its own."""
        return self._secrets.issuperset(filter(None, secrets))

    def with_more(self, secrets: Iterable[str]) -> Redactor:
        """A redactor that also knows these secrets."""
        return self if self.knows(secrets := [*secrets]) else Redactor(self._secrets.union(secrets), self._hidden)

    def redact(self, text: str) -> str:
        """The text without the secrets, and without a secret's beginning where the text is cut off in it."""
        if not self._secrets:
            return text
        spans = sorted(self._spans(text))
        pieces, end = [], 0
        for span in spans:
            if span.end > end:
                # Two that overlap are hidden as one.
                pieces += [text[end : span.start], self._hidden] if span.start >= end else []
                end = span.end
        return "".join((*pieces, text[end:])) if pieces else text

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """The places of the secrets in a text: the first character of each, and the one after its last."""
        return iter(sorted(self._spans(text))) if self._secrets else iter(())

    def redact_bytes(self, data: bytes) -> bytes:
        """Like :meth:`redact`, for bytes that may not be valid UTF-8."""
        if not self._secrets:
            return data
        text = data.decode(errors="surrogateescape")
        redacted = self.redact(text)
        return data if redacted is text else redacted.encode(errors="surrogateescape")

    def mask_bytes(self, data: bytes, mask: bytes = b"R") -> bytes:
        """The bytes with a mask (one byte) instead of each byte of a secret: no length and no place changes."""
        if not self._secrets:
            return data
        text = data.decode(errors="surrogateescape")
        pieces: list[bytes] = []
        end = 0
        for span in sorted(self._spans(text)):
            if span.end > end:
                start = max(span.start, end)
                pieces.append(text[end:start].encode(errors="surrogateescape"))
                pieces.append(mask * len(text[start : span.end].encode(errors="surrogateescape")))
                end = span.end
        return b"".join((*pieces, text[end:].encode(errors="surrogateescape"))) if pieces else data

    def may_go_on(self, data: bytes) -> bool:
        """Whether bytes may end in the beginning of a secret, even its first character, so that the next bytes have to
        be seen first."""
        text = data.decode(errors="surrogateescape")
        for level in range(_MOST_DECODINGS + 1):
            wanted = self._wanted_at(level)
            if any(_ends_inside(form, text) for form in wanted.plain):
                return True
            if any(_ends_inside(form, text.translate(_BASE64URL_TO_BASE64)) for form in wanted.base64):
                return True
            if any(_ends_inside(form, text.translate(_TO_LOWER)) for form in wanted.lower):
                return True
            decoded = _decode(text)
            if decoded is None:
                return False
            text = decoded.text
        return False

    def redact_values(self, value: Any, *, names: bool = False) -> Any:
        """A JSON value with all its texts redacted, at any depth; the names of its fields too if `names` is true."""
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, dict):
            return {
                self.redact(name) if names and isinstance(name, str) else name: self.redact_values(item, names=names)
                for name, item in value.items()
            }
        if isinstance(value, list | tuple):
            return type(value)([self.redact_values(item, names=names) for item in value])
        return value

    def may_find(self, value: Any) -> bool:
        """Whether the beginning of a secret is in a text of a JSON value, or in a name: one search for all of them."""
        if not self._secrets:
            return False
        texts: list[str] = []
        values = [value]
        for one in values:  # which grow
            if isinstance(one, str):
                texts.append(one)
            elif isinstance(one, dict):
                values += (*one, *one.values())
            elif isinstance(one, (list, tuple)):
                values += one
        text = "\n".join(texts)  # no escape goes over a line end, so that each text is decoded as if it were alone
        views = (text, *(view.text for view in decoded_views(text)))
        return any(self._wanted_at(level).may_be_in(view) for level, view in enumerate(views))

    def _spans(self, text: str) -> Iterator[_Span]:
        yield from self._wanted_at(0).spans(text)
        for level, view in enumerate(decoded_views(text), start=1):
            for found in self._wanted_at(level).spans(view.text):
                yield _Span(*view.before(*found))

    def _wanted_at(self, level: int) -> _Wanted:
        """The forms to search in a text that was decoded so often: an escape in a secret itself is decoded with it."""
        while level >= len(self._wanted):
            self._wanted.append(_Wanted.of(map(_decoded, self._wanted[-1].plain)))
        return self._wanted[level]


class _Wanted(NamedTuple):
    """The forms of the secrets that are searched in one view."""

    plain: tuple[str, ...]
    base64: tuple[str, ...]  # the common part of all base64 texts with a secret, in the alphabet of RFC 4648 section 4
    lower: tuple[str, ...]  # in small letters, alone and in hexadecimal digits

    @classmethod
    def of(cls, secrets: Iterable[str]) -> _Wanted:
        plain = sorted(set(secrets), key=len, reverse=True)
        long = [secret.encode(errors="surrogatepass") for secret in plain if len(secret) >= _SHORTEST_ENCODED]
        return cls(
            tuple(plain),
            tuple(form for secret in long for form in _in_base64(secret)),
            tuple(form for secret in long for form in (secret.hex(), _in_small_letters(secret))),
        )

    def may_be_in(self, text: str) -> bool:
        """Whether a view holds the beginning of a secret, whole or cut off, as nearly none does."""
        forms = [(self.plain, text)]
        if self.base64:
            forms += [(self.base64, text.translate(_BASE64URL_TO_BASE64)), (self.lower, text.translate(_TO_LOWER))]
        return any([form[:_SHORTEST_ENCODED] in view for wanted, view in forms for form in wanted])  # noqa: C419

    def spans(self, text: str) -> Iterator[_Span]:
        """The places of the secrets in a view."""
        if not self.may_be_in(text):
            return
        for secret in self.plain:
            yield from (*_found(secret, text), *_found_cut(secret, text))
        normal, lower = text.translate(_BASE64URL_TO_BASE64), text.translate(_TO_LOWER)
        for form in self.base64:
            yield from _whole_runs(text, (*_found(form, normal), *_found_cut(form, normal)))
        for form in self.lower:
            yield from (*_found(form, lower), *_found_cut(form, lower))


@lru_cache(maxsize=256)  # each answer that is captured has the same few headers
def names_a_secret(name: str) -> bool:
    """Whether the name of a header or of a query field announces a secret; other fields may hold one too."""
    return _NAMES_OF_SECRETS.search(name) is not None


def without_secrets_by_name(headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Header fields with the values hidden that are secrets by their names; the scheme of credentials stays."""
    return tuple(
        (name, _hidden_value(value)) if names_a_secret(name) and not _RATE_LIMIT.search(name) else (name, value)
        for name, value in headers
    )


def query_without_secrets(query: str) -> str:
    """The query of a URL with the values hidden that are secrets by their names."""
    pairs = [pair.partition("=") for pair in query.split("&")]
    return "&".join(f"{name}={HIDDEN}" if names_a_secret(name) else name + mark + value for name, mark, value in pairs)


def _hidden_value(value: str) -> str:
    scheme = _SCHEME.match(value)
    return HIDDEN if scheme is None else f"{scheme[0]}{HIDDEN}"


def secrets_in_header(value: str) -> Iterator[str]:
    """The possible secrets in a header's value: all of it, the part after the scheme, and its base64 content."""
    yield value
    scheme, _, rest = value.rpartition(" ")
    if not scheme:
        return
    yield rest
    if scheme.lower() == "basic":  # RFC 7617 section 2
        try:
            known = b64decode(rest, validate=True).decode()
        except ValueError:
            return
        yield known
        yield known.partition(":")[2]


def _in_base64(secret: bytes) -> Iterator[str]:
    """The base64 of a secret without the digits that depend on its neighbours, for each place in a group of three."""
    for before in range(3):
        padded = bytes(before) + secret
        whole = len(padded) * 8 // 6
        yield b64encode(padded).decode()[(before * 8 + 5) // 6 : whole]


def _in_small_letters(secret: bytes) -> str:
    return secret.decode(errors="surrogatepass").translate(_TO_LOWER)


def _found(wanted: str, text: str) -> Iterator[_Span]:
    at = text.find(wanted) if wanted else -1
    while at >= 0:
        yield _Span(at, at + len(wanted))
        at = text.find(wanted, at + 1)


def _found_cut(wanted: str, text: str) -> Iterator[_Span]:
    """The beginning of `wanted` at the very end of a text that was cut."""
    if len(wanted) <= _SHORTEST_ENCODED:
        return
    tail = max(0, len(text) - _LONGEST_CUT_END)
    for end in {found.start() for pattern in _CUT_ENDS if (found := pattern.search(text, tail)) is not None}:
        at = text.find(wanted[:_SHORTEST_ENCODED], max(0, end - len(wanted) + 1), end)
        while at >= 0:
            if wanted.startswith(text[at:end]):
                yield _Span(at, end)
                break
            at = text.find(wanted[:_SHORTEST_ENCODED], at + 1, end)


def _ends_inside(wanted: str, text: str) -> bool:
    """Whether a text ends with a prefix of `wanted`, optionally followed by a partial escape or a quotation mark."""
    tail = max(0, len(text) - _LONGEST_CUT_END)
    for end in {found.start() for pattern in _CUT_ENDS if (found := pattern.search(text, tail)) is not None}:
        at = text.find(wanted[:1], max(0, end - len(wanted) + 1), end)
        while at >= 0:
            if wanted.startswith(text[at:end]):
                return True
            at = text.find(wanted[:1], at + 1, end)
    return False


def _whole_runs(text: str, spans: Iterable[_Span]) -> Iterator[_Span]:
    """The whole base64 texts around spans in order: their first and last digits hold a part of the secret too."""
    end = 0
    for span in spans:
        if span.start < end:
            continue
        start = end + len(text[end : span.start].rstrip(_BASE64_DIGITS))
        rest = _BASE64_RUN.match(text, span.start)
        end = span.end if rest is None else rest.end()
        yield _Span(start, end)


def decoded_views(text: str) -> Iterator[DecodedText]:
    """The text with its escapes decoded, once, and again until nothing is left to decode; nothing for plain text."""
    view = _decode(text)
    for _ in range(_MOST_DECODINGS):
        if view is None:
            return
        yield view
        decoded = _decode(view.text)
        view = None if decoded is None else decoded._replace(inner=view)


def _decoded(text: str) -> str:
    view = _decode(text)
    return text if view is None else view.text


def _decode(text: str) -> DecodedText | None:
    """The text with its escapes decoded; None for one without any."""
    texts: list[str] = []
    pieces: list[_Piece] = []
    at = before = 0
    for escape in _ESCAPES.finditer(text):
        start, end = escape.span()
        if start > before:
            texts.append(text[before:start])
            pieces.append(_Piece(at, before, True))
            at += start - before
        kind = str(escape.lastgroup)
        decoded = _MEANINGS[kind](escape[kind])
        texts.append(decoded)
        pieces.append(_Piece(at, start, False))
        at += len(decoded)
        before = end
    if not pieces:
        return None
    texts.append(text[before:])
    pieces += (_Piece(at, before, True), _Piece(at + len(text) - before, len(text), False))
    return DecodedText("".join(texts), pieces)


def _utf16(escapes: str) -> str:
    units = "".join(digits[:4] for digits in escapes.split("u")[1:])
    return bytes.fromhex(units).decode("utf-16-be", errors="surrogatepass")


def _url(escapes: str) -> str:
    """The text of `2F`, `252F` or `E2%82%AC`: each byte is the last two digits after a percent sign."""
    return bytes.fromhex("".join(escape[-2:] for escape in escapes.split("%"))).decode(errors="replace")


def _code_point(number: int) -> str:
    return chr(number) if number <= _LAST_UNICODE else ""


_MEANINGS: Final[Mapping[str, Callable[[str], str]]] = {
    "utf16": _utf16,
    "byte": lambda escape: chr(int(escape[-2:], 16)),
    "mark": lambda mark: mark,
    "backslash": lambda _: "\\",
    "url": _url,
    "decimal": lambda digits: _code_point(int(digits)),
    "hexadecimal": lambda digits: _code_point(int(digits, 16)),
    "name": lambda name: _NAMED[name],
    "nothing": lambda _: "",
}
"""The meaning of an escape, by the group of the pattern that found it."""
