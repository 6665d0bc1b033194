"""What keys and ids of people look like, what stays in a redacted recording, and what a field is by its name: as data.

A rule has words of which a text must hold one, and a pattern: so most rules cost a search for a word. The patterns were
written after the shapes that issuers document; the word lists of gitleaks (`gitleaks.toml`) and of detect-secrets 1.5.0
were read to see that no issuer of model servers is missing. A pattern ends where its characters end, and takes fewer of
them at the end of a text: an answer that was cut may hold the beginning of a key. :class:`Search` finds keys in
whichever form they are there: plain, escaped for JSON, a URL or HTML, or in base64.

Words of protocols, names of tools and models, versions and sentences of servers stay, unless their form names a person
or a machine: an address of mail, a folder, a host, a network, a universal id. A field without a row is text, and is
redacted as if a person had written it.
"""

from __future__ import annotations
import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from partstream.codec.checks import dataclass, field
from partstream.codec.json_codec import loads
from partstream.codec.redaction import Redactor, decoded_views, names_a_secret
from partstream.lm.outputs import GATEWAY_CALL_ID_PREFIX
from partstream_devtools.redaction.json_places import FieldPath, Meaning

# ---- Keys and ids ----

SHORTEST_ENCODED: Final = 16  # digits of a base64 or hexadecimal text that is decoded and searched


@dataclass(frozen=True, slots=True)
class SecretRule:
    """One kind of secret; its name is for the counts of a redaction.

    A text without any of the words, in small letters, is not searched. The group `secret` of the pattern is hidden;
    without such a group, all of it.
    """

    name: str
    words: tuple[str, ...]
    pattern: re.Pattern[str] = field(repr=False)


def _token(row: Mapping[str, Any]) -> SecretRule:
    """A key by a row of `keys.json`: a pattern, then `least` characters of a class, or fewer at the end of the text.

    A text must hold one of the `words`, which are missing where the prefix is the word. `why` is for readers of the
    file.
    """
    characters = row["characters"]
    start = _START if row.get("begins_a_word") else ""
    pattern = rf"{start}{row['prefix']}(?:[{characters}]{{{row['least']},}}|[{characters}]+\Z)"
    return SecretRule(row["name"], tuple(row.get("words", row["prefix"]).lower().split()), re.compile(pattern))


def _named(text: str) -> Iterator[SecretRule]:
    """The secrets that are known by what comes before them: a block each of `named_secrets.txt`.

    Its first line has the name and the words, the others a verbose pattern; a name in angles is that of a piece of the
    patterns after it.
    """
    pieces: dict[str, str] = {}
    for block in text.split("\n\n"):
        head, *lines = (line for line in block.splitlines() if not line.startswith("#"))
        name, _, words = head[1:].partition("]")
        pattern = "\n".join(lines)
        for piece, said in pieces.items():
            pattern = pattern.replace(piece, said)
        if name.startswith("<<"):
            pieces[name] = pattern
        else:
            yield SecretRule(name, tuple(words.split()), re.compile(pattern, re.IGNORECASE | re.VERBOSE))


_START: Final = r"(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt]))"
"""Where a word begins, also after an escape of JSON in a text."""

_FILE: Final[Mapping[str, Any]] = loads(Path(__file__).with_name("keys.json").read_bytes())

RULES: Final[tuple[SecretRule, ...]] = (
    *map(_token, _FILE["keys"]),
    SecretRule(
        "json-web-token",
        ("eyj",),
        # RFC 7519: a head in base64. One that is cut is known by the names of the first fields. The first `eyJ` of a
        # run of letters decides for all of it: from each, the rest would be searched again.
        re.compile(
            r"(?<![\w-])(?>[\w-]*?(?=eyJ))(?P<secret>eyJ[\w-]{4,}+(?:\.[\w-]++){2,4}\.?)|eyJ(?:hbGci|0eXAi|raWQi|lbmMi|jdHki|4NXQi)[\w-]*(?:\.[\w-]*){0,2}",
            re.ASCII,
        ),
    ),
    SecretRule(
        "private-key",
        ("-----begin",),
        # Line breaks may be escapes. A block that is cut goes on to the end of the text.
        re.compile(
            r"-----BEGIN[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
            r"(?P<secret>.*?)(?:-----END[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----|\Z)",
            re.DOTALL,
        ),
    ),
    *_named(Path(__file__).with_name("named_secrets.txt").read_text(encoding="utf-8")),
)
"""The rules for keys, each with a row in packages/partstream-devtools/tests/bundles/test_redaction_rules.py."""

PERSON_RULES: Final[tuple[SecretRule, ...]] = tuple(map(_token, _FILE["persons"]))
"""The rules for ids of people, as error messages hold them."""


# ---- Names that stay ----


def _lists(text: str) -> Iterator[tuple[str, frozenset[str]]]:
    """The lists of `names.txt`: a block each, of comments, a head in brackets, and words with blanks between them."""
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        yield lines[0][1:-1], frozenset(" ".join(lines[1:]).split())


_LISTS: Final = dict(_lists(Path(__file__).with_name("names.txt").read_text(encoding="utf-8")))

ID_PREFIXES: Final = _LISTS["id prefixes"]
"""What ids begin with that say their kind."""

WRAPPINGS: Final = (GATEWAY_CALL_ID_PREFIX,)
"""What readers put before the ids of servers, see :attr:`partstream.lm.outputs.StreamOptions.call_id_prefix`."""

LINKED_ENDINGS: Final = ("png", "jpg", "jpeg", "gif", "webp", "avif", "heic", "pdf")
"""Endings of addresses by which readers tell the kind of a file."""

TOOL_NAMES: Final = _LISTS["tools of VS Code"] | _LISTS["tools of servers"] | _LISTS["other names"]

HEADERS_KEPT: Final = _LISTS["headers"]
"""Header fields whose values stay; those of :data:`HEADER_ENDINGS_KEPT` stay too."""

HEADER_ENDINGS_KEPT: Final = ("-version", "-beta", "-processing-ms", "-streaming", "-stream")
"""What the names of header fields end with that say how a wire is spoken."""

PATH_WORDS: Final = _LISTS["path segments"]
"""Segments of paths that stay."""


# ---- Sentences of servers that stay ----

SENTENCES: Final = Path(__file__).with_name("sentences.txt").read_text(encoding="utf-8")
"""The words of the sentences of servers, which hold no words of a person."""


# ---- Fields by name, for requests, documents and events without a table ----


_FIELDS: Final = "fields: "
_BY_NAME: Final = {
    name: Meaning(head.removeprefix(_FIELDS))
    for head, names in _LISTS.items()
    if head.startswith(_FIELDS)
    for name in names
}
"""By the name in small letters, its words joined by underscores."""

_TIMES: Final = _LISTS["times"]
_IDS: Final = re.compile(r"(?:^|_)ids?$|^(?:system_)?fingerprint$|^conversation$|^container$|^previous_interaction$")
_SECRETS: Final = re.compile(
    r"(?:^|_)(?:pass(?:word|wd|phrase|code)|pwd|secret|api_?key|authorization|access_token|refresh_token|id_token"
    r"|auth_token|session_token|subscription_key|bearer|client_secret|secret_key|private_key|access_key|credentials?|cookies?|set_cookie|authorization_token"
    r"|connection_string|(?:private|access)_key_id|secret_id)$"
)
_OF_SERVERS: Final = frozenset({"headers", "extra_headers", "http_headers", "env", "authentication"})
"""Objects with what a server of tools or of data is asked or started with."""
_FREE: Final = frozenset({"input", "args", "arguments", "snapshot", "raw_event", "$value", "tool_input"})
"""Objects whose fields a tool or a program has named: none of the names above means anything in them."""
_ITEMS: Final = "input[]"
"""The items of a request of OpenResponses; what a tool gets is an object, or is deeper."""
_FREE_UNDER: Final = frozenset({("function_response", "response"), ("output", "value"), ("", "state")})
_WORDS_UNDER: Final = frozenset(
    {("finish_reason", "raw"), ("finish_reason", "unified"), ("incomplete_details", "reason")}
)
_NUMBERS_OF_TEXT: Final = frozenset({"bytes", "token_ids", "prompt_token_ids", "context", "tokens", "embedding"})
"""Lists of numbers that are text in another form, such as the bytes of a token."""

_NUMBERS: Final = _LISTS["numbers"]
"""Numbers that wires know: how much, which one, how likely."""
_NUMBER_ENDINGS: Final = ("_index", "_tokens", "_count", "_duration", "_ms", "_seconds", "_cost", "logprob")
_NUMBERS_UNDER: Final = re.compile(
    r"(?:^|\.)(?:[a-z_]*usage(?:_?metadata)?|timings|rate_limits)(?:\.|\[)", re.IGNORECASE
)
"""Objects whose numbers all are such."""
_CHOSEN_UNDER: Final = re.compile(r"(?:^|\.)(?:metadata|properties|\$?defs|definitions|labels)(?:\.|$)", re.IGNORECASE)
"""Objects whose fields a person or a tool has named."""
_LARGEST_KNOWN: Final = 7
"""Digits of a number whose name alone says that a wire knows it: a telephone has more."""

_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[-. ]")
_PLAIN_WORD: Final = re.compile(
    r"(?:[a-z]{1,20}|[A-Z]{1,20}|[A-Z][a-z]{1,19}|(?:[A-Z]?[a-z]{1,14}){0,1}(?:[A-Z][a-z]{1,14}){1,5}|[0-9]{1,8}"
    r"|[A-Za-z]{1,8}[0-9]{1,4}[A-Za-z]{0,4}|[0-9]{1,4}[A-Za-z]{1,4}[0-9]{0,2}|[A-Z]{1,4}[a-z]{1,12})"
)
_BETWEEN_WORDS: Final = re.compile(r"[ ._/:+@,;=~-]+")
_LONGEST_WORD: Final = 100


@cache
def _snake(name: str) -> str:
    return _HUMP.sub("_", name).lower()


def meaning_by_name(place: FieldPath) -> Meaning:
    """What the string at a place most likely is."""
    if place.meaning is None:
        place.meaning = _meaning_by_name(place)
    return place.meaning


def _meaning_by_name(place: FieldPath) -> Meaning:
    name = _snake(place.name)
    is_named = place.parent is not None and _snake(place.parent.name) in _OF_SERVERS and names_a_secret(place.name)
    if is_named or _SECRETS.search(name):
        return Meaning.SECRET
    if is_free(place):
        return Meaning.SECRET if name == "token" else Meaning.TEXT
    meaning = _BY_NAME.get(name)
    if place.parent is not None and (_snake(place.parent.name), name) in _WORDS_UNDER:
        return Meaning.WORD
    if meaning is not None:
        return meaning
    if name in _TIMES:
        return Meaning.TIME
    return Meaning.ID if _IDS.search(name) else Meaning.TEXT


def is_free(place: FieldPath) -> bool:
    """Whether a tool or a program has named the field, or one that holds it."""
    inner, above = place, place.parent
    while above is not None:
        # A list is no such object, and those in the list of a request are its items.
        if not inner.path.endswith("[]") and above.path != _ITEMS:
            outer = "" if above.parent is None else _snake(above.parent.name)
            if (name := _snake(above.name)) in _FREE or (outer, name) in _FREE_UNDER:
                return True
        inner, above = above, above.parent
    return False


def is_time(place: FieldPath) -> bool:
    """Whether a number at a place is a moment."""
    return _snake(place.name) in _TIMES


def holds_numbers_of_text(place: FieldPath) -> bool:
    """Whether a number at a place is a piece of a text, such as a byte of it."""
    is_listed = place.path.endswith("[]") and _snake(place.name) in _NUMBERS_OF_TEXT
    return is_listed or place.name in ("token_id", "numberValue") or place.name.isdecimal()


def is_known_number(place: FieldPath, raw: str) -> bool:
    """Whether wires have a number at a place: it counts or chooses, and says no more of a person than usage does."""
    if _CHOSEN_UNDER.search(place.path):
        return False
    name = _snake(place.name)
    if name.endswith(_NUMBER_ENDINGS) or _NUMBERS_UNDER.search(place.path):
        return True
    return name in _NUMBERS and len(raw.partition(".")[0]) <= _LARGEST_KNOWN


def meaning_of_name(place: FieldPath) -> Meaning:
    """What the name of a field is: that of an argument in a call, or in the schema of a tool, or a word of the wire."""
    above = place.parent
    is_in_schema = above is not None and above.name in ("properties", "patternProperties")
    return Meaning.ARGUMENT_NAME if is_in_schema or is_free(place) else Meaning.PROPERTY


_BARE: Final = re.compile(r"-?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]*)?|true|false|null|NaN|-?Infinity")


def is_bare(text: str) -> bool:
    """Whether a text is a number or a word that JSON has without quotation marks."""
    return _BARE.fullmatch(text) is not None


def is_plain_word(text: str) -> bool:
    """Whether a text is a word of a protocol or the name of a model, by its form: no key and no sentence looks so."""
    return len(text) <= _LONGEST_WORD and all(
        _PLAIN_WORD.fullmatch(word) is not None for word in _BETWEEN_WORDS.split(text) if word
    )


# ---- Forms that name a person or a machine ----

_PERSONAL: Final = re.compile(
    r"""
      [^\s@<>()"'=,;]{1,100} @ [^\s@<>()"',;]{1,100}                              # mail, and user@host
    | (?: ~ | \b[A-Za-z]: )? (?<![\\/]) [\\/]++                                    # from the first slash alone
      (?: home|users|root|var|opt|srv|mnt|data|tmp|private|volumes|documents\ and\ settings ) [\\/] [^\s"'<>()]*
    | \b [a-z][a-z0-9+.-]{1,15} :// [^\s"'<>()]+
    | (?<![\d.]) \d{1,3} (?: \.\d{1,3} ){3} (?![\d.]*\d)                          # IPv4
    | (?<![\w:]) (?: [0-9a-f]{1,4} : ){1,7} (?: : [0-9a-f]{0,4} (?: : [0-9a-f]{1,4} ){0,6} )   # IPv6, shortened
    | (?<![\w:]) (?: [0-9a-f]{1,4} : ){7} [0-9a-f]{1,4}
    | \b [0-9a-f]{8} (?: -[0-9a-f]{4} ){3} -[0-9a-f]{12}
    | \b (?: [a-z0-9-]{1,63} \. ){1,8} (?: internal|local|corp|lan|intranet|home|localdomain )\b
    | \b (?: [a-z0-9-]{1,63} \. ){2,8} (?: com|net|org )\b
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_AT_THE_ROOT: Final = re.compile(r"(?:/|~|[A-Za-z]:[\\/]|\\\\)")


def names_a_person(text: str) -> bool:
    """Whether a text names a person or a machine, or is a path from the root of a file system."""
    return _AT_THE_ROOT.match(text) is not None or _PERSONAL.search(text) is not None


def without_personal(text: str, hidden: Callable[[str], str]) -> str:
    """The text, with a stand-in of the same length for what names a person or a machine."""
    return _PERSONAL.sub(lambda found: hidden(found[0]), text)


# ---- Searching ----

_RUN: Final = re.compile(rf"[A-Za-z0-9+/_-]{{{SHORTEST_ENCODED},}}+={{0,2}}")
_HEX_RUN: Final = re.compile(rf"[0-9a-fA-F]{{{2 * SHORTEST_ENCODED},}}")
_TO_BASE64: Final = str.maketrans("-_", "+/")
_MOST_LAYERS: Final = 2
"""Base64 in base64 is still read; anything deeper is no form in which a server repeats a key."""
_SHORTEST_KNOWN: Final = 8


class Found(NamedTuple):
    """Where a key is in a text, up to the character after its last, and the rule that found it."""

    start: int
    end: int
    rule: str


class Search:
    """Looks for keys in texts, also those that are known from elsewhere, such as the headers of a request."""

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
                for match in rule.pattern.finditer(text):
                    groups = match.groupdict()
                    group = next((name for name in ("secret", "quoted") if groups.get(name)), 0)
                    yield Found(match.start(group), match.end(group), rule.name)

    def _encoded(self, text: str, layers: int) -> Iterator[Found]:
        for run in _RUN.finditer(text):
            for offset in range(4):
                whole = run[0][offset:].rstrip("=").translate(_TO_BASE64)
                whole = whole[: len(whole) - (len(whole) % 4 == 1)]
                decoded = b64decode(whole + "=" * (-len(whole) % 4)).decode("latin-1")
                if self._holds_a_key(decoded, layers - 1):
                    yield Found(run.start(), run.end(), "encoded-secret")
                    break
        for run in _HEX_RUN.finditer(text):
            decoded = bytes.fromhex(run[0][: len(run[0]) // 2 * 2]).decode("latin-1")
            if self._holds_a_key(decoded, layers - 1):
                yield Found(run.start(), run.end(), "encoded-secret")

    def _holds_a_key(self, text: str, layers: int) -> bool:
        return next(self._by_rules(text, layers), None) is not None
