"""Replaces one text by what stands for it, by what the text is and by the level of the redaction.

Whatever stands for a text has as many characters, each as long in UTF-8, so that the pieces of a text can be replaced
by the pieces of its stand-in.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from partstream.bundles.redaction.fragments import Meaning
from partstream.bundles.redaction.json_fields import FieldPath, read_fields
from partstream.bundles.redaction.moments import Moments
from partstream.bundles.redaction.opaque import hidden_data_url, hidden_media, hidden_state, is_media
from partstream.bundles.redaction.raw_strings import read_raw, write_raw
from partstream.bundles.redaction.renaming import Renaming, id_form, link_form, tool_form
from partstream.bundles.redaction.sentences import hidden_sentence
from partstream.bundles.redaction.stand_ins import hide, stand_in
from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.devtools.bundles.exchange import RedactionLevel
from partstream.devtools.redaction.rules import (
    holds_numbers_of_text,
    is_free,
    is_plain_word,
    is_time,
    meaning_by_name,
    names_a_person,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from partstream.devtools.redaction.rules import Found, Search

__all__ = ["Replacement", "shaped_number"]

_PLAIN_NAME: Final = re.compile(r"[A-Za-z_$@][A-Za-z0-9_$.@:-]{0,63}|[0-9]{1,6}")
"""The name of a field that stays."""
_MODEL_FILES: Final = (".gguf", ".ggml", ".safetensors", ".bin", ".onnx", ".mlx")
_LISTED: Final = re.compile(
    r"[A-Za-z_]{1,16}|[A-Za-z]{0,12}[ /-]?[0-9]{1,6}(?:[.+_ -]?[A-Za-z]{0,10}[0-9]{0,8}){0,8}", re.ASCII
)
"""A name or a version, as programs say their own."""
_BARE: Final = re.compile(r"-?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]*)?|true|false|null|NaN|-?Infinity")
_NUMBER: Final = re.compile(r"-?[0-9]")
_DIGITS: Final = re.compile(r"[0-9]+")
_LONG_NUMBER: Final = 5
"""Digits of a number that may be the id of a person."""
_MARKUP: Final = re.compile(r"</?(?:think|thought|thinking|reasoning)>|<\|[a-z_]{1,30}\|>")
"""What of a text readers act on: the tags of thinking, and the marks of a model's template."""
_ADDRESS: Final = re.compile(r"https?://[^\s<>\"'`\\]+", re.IGNORECASE)
_ADDRESS_ENDS: Final = ".,;:!?)]}*_"
_MOST_NESTED: Final = 4
"""Levels of JSON in texts of JSON that are read."""
_MAY_KEEP: Final = frozenset(
    {Meaning.TEXT, Meaning.ARGUMENTS, Meaning.ERROR, Meaning.WORD, Meaning.PROPERTY, Meaning.ARGUMENT_NAME}
)
_CONTENT: Final = frozenset({Meaning.TEXT, Meaning.ARGUMENTS, Meaning.ERROR, Meaning.LINK})


class Replacement:
    """Replaces the texts of one bundle: the same id, name or link becomes the same everywhere in it.

    Args:
        level: How much is replaced.
        kept: What is kept at the person's wish: `text`.
        hides_names: Whether the names of a call's arguments are replaced too.

    Attributes:
        counts: How often each rule has replaced something.
    """

    __slots__ = (
        "_by_meaning",
        "_ids",
        "_level",
        "_links",
        "_moments",
        "_names",
        "_tools",
        "counts",
        "search",
    )

    def __init__(
        self, level: RedactionLevel, search: Search, kept: Collection[str] = (), *, hides_names: bool = False
    ) -> None:
        self.counts: Counter[str] = Counter()
        self.search = search
        self._level = level
        self._ids, self._tools = Renaming(id_form), Renaming(tool_form)
        self._links, self._names = Renaming(link_form), Renaming(link_form)
        self._moments = Moments()
        by_meaning: dict[Meaning, Callable[[str], str]] = {
            Meaning.PERSON: self._ids.name_of,
            Meaning.SECRET: hide,
        }
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
        """What stands for a word that is neither in a body nor in a head, such as a version."""
        if not text:
            return text
        if self.is_whole and _LISTED.fullmatch(text) is not None and not names_a_person(text):
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

    def replaced(self, meaning: Meaning, text: str, found: Iterable[Found]) -> str:
        """What stands for a text.

        Args:
            meaning: What the text is.
            text: The text, its pieces joined.
            found: Where keys stand in it.
        """
        way = self._by_meaning.get(meaning)
        new = text if way is None else way(text)
        if new != text:
            self.counts[meaning.value] += 1
        return self._without(new, text, found)

    def hidden(self, text: str, found: list[Found]) -> str:
        """The text without the keys in it."""
        return self._without(text, text, found)

    def _without(self, new: str, text: str, found: Iterable[Found]) -> str:
        for one in found:
            hidden = new[: one.start] + hide(text[one.start : one.end]) + new[one.end :]
            if hidden != new and text[one.start : one.end].strip("R"):
                self.counts[one.rule] += 1
            new = hidden
        return new

    def number(self, place: FieldPath, raw: str) -> str:
        """What stands for a value without quotation marks."""
        if _BARE.fullmatch(raw) is None:
            return stand_in(raw) if Meaning.TEXT in self._by_meaning else raw
        if self._level is not RedactionLevel.STRUCTURE or _NUMBER.match(raw) is None:
            return raw
        if is_time(place) and not is_free(place):
            return self._moments.number(raw)
        meaning = meaning_by_name(place)
        is_id = meaning in (Meaning.ID, Meaning.PERSON, Meaning.SECRET) and len(raw) >= _LONG_NUMBER
        is_text = not self.keeps_text and (holds_numbers_of_text(place) or is_free(place))
        return shaped_number(raw) if is_id or is_text else raw

    # What stands for a text of each meaning

    def _text(self, text: str) -> str:
        if (url := hidden_data_url(text)) is not None:
            return url
        if is_media(text, in_text=True):
            return hidden_media(text)
        if text[:1] in ("{", "[") and _is_json(text):  # as many results of tools are
            return self._json(text, FieldPath("input.", "input"), 0)
        kept = [(one.start(), one.end(), one[0]) for one in _MARKUP.finditer(text)] if "<" in text else []
        if len(self._links) and "://" in text:
            kept += filter(None, map(self._named_link, _ADDRESS.finditer(text)))
        new = stand_in(text)
        for start, end, said in kept:
            new = new[:start] + said + new[end:]
        return new

    def _named_link(self, match: re.Match[str]) -> tuple[int, int, str] | None:
        """A link of another field that a text repeats, and its name; signs behind it may be the text's own."""
        link = match[0]
        while link:
            if (name := self._links.known(link)) is not None:
                return match.start(), match.start() + len(link), name
            if link[-1] not in _ADDRESS_ENDS:
                return None
            link = link[:-1]
        return None

    def _arguments(self, text: str) -> str:
        if _BARE.fullmatch(text.strip()):
            return shaped_number(text)
        return (
            self._json(text, FieldPath("input.", "input"), 0) if text.lstrip()[:1] in ("{", "[") else self._text(text)
        )

    def _error(self, text: str) -> str:
        return self._json(text, FieldPath(), 0) if text.lstrip()[:1] in ("{", "[") else self._sentence(text)

    def _sentence(self, text: str) -> str:
        return hidden_sentence(text, lambda word: self._tools.known(word) or self._ids.known(word))

    def _link(self, text: str) -> str:
        url = hidden_data_url(text)
        if url is not None:
            return url
        return hidden_media(text) if is_media(text) else self._links.name_of(text)

    def _media(self, text: str) -> str:
        if is_media(text):
            return hidden_media(text)
        if (url := hidden_data_url(text)) is not None:
            return url
        return hidden_state(text) if _looks_like_base64(text) else self._text(text)

    def _property(self, name: str) -> str:
        return name if _PLAIN_NAME.fullmatch(name) and not names_a_person(name) else self._names.name_of(name)

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
                meaning = meaning_by_name(field.place)
                if field.is_name:
                    meaning = Meaning.ARGUMENT_NAME if is_free(field.place) else Meaning.PROPERTY
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
    """A word of a protocol stays; of a model that somebody has trained, what a server calls it."""
    if text.startswith("ft:"):
        kind, model, *rest = text.split(":")
        return ":".join((kind, _word(model), *map(stand_in, rest)))
    if is_plain_word(text) and not names_a_person(text):
        return text
    folders, slash, name = text.rpartition("/")
    if slash and _is_file(text) and is_plain_word(name) and not names_a_person(name):  # the file of a model
        return stand_in(folders) + slash + name
    return stand_in(text)


def _is_file(path: str) -> bool:
    return path.startswith("/") and path.endswith(_MODEL_FILES)


def _is_json(text: str) -> bool:
    try:
        loads(text)
    except JSONDecodeError:
        return False
    return True


def _looks_like_base64(text: str) -> bool:
    return re.fullmatch(r"[A-Za-z0-9+/_-]{8,}={0,2}", text) is not None
