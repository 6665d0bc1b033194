"""Replaces one text by its stand-in, by what the text is and by the level of the redaction.

A stand-in has as many characters as the text, each as long in UTF-8, so that the pieces of a text can be replaced by
the pieces of its stand-in, and the borders of chunks and the rhythm stay. White space, punctuation, combining marks,
joiners and bidirectional controls stay too, because bugs depend on them
(docs/wires/practice.md#stand-ins-that-keep-the-shape). Opaque state and files in base64 stay base64. Ids, names of
tools and links get other names of the same length, the same one everywhere in a recording. Moments become relative: the
first of a recording becomes 0, or the first second of 1970.

Error messages of servers keep the words of known sentences (docs/wires/practice.md#known-sentences-of-servers), which
come from :mod:`partstream.protocols.errors` and the tables of the protocols. A word of them stays only among others of
them: a word alone is more likely a person's.
"""

from __future__ import annotations
import re
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from string import ascii_lowercase
from typing import Final
from unicodedata import category

from partstream.codec.json_codec import loads
from partstream_devtools.bundles.exchange import RedactionLevel, nanoseconds_of
from partstream_devtools.redaction import rules
from partstream_devtools.redaction.json_places import FieldPath, Meaning, read_fields, read_raw, write_raw

# ---- Stand-ins ----

HIDDEN: Final = "R"
"""The stand-in for each character of a key: a stand-in that kept classes would still show its form."""

EMOJI: Final = "\U0001f600"

_LETTERS: Final = ("", "x", "é", "字", EMOJI)
"""By the number of bytes in UTF-8."""
_CAPITALS: Final = ("", "X", "É", "字", EMOJI)
_DECIMALS: Final = ("", "0", "\u0660", "\u0966", "\U0001d7ce")
_OTHER_NUMBERS: Final = ("", "0", "²", "①", "\U0001f100")
_SIGNS: Final = ("", "x", "©", "☆", EMOJI)
_PRIVATE: Final = ("", "x", "é", "\ue000", "\U000f0000")

_BY_CATEGORY: Final = {
    "Lu": _CAPITALS,
    "Lt": _CAPITALS,
    "Ll": _LETTERS,
    "Lm": _LETTERS,
    "Lo": _LETTERS,
    "Nd": _DECIMALS,
    "Nl": _OTHER_NUMBERS,
    "No": _OTHER_NUMBERS,
    "So": _SIGNS,
    "Co": _PRIVATE,
    "Cn": _LETTERS,
}
"""Categories of Unicode whose characters say something; those of all others stay."""

_INVISIBLE: Final = {0xE0000: 0x80, 0xE0100: 0xF0}
"""Tags, and variation selectors of the second block: whole texts are hidden in them. By the first: how many."""

_BYTE_CLASSES: Final = (
    (0x80, 0x8F), (0x90, 0x9F), (0xA0, 0xBF), (0xC0, 0xC1), (0xC2, 0xDF), (0xE0, 0xE0), (0xE1, 0xEC), (0xED, 0xED),
    (0xEE, 0xEF), (0xF0, 0xF0), (0xF1, 0xF3), (0xF4, 0xF4), (0xF5, 0xFF),
)  # fmt: skip
"""Bytes that every decoder of UTF-8 treats alike where they are wrong (Unicode 17, table 3-7)."""
_BYTES: Final = tuple(first for first, last in _BYTE_CLASSES for _ in range(first, last + 1))
"""The stand-in of each byte from 0x80 on: text in another encoding is made of them."""


def _stand_in_of(code: int) -> int:
    """The code point that replaces another."""
    for first, count in _INVISIBLE.items():
        if first <= code < first + count:
            return first + (0x78 if first == 0xE0000 else 0)
    if 0xDC80 <= code <= 0xDCFF:
        return 0xDC00 + _BYTES[code - 0xDC80]
    character = chr(code)
    row = _BY_CATEGORY.get(category(character))
    return code if row is None else ord(row[len(character.encode())])


class _StandIns(dict[int, int]):
    """The table for `str.translate`; a row is made when it is first needed."""

    def __missing__(self, code: int) -> int:
        self[code] = stand_in = _stand_in_of(code)
        return stand_in


_TABLE: Final = _StandIns()
_PAIR: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_EMOJI_PAIR: Final = "\ud83d\ude00"
_KEPT: Final = re.compile(
    r"""
      R (?: [/\\"'\s%:.,;&=-]{0,2} R){3,}    # the stand-in of a key
    | (?<!\\) \\++ u0052                     # the same in JSON in a text
    | (?<=\\) [bfnrt]                        # an escape of JSON in a text: what holds it stays JSON
    | (?P<escape> (?<=\\) u [0-9a-fA-F]{4} )
    | (?P<pair> [\ud800-\udbff] [\udc00-\udfff] )
    """,
    re.VERBOSE,
)
_MAY_STAY: Final = re.compile(r"RR|R.{1,2}R|\\|[\ud800-\udbff]", re.DOTALL)


def stand_in(text: str) -> str:
    """The text with a stand-in for each character that says something; of the same length, also in UTF-8.

    A lone surrogate stays: it is no character; a byte that is no UTF-8, which is one there, becomes another of
    its class. Stand-ins of keys stay too, so that nothing changes in a text that was redacted before.
    """
    if _MAY_STAY.search(text) is None:
        return text.translate(_TABLE)
    pieces, end = [], 0
    for kept in _KEPT.finditer(text):
        pieces.append(text[end : kept.start()].translate(_TABLE))
        end = kept.end()
        pieces.append(_kept(kept))
    pieces.append(text[end:].translate(_TABLE))
    return "".join(pieces)


def _kept(match: re.Match[str]) -> str:
    if match["pair"]:  # a character of UTF-16 in two pieces, joined
        return _EMOJI_PAIR
    return "u0078" if match["escape"] else match[0]


_HELD: Final = re.compile(
    r"""
      (?P<escape> (?<=\\) u [0-9a-fA-F]{4} )
    | (?<=\\) [bfnrt]
    | (?P<plain> [!#-&(-\[\]-~]+ )              # ASCII without blanks, quotation marks and backslashes
    """,
    re.VERBOSE,
)


def hide(text: str) -> str:
    """The text with the stand-in for keys: every character of ASCII is hidden, except what JSON around it needs."""
    return _HELD.sub(_hidden, stand_in(text) if not text.isascii() else text)


def _hidden(match: re.Match[str]) -> str:
    if match["plain"]:
        return HIDDEN * len(match[0])
    return "u0052" if match["escape"] else match[0]


# ---- Opaque state and files ----

_MAGIC: Final = 16
"""The first bytes of a file name its type (docs/wires/practice.md#opaque-state-and-media)."""
_KINDS: Final = (
    re.compile(rb"\x89PNG\r\n\x1a\n"),
    re.compile(rb"\xff\xd8\xff"),
    re.compile(rb"GIF8[79]a"),
    re.compile(rb"RIFF.{4}(?:WEBP|WAVE|AVI )", re.DOTALL),
    re.compile(rb".{4}ftyp", re.DOTALL),
    re.compile(rb"II\*\x00|MM\x00\*"),
    re.compile(rb"%PDF-"),
    re.compile(rb"OggS"),
    re.compile(rb"ID3|\xff[\xfb\xf3\xf2]"),
    re.compile(rb"PK\x03\x04"),
    re.compile(rb"\x1f\x8b"),
)
_SHORTER: Final = ((b"\x1f\x8b", 3), (b"ID3", 10))
"""Kinds whose first sixteen bytes may hold a part of the content, such as the name of a file: how many of them stay."""
_WITH_SIZE: Final = re.compile(rb"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR")
_SIZE_END: Final = 24
"""Width and height of a PNG follow its first sixteen bytes."""

_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_SHORTEST: Final = 8
_SHORTEST_IN_TEXT: Final = 24
"""Digits of a text that may be a file in base64: less than that is a word."""
_HIDDEN: Final = re.compile(r"[^=\s\"'\\]")
_DATA_URL: Final = re.compile(
    r"(?P<kind>data:[a-z]{0,20}/?[\w.+-]{0,60})(?P<parameters>(?:;[\w.+/%=~!*'()-]{0,200})*?)(?P<mark>;base64,)",
    re.IGNORECASE | re.ASCII,
)
_CHARSET: Final = re.compile(r"(?:;charset=[\w-]{1,20})?", re.IGNORECASE | re.ASCII)
_TO_BASE64: Final = str.maketrans("-_", "+/")


def hidden_bytes(data: bytes) -> bytes:
    """Bytes of a file: the first ones stay if they say its kind, the others become zero."""
    kept = 0
    if any(kind.match(data) for kind in _KINDS):
        kept = _SIZE_END if _WITH_SIZE.match(data) else _MAGIC
        kept = next((most for head, most in _SHORTER if data.startswith(head)), kept)
    return data[:kept] + bytes(max(0, len(data) - kept))


def is_media(text: str, *, in_text: bool = False) -> bool:
    """Whether a text is the base64 of a file whose first bytes say its kind; `in_text`, a short one is a word."""
    if len(text) < (_SHORTEST_IN_TEXT if in_text else _SHORTEST) or _BASE64.fullmatch(text) is None:
        return False
    head = _head(text)
    return any(kind.match(head) for kind in _KINDS)


def hidden_media(text: str) -> str:
    """A file in base64, of the same length; what is no base64 is hidden like opaque state."""
    if not is_media(text):
        return hidden_state(text)
    head = hidden_bytes(_head(text) + bytes(_SIZE_END))[:_SIZE_END]
    kept = b64encode(head).decode()
    if "-" in text or "_" in text:
        kept = kept.replace("+", "-").replace("/", "_")
    kept = kept[: len(text) // 4 * 4 - 4]
    return kept + hidden_state(text[len(kept) :])


def hidden_state(text: str) -> str:
    """Opaque state: the digit for zero bits in each place; the signs at the end of base64 stay."""
    return _HIDDEN.sub(lambda sign: "A" if sign[0].isascii() else stand_in(sign[0]), text)


def hidden_data_url(text: str) -> str | None:
    """A data URL (RFC 2397) without its content; None for any other text."""
    head = _DATA_URL.match(text)
    if head is None:
        return None
    said = head["parameters"]  # such as the name of a file
    parameters = said if _CHARSET.fullmatch(said) else stand_in(said)
    return head["kind"] + parameters + head["mark"] + hidden_media(text[head.end() :])


def _hidden_file(text: str, *, in_text: bool = False) -> str | None:
    """A data URL or a file in base64 without its content; None for any other text."""
    return hidden_media(text) if is_media(text, in_text=in_text) else hidden_data_url(text)


def _head(text: str) -> bytes:
    """The first bytes of a base64 text."""
    digits = text[: 4 * _SIZE_END // 3].rstrip("=").translate(_TO_BASE64)
    digits = digits[: len(digits) // 4 * 4]
    return b64decode(digits)


# ---- New names ----

_SHORT_NUMBER: Final = re.compile(r"[0-9]{1,3}")
_PREFIX: Final = re.compile(rf"(?:{'|'.join(sorted(rules.ID_PREFIXES, key=len, reverse=True))})[_-]?")
_ANY: Final = re.compile(r"[A-Za-z0-9]")
_ERROR_CLASS: Final = re.compile(r"(?:[A-Z][A-Za-z]{0,30}_)?[A-Z][A-Za-z]{1,50}(?:Error|Exception)")
"""Errors of the AI SDK have their class in a field `name`."""
_LINK_HEAD: Final = re.compile(r"[a-z][a-z0-9+]{1,15}://", re.IGNORECASE)
_LINK_END: Final = re.compile(rf"\.(?:{'|'.join(rules.LINKED_ENDINGS)})\Z", re.IGNORECASE)


class Renaming:
    """New names for the values of one kind, in the order in which they come.

    `form` makes of a value the template of its new name, and the places in it that a counter may fill; None keeps it.
    """

    def __init__(self, form: Callable[[str], tuple[str, list[int]] | None]) -> None:
        self._form = form
        self._names: dict[str, str] = {}
        self._taken: set[str] = set()

    def __len__(self) -> int:
        return len(self._names)

    def known(self, value: str) -> str | None:
        """The new name of a value that has one, or None."""
        return self._names.get(value)

    def name_of(self, value: str) -> str:
        """The new name of a value; of another value, it is another one, as far as the length leaves room."""
        name = self._names.get(value)
        if name is None:
            head = next(
                (one for one in rules.WRAPPINGS if value.startswith(one) and value[len(one) :] in self._names), None
            )
            if head is not None:  # the id of a server, as a reader returns it
                return head + self._names[value[len(head) :]]
            formed = self._form(value)
            name = value if formed is None else self._new(*formed)
            self._names[value] = name
        return name

    def _new(self, template: str, places: list[int]) -> str:
        room = min(len(ascii_lowercase) ** len(places), 1 << 20)
        count = len(self._taken)
        name = template
        for number in range(count, count + min(room, 1000)):
            name = _numbered(template, places, number % room)
            if name not in self._taken:
                break
        self._taken.add(name)
        return name


def _numbered(template: str, places: list[int], number: int) -> str:
    """The template with a number in letters at its places, the last letter at the last one."""
    letters = list(template)
    for place in reversed(places):
        number, digit = divmod(number, len(ascii_lowercase))
        letters[place] = ascii_lowercase[digit]
    return "".join(letters)


def id_form(value: str) -> tuple[str, list[int]] | None:
    """An id: what says its kind stays, such as `call_`, and so do signs; a short number stays whole."""
    prefix = _PREFIX.match(value)
    start = prefix.end() if prefix is not None else 0
    if start == len(value) or _SHORT_NUMBER.fullmatch(value, start):
        return None
    body = stand_in(value[start:])
    return value[:start] + body, [start + at.start() for at in _ANY.finditer(body)]


def tool_form(value: str) -> tuple[str, list[int]] | None:
    """The name of a tool: those of VS Code and of servers stay, others become `tool_` and letters."""
    if value in rules.TOOL_NAMES or _ERROR_CLASS.fullmatch(value):
        return None
    plain = stand_in(value)
    if not plain.isascii():
        return plain, [at.start() for at in _ANY.finditer(plain)]
    start = next((len(head) for head in ("tool_", "t") if len(plain) > len(head)), 0)
    return "tool_"[:start] + "a" * (len(plain) - start), list(range(start, len(plain)))


def link_form(value: str) -> tuple[str, list[int]] | None:
    """An address: its scheme stays, and the ending that says the kind of a file."""
    head, ending = _LINK_HEAD.match(value), _LINK_END.search(value)
    start, end = head.end() if head else 0, ending.start() if ending else len(value)
    if start >= end:
        return None
    body = stand_in(value[start:end])
    places = [start + at.start() for at in _ANY.finditer(body)]
    return value[:start] + body + value[end:], places[-3:]


# ---- Sentences of servers ----

_LETTERS_OF_WORD: Final = re.compile(r"[A-Za-z]+(?:'[a-z]{1,2})?")
_WORDS: Final = frozenset(word.lower() for word in _LETTERS_OF_WORD.findall(rules.SENTENCES))
_TOKEN: Final = re.compile(
    r"(?P<word>[A-Za-z]+(?:'[a-z]{1,2})?)(?![\w-])"
    r"|(?P<address>[0-9]{1,3}(?:\.[0-9]{1,3}){3})(?![A-Za-z0-9])"
    r"|(?P<number>[0-9]{1,7}(?:[.,][0-9]{1,6})*(?:ms|[smhd%])?)(?![A-Za-z0-9])"
    r"|(?P<other>\w+(?:[.-]\w+)*)"
)
_MOST_BETWEEN: Final = 4  # characters between two words of one sentence


def hidden_sentence(text: str, name_of: Callable[[str], str | None]) -> str:
    """The text, with stand-ins for all that is no part of a known sentence.

    `name_of` returns the name of an id or a tool that other fields of the recording name, and None for other words.
    """
    pieces: list[str] = []
    end = 0
    for start, stop, said in _sentences_kept(text, name_of):
        pieces += (stand_in(text[end:start]), said)
        end = stop
    return "".join((*pieces, stand_in(text[end:])))


def _sentences_kept(text: str, name_of: Callable[[str], str | None]) -> list[tuple[int, int, str]]:
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
    words = _LETTERS_OF_WORD.findall(token[0]) if token.lastgroup == "word" else token[0].split("_")
    return all(word.lower() in _WORDS for word in words)


def _is_sentence(run: list[tuple[int, int, str]], tokens: int) -> bool:
    return len(run) > 1 or len(run) == tokens


# ---- Moments ----

_ISO: Final = re.compile(
    r"\d{4}-\d\d-\d\d(?P<between>[T ])\d\d:\d\d:\d\d(?P<fraction>[.,]\d{1,9})?(?P<zone>Z|[+-]\d\d:?\d\d)?"
)
_LEAST: Final = 100_000_000
"""A smaller number is no moment since 1970, but a duration."""
_HTTP_DATE: Final = re.compile(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT")
_EPOCH: Final = "Thu, 01 Jan 1970 00:00:00 GMT"


class Moments:
    """The moments of a recording."""

    def __init__(self) -> None:
        self._first_number: dict[int, float] = {}  # by the number of digits: seconds, milliseconds ...
        self._first_text: int | None = None

    def number(self, raw: str) -> str:
        """A number of seconds or of parts of them, as a number of the same length; blanks fill it up."""
        try:
            moment = float(raw) if "." in raw else int(raw)
        except ValueError:
            return raw
        unit = len(raw.partition(".")[0])
        if moment < _LEAST:
            return raw
        first = self._first_number.setdefault(unit, moment)
        since = moment - first
        text = str(since) if isinstance(since, int) else f"{since:.9f}"
        return text[: len(raw)].ljust(len(raw))

    def text(self, said: str) -> str:
        """A moment as ISO 8601 writes it, of the same length; a stand-in for every other text."""
        match, nanoseconds = _ISO.fullmatch(said), nanoseconds_of(said)
        if match is None or nanoseconds is None:
            return hidden_date(said)
        if self._first_text is None:
            self._first_text = nanoseconds
        since = max(0, nanoseconds - self._first_text)
        return _written(match, since)


def hidden_date(value: str) -> str:
    """The date of a header, without what it says."""
    return _EPOCH if _HTTP_DATE.fullmatch(value) else stand_in(value)


def _written(match: re.Match[str], since: int) -> str:
    seconds, nanoseconds = divmod(since, 1_000_000_000)
    days, seconds = divmod(seconds, 86_400)
    day = min(days, 27) + 1
    clock = f"1970-01-{day:02}{match['between']}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    fraction = match["fraction"]
    if fraction:
        clock += fraction[0] + f"{nanoseconds:09}"[: len(fraction) - 1]
    return clock + (match["zone"] or "")


# ---- Texts by their meaning ----


def is_json(text: str | bytes) -> bool:
    """Whether a text is one JSON value."""
    try:
        loads(text)
    except ValueError:
        return False
    return True


_PLAIN_NAME: Final = re.compile(r"[A-Za-z_$@][A-Za-z0-9_$.@:-]{0,63}|[0-9]{1,6}")
"""The name of a field that stays."""
_MODEL_FILES: Final = (".gguf", ".ggml", ".safetensors", ".bin", ".onnx", ".mlx")
_LISTED: Final = re.compile(
    r"[A-Za-z_]{1,16}|[A-Za-z]{0,12}+[ /-]?[0-9]{1,6}+(?:[.+_ -]?+[A-Za-z]{0,10}+[0-9]{0,8}+){0,8}", re.ASCII
)
"""A name or a version, as programs say their own; each piece takes all that it can, so that there is one way to try."""
_LIKE_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{8,}={0,2}")
_NUMBER: Final = re.compile(r"-?[0-9]")
_DIGITS: Final = re.compile(r"[0-9]+")
_LONG_NUMBER: Final = 5  # digits of a number that may be the id of a person
_MARKUP: Final = re.compile(r"</?(?:think|thought|thinking|reasoning)>|<\|[a-z_]{1,30}\|>")
"""What of a text readers act on: the tags of thinking, and the marks of a model's template."""
_ADDRESS: Final = re.compile(r"https?://[^\s<>\"'`\\]+", re.IGNORECASE)
_ADDRESS_ENDS: Final = ".,;:!?)]}*_"
_MOST_NESTED: Final = 4  # levels of JSON in texts of JSON that are read
_MAY_KEEP: Final = frozenset(
    {Meaning.TEXT, Meaning.ARGUMENTS, Meaning.ERROR, Meaning.WORD, Meaning.PROPERTY, Meaning.ARGUMENT_NAME}
)
_CONTENT: Final = frozenset({Meaning.TEXT, Meaning.ARGUMENTS, Meaning.ERROR, Meaning.LINK})


class Replacement:
    """Replaces the texts of one bundle: the same id, name or link becomes the same everywhere in it.

    `kept` may hold `text`; `hides_names` replaces the names of a call's arguments too; `counts` says how often each
    rule has replaced something.
    """

    def __init__(
        self, level: RedactionLevel, search: rules.Search, kept: Collection[str] = (), *, hides_names: bool = False
    ) -> None:
        self.counts: Counter[str] = Counter()
        self.search = search
        self._level = level
        self._ids, self._tools = Renaming(id_form), Renaming(tool_form)
        self._links, self._names = Renaming(link_form), Renaming(link_form)
        self._moments = Moments()
        by_meaning: dict[Meaning, Callable[[str], str]] = {Meaning.PERSON: self._ids.name_of, Meaning.SECRET: hide}
        if level is RedactionLevel.STRUCTURE:
            by_meaning |= {
                Meaning.TEXT: self._text,
                Meaning.ARGUMENTS: self._arguments,
                Meaning.ERROR: self._error,
                Meaning.LINK: self._link,
                Meaning.OPAQUE: hidden_state,
                Meaning.MEDIA: self._media,
                Meaning.TOOL: self._tools.name_of,
                Meaning.ID: self._ids.name_of,
                Meaning.PROPERTY: self._property,
                Meaning.ARGUMENT_NAME: self._names.name_of if hides_names else self._property,
                Meaning.WORD: _word,
                Meaning.TIME: self._moments.text,
            }
            if "text" in kept:
                by_meaning = {meaning: way for meaning, way in by_meaning.items() if meaning not in _CONTENT}
        self._by_meaning = by_meaning

    @property
    def is_whole(self) -> bool:
        """Whether more is replaced than keys and ids of people."""
        return self._level is RedactionLevel.STRUCTURE

    def word(self, text: str) -> str:
        """The stand-in for a word that is neither in a body nor in a head, such as a version."""
        if not text:
            return text
        if self.is_whole and _LISTED.fullmatch(text) is not None and not rules.names_a_person(text):
            return text if not self.search.find(text) else self.replaced(Meaning.WORD, text, self.search.find(text))
        meaning = Meaning.TEXT if self.is_whole and " " in text else Meaning.WORD
        return self.replaced(meaning, text, self.search.find(text))

    def may_keep(self, meaning: Meaning) -> bool:
        """Whether something of a text may stay, so that keys have to be searched in it."""
        return meaning not in self._by_meaning or meaning in _MAY_KEEP

    @property
    def keeps_text(self) -> bool:
        """Whether texts stay, apart from the keys in them."""
        return Meaning.TEXT not in self._by_meaning

    def learn(self, links: Iterable[str], tools: Iterable[str], ids: Iterable[str]) -> None:
        """Gives links, tools and ids their names before the texts that may repeat them are replaced."""
        if self._level is not RedactionLevel.STRUCTURE:
            return
        for link in links:
            if hidden_data_url(link) is None:
                self._links.name_of(link)
        for tool in tools:
            self._tools.name_of(tool)
        for one in ids:
            self._ids.name_of(one)

    def replaced(self, meaning: Meaning, text: str, found: Iterable[rules.Found]) -> str:
        """The stand-in for a text, its pieces joined, in which keys were found."""
        way = self._by_meaning.get(meaning)
        new = text if way is None else way(text)
        if new != text:
            self.counts[meaning.value] += 1
        return self.without_keys(new, text, found)

    def without_keys(self, new: str, text: str, found: Iterable[rules.Found]) -> str:
        """The stand-in for a text, or the text itself, without the keys that were found in the text."""
        for one in found:
            hidden = new[: one.start] + hide(text[one.start : one.end]) + new[one.end :]
            if hidden != new and text[one.start : one.end].strip("R"):
                self.counts[one.rule] += 1
            new = hidden
        return new

    def number(self, place: FieldPath, raw: str) -> str:
        """The stand-in for a value without quotation marks."""
        if not rules.is_bare(raw):
            return stand_in(raw) if Meaning.TEXT in self._by_meaning else raw
        if self._level is not RedactionLevel.STRUCTURE or _NUMBER.match(raw) is None:
            return raw
        if rules.is_time(place) and not rules.is_free(place):
            return self._moments.number(raw)
        meaning = rules.meaning_by_name(place)
        is_id = meaning in (Meaning.ID, Meaning.PERSON, Meaning.SECRET) and len(raw) >= _LONG_NUMBER
        if not is_id and self.keeps_text:
            return raw
        is_text = rules.holds_numbers_of_text(place) or rules.is_free(place)
        return shaped_number(raw) if is_id or is_text or not rules.is_known_number(place, raw) else raw

    # The stand-in for a text of each meaning

    def _text(self, text: str) -> str:
        if (media := _hidden_file(text, in_text=True)) is not None:
            return media
        if text[:1] in ("{", "[") and is_json(text):  # as many results of tools are
            return self._json(text, FieldPath("input.", "input"), 0)
        kept = [(one.start(), one.end(), one[0]) for one in _MARKUP.finditer(text)] if "<" in text else []
        if len(self._links) and "://" in text:
            kept += filter(None, map(self._named_link, _ADDRESS.finditer(text)))
        new = stand_in(text)
        for start, end, said in kept:
            new = new[:start] + said + new[end:]
        return new

    def _named_link(self, match: re.Match[str]) -> tuple[int, int, str] | None:
        """A link of another field that a text repeats, and its name; signs after it may be the text's own."""
        link = match[0]
        while link:
            if (name := self._links.known(link)) is not None:
                return match.start(), match.start() + len(link), name
            if link[-1] not in _ADDRESS_ENDS:
                return None
            link = link[:-1]
        return None

    def _arguments(self, text: str) -> str:
        if rules.is_bare(text.strip()):
            return shaped_number(text)
        return (
            self._json(text, FieldPath("input.", "input"), 0) if text.lstrip()[:1] in ("{", "[") else self._text(text)
        )

    def _error(self, text: str) -> str:
        if text.lstrip()[:1] in ("{", "["):
            return self._json(text, FieldPath(), 0)
        return hidden_sentence(text, lambda word: self._tools.known(word) or self._ids.known(word))

    def _link(self, text: str) -> str:
        media = _hidden_file(text)
        return self._links.name_of(text) if media is None else media

    def _media(self, text: str) -> str:
        if (media := _hidden_file(text)) is not None:
            return media
        return hidden_state(text) if _LIKE_BASE64.fullmatch(text) else self._text(text)

    def _property(self, name: str) -> str:
        return name if _PLAIN_NAME.fullmatch(name) and not rules.names_a_person(name) else self._names.name_of(name)

    # JSON in a text

    def _json(self, text: str, root: FieldPath, nested: int) -> str:
        data = bytearray(text.encode(errors="surrogatepass"))
        for event in read_fields(data, 0, len(data), root):
            for field in event:
                raw = bytes(data[field.start : field.end])
                if not field.is_string:
                    new = self.number(field.place, raw.decode(errors="replace")).encode()
                    data[field.start : field.end] = new if len(new) == len(raw) else raw
                    continue
                meaning = rules.meaning_by_name(field.place)
                if field.is_name:
                    meaning = rules.meaning_of_name(field.place)
                data[field.start : field.end] = self._nested(meaning, raw, nested)
        return data.decode(errors="surrogatepass")

    def _nested(self, meaning: Meaning, raw: bytes, nested: int) -> bytes:
        text = read_raw(raw)
        if meaning is Meaning.ERROR and nested < _MOST_NESTED and text.lstrip()[:1] in ("{", "["):
            return write_raw(raw, self._json(text, FieldPath(), nested + 1))
        way = self._by_meaning.get(meaning)
        return raw if way is None else write_raw(raw, way(text))


def shaped_number(raw: str) -> str:
    """A number of the same form: each run of digits is one and zeros; 0 stays."""
    return _DIGITS.sub(lambda run: run[0] if set(run[0]) == {"0"} else "1" + "0" * (len(run[0]) - 1), raw)


def _word(text: str) -> str:
    """A word of a protocol stays; of a model that a person has trained, what a server calls it."""
    if text.startswith("ft:"):
        kind, model, *rest = text.split(":")
        return ":".join((kind, _word(model), *map(stand_in, rest)))
    if rules.is_plain_word(text) and not rules.names_a_person(text):
        return text
    folders, slash, name = text.rpartition("/")
    is_file = text.startswith("/") and text.endswith(_MODEL_FILES)  # of a model
    if is_file and slash and rules.is_plain_word(name) and not rules.names_a_person(name):
        return stand_in(folders) + slash + name
    return stand_in(text)
