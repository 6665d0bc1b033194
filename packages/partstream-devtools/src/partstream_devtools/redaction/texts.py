"""The texts of a recording, each with its pieces, and the search and the replacement of all of them.

A secret is cut over events, and then no search in the bytes finds it. So the pieces of each text are joined, the text
is searched, and what is found is replaced in the pieces. Which pieces make up a text differs from wire to wire:
:data:`FRAGMENTS` has one table for each protocol of this package, from `fragments.json`. All tables apply to every
recording, that of its protocol first, because a server may send events of another wire. A field that no table names,
such as that of a protocol from an installed package, holds one text in each event; the texts of such a field are also
searched joined (:attr:`BundleTexts.joined`).

Two passes: first all texts are collected, because a key in a header is a key in every text, and a link in a field is
one in a sentence; then they are replaced. Collecting finds which pieces of a body are one text, what each is, and where
it is in the bytes; a piece is replaced in place, by as many characters, each as long in UTF-8.
"""

from __future__ import annotations
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from partstream.codec.checks import dataclass
from partstream.codec.json_codec import loads
from partstream_devtools.redaction.json_places import FieldPath, Meaning, body_of, read_fields, read_raw, write_raw
from partstream_devtools.redaction.rules import Found, is_bare, meaning_by_name, meaning_of_name

if TYPE_CHECKING:
    from partstream_devtools.redaction.json_places import Body, Field, Payload
    from partstream_devtools.redaction.replacing import Replacement

# ---- Tables of fragments ----


@dataclass(frozen=True, slots=True)
class Fragment:
    """A field that holds a piece of a text, or the whole of it.

    Attributes:
        event: The kind of the event; the empty string where a protocol has one kind alone.
        field: The path of the field in the event: names, joined by dots; `[]` after a name means each element
            of a list. Empty where the event is the text itself.
        of: The paths of the fields that tell one text from another. An element of a list is the same that `field` goes
            through; where the field is missing, its place in the list replaces it.
        meaning: What the text is.
        is_whole: Whether the field holds a whole text, such as a closing event that repeats what came in pieces.
        text: What the text is called where several fields hold pieces of it, such as a block that begins with some of
            its text; empty where it is this field alone.
    """

    event: str
    field: str
    of: tuple[str, ...] = ()
    meaning: Meaning = Meaning.TEXT
    is_whole: bool = False
    text: str = ""


def _fragments(row: Mapping[str, Any]) -> Iterator[Fragment]:
    """The fragments of a row of the file: one for each of its events and fields; no field where the event is the text.

    `why` is for readers of the file.
    """
    meaning, of = Meaning(row.get("meaning", Meaning.TEXT)), tuple(row.get("of", ()))
    for event in row["events"]:
        for name in row["fields"] or [""]:
            yield Fragment(event, name, of, meaning, row.get("is_whole", False), row.get("text", ""))


_FILE: Final[Mapping[str, Sequence[Mapping[str, Any]]]] = loads(Path(__file__).with_name("fragments.json").read_bytes())
_TABLES: Final = {name: tuple(chain.from_iterable(map(_fragments, rows))) for name, rows in _FILE.items()}

FRAGMENTS: Final[Mapping[str, tuple[Fragment, ...]]] = _TABLES | dict.fromkeys(
    ("ai-sdk-ui", "ai-sdk-data", "ai-gateway"), _TABLES["ai-sdk"]
)
"""The tables, by the name of the protocol; that of the AI SDK is for all its versions and all its streams, and for the
AI Gateway, which sends its parts."""


# ---- Texts ----

_REPLACED_WHOLE: Final = frozenset({Meaning.PERSON, Meaning.SECRET})
"""What is replaced at every level, whatever it holds."""
_LONGEST_REMEMBERED: Final = 200


class Piece(Protocol):
    """A piece of a text, which can be replaced."""

    @property
    def text(self) -> str:
        """The characters."""
        ...

    def replace(self, text: str) -> None:
        """Puts other characters in their place: as many, each as long in UTF-8."""
        ...


class BytesPiece:
    """Bytes that are no JSON, and how the pieces of JSON are in theirs."""

    __slots__ = ("_data", "_end", "_start", "text")

    def __init__(self, data: bytearray, start: int, end: int) -> None:
        self._data, self._start, self._end = data, start, end
        self.text = self._read(bytes(data[start:end]))

    def replace(self, text: str) -> None:
        """Writes other characters.

        Raises:
            AssertionError: They are not as long as those before.
        """
        raw = self._written(bytes(self._data[self._start : self._end]), text)
        if len(raw) != self._end - self._start:
            raise AssertionError(f"a stand-in of {len(raw)} bytes for a piece of {self._end - self._start}")
        self._data[self._start : self._end] = raw

    @staticmethod
    def _read(raw: bytes) -> str:
        return raw.decode(errors="surrogateescape")

    @staticmethod
    def _written(raw: bytes, text: str) -> bytes:
        del raw
        return text.encode(errors="surrogateescape")


class RawPiece(BytesPiece):
    """A string in JSON, which keeps its escapes."""

    __slots__ = ()
    _read = staticmethod(read_raw)
    _written = staticmethod(write_raw)


class ValuePiece:
    """A text of its own."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def replace(self, text: str) -> None:
        """Takes other characters."""
        self.text = text


class SplitText:
    """A text in pieces: what it is, where it is for people, and its pieces in order."""

    __slots__ = ("meaning", "pieces", "place")

    def __init__(self, meaning: Meaning, place: str, pieces: list[Piece]) -> None:
        self.meaning = meaning
        self.place = place
        self.pieces = pieces


class Number:
    """A value without quotation marks."""

    __slots__ = ("_data", "_end", "_start", "place")

    def __init__(self, place: FieldPath, data: bytearray, start: int, end: int) -> None:
        self.place, self._data, self._start, self._end = place, data, start, end

    def replace_by(self, replacement: Replacement) -> None:
        """Replaces it by its stand-in."""
        raw = bytes(self._data[self._start : self._end])
        new = replacement.number(self.place, raw.decode(errors="surrogateescape")).encode(errors="surrogateescape")
        if len(new) == len(raw) and new != raw:
            self._data[self._start : self._end] = new


class BundleTexts:
    """All texts of a bundle.

    Attributes:
        texts: The texts.
        joined: Pieces that may be one text together, beside the one that each belongs to: they are only searched.
        numbers: The values without quotation marks.
        damaged: Bytes that begin like JSON and go on as something else, such as a dict as Python prints it, by their
            identity: the keys in them are hidden, whatever is around.
        known: Keys and ids of people, from fields for them.
        links, tools, ids: The links, the names of tools and the ids, from fields for them.
        samples: After the replacement, some texts as they are then, by what was done: the place, and the text.
        kept: After the replacement, the places whose texts stayed.
    """

    def __init__(self) -> None:
        self.texts: list[SplitText] = []
        self.joined: list[list[Piece]] = []
        self.numbers: list[Number] = []
        self.damaged: dict[int, bytearray] = {}
        self.known: set[str] = set()
        self.links: dict[str, None] = {}
        self.tools: dict[str, None] = {}
        self.ids: dict[str, None] = {}
        self.samples: dict[str, list[tuple[str, str]]] = {}
        self.kept: dict[str, int] = {}
        self._named = {
            Meaning.LINK: self.links,
            Meaning.TOOL: self.tools,
            Meaning.ID: self.ids,
            Meaning.PERSON: self.ids,
        }
        self._remembered: dict[tuple[Meaning, str], tuple[str, tuple[str, ...]]] = {}

    def add(self, meaning: Meaning, place: str, piece: Piece) -> SplitText:
        """Adds a text of one piece so far."""
        text = SplitText(meaning, place, [piece])
        self.texts.append(text)
        if meaning in _REPLACED_WHOLE:
            self.known.add(piece.text)
        if (named := self._named.get(meaning)) is not None:
            named[piece.text] = None
        return text

    def replace(self, replacement: Replacement) -> None:
        """Replaces all texts and numbers."""
        hidden = self._found_in_joined(replacement)
        for text in self.texts:
            if len(text.pieces) == 1 and id(text.pieces[0]) not in hidden:
                self._replace_one(text, replacement)
            else:
                self._replace_pieces(text, replacement, hidden)
        for number in self.numbers:
            number.replace_by(replacement)
        for data in self.damaged.values():
            said = bytes(data).decode(errors="surrogateescape")
            if found := replacement.search.find(said):
                data[:] = replacement.without_keys(said, said, found).encode(errors="surrogateescape")

    def _found_in_joined(self, replacement: Replacement) -> dict[int, list[Found]]:
        """What was found in pieces that may be one text together, by piece."""
        hidden: dict[int, list[Found]] = {}
        for pieces in self.joined:
            if len(pieces) > 1 and (found := replacement.search.find("".join(piece.text for piece in pieces))):
                for piece, parts in _by_piece(pieces, found):
                    hidden.setdefault(id(piece), []).extend(parts)
        return hidden

    def _replace_one(self, text: SplitText, replacement: Replacement) -> None:
        piece = text.pieces[0]
        said = piece.text
        if not said:
            return
        key = (text.meaning, said)
        known = self._remembered.get(key)
        if known is None:
            found = self._found(text.meaning, said, replacement)
            new = replacement.replaced(text.meaning, said, found)
            known = new, tuple(sorted({one.rule for one in found}))
            if len(said) <= _LONGEST_REMEMBERED:
                self._remembered[key] = known
        elif known[0] != said:
            replacement.counts.update(known[1] or (text.meaning.value,))
        self._note(text, said, *known)
        if known[0] != said:
            piece.replace(known[0])

    def _replace_pieces(self, text: SplitText, replacement: Replacement, hidden: dict[int, list[Found]]) -> None:
        said = "".join(piece.text for piece in text.pieces)
        if not said:
            return
        found = self._found(text.meaning, said, replacement)
        at = 0
        for piece in text.pieces:
            found += [Found(at + one.start, at + one.end, one.rule) for one in hidden.get(id(piece), ())]
            at += len(piece.text)
        new = replacement.replaced(text.meaning, said, found)
        self._note(text, said, new, tuple(sorted({one.rule for one in found})))
        at = 0
        for piece in text.pieces:
            end = at + len(piece.text)
            if new[at:end] != said[at:end]:
                piece.replace(new[at:end])
            at = end

    def _found(self, meaning: Meaning, said: str, replacement: Replacement) -> list[Found]:
        return replacement.search.find(said) if replacement.may_keep(meaning) else []

    def _note(self, text: SplitText, said: str, new: str, rules: Iterable[str]) -> None:
        if text.meaning in (Meaning.TEXT, Meaning.ARGUMENTS, Meaning.ERROR) and new == said:
            self.kept[text.place] = self.kept.get(text.place, 0) + 1
        if new != said:
            for rule in (*rules, text.meaning.value):
                samples = self.samples.setdefault(rule, [])
                if len(samples) < 3:
                    samples.append((text.place, new))


def _by_piece(pieces: list[Piece], found: list[Found]) -> Iterable[tuple[Piece, list[Found]]]:
    """Of each piece, what was found in the pieces joined, as far as it is there."""
    at = 0
    for piece in pieces:
        end = at + len(piece.text)
        parts = [
            Found(max(one.start, at) - at, min(one.end, end) - at, one.rule)
            for one in found
            if one.start < end and one.end > at
        ]
        if parts:
            yield piece, parts
        at = end


# ---- Collecting ----

_KINDS: Final = ("type", "event_type")
"""The fields that say the kind of an event, where the protocol is not known."""
_LINE_MEANINGS: Final = {"event": Meaning.WORD, "id": Meaning.ID, "retry": Meaning.WORD, "": Meaning.TEXT}
_INDEX: Final = "index"
_PLAIN_NAME: Final = re.compile(r"[A-Za-z]{1,14}(?:_[a-z]{1,14}){0,3}")
_JOINABLE: Final = frozenset({Meaning.TEXT, Meaning.ARGUMENTS, Meaning.ERROR})


class Tables:
    """The tables of protocols by event and field; of two rows for one field the first counts."""

    def __init__(self, tables: Iterable[Iterable[Fragment]]) -> None:
        self._rows: dict[tuple[str, str], Fragment] = {}
        for table in tables:
            for row in table:
                self._rows.setdefault((row.event, row.field), row)

    def row(self, event: str, field: str) -> Fragment | None:
        """The row of a field, or None."""
        return self._rows.get((event, field)) or self._rows.get(("", field))


class BodyTexts:
    """Collects the texts of one body, which has a name for people.

    Without the tables of the protocols it is a request, whose texts are whole. With `is_failure`, what is no JSON is
    the error of a server.
    """

    def __init__(self, texts: BundleTexts, tables: Tables | None, name: str, *, is_failure: bool = False) -> None:
        self._texts = texts
        self._tables = tables
        self._name = name
        self._plain = Meaning.ERROR if is_failure else Meaning.TEXT
        self._open: dict[Any, SplitText] = {}
        self._joined: dict[Any, list[Any]] = {}
        self._root = FieldPath()

    def collect(self, data: bytes) -> Body:
        """Collects the texts of the body; the body is written when they have been replaced."""
        body = body_of(data)
        for line in body.lines:
            if line.end > line.start:
                meaning = _LINE_MEANINGS.get(line.field, self._plain)
                self._texts.add(
                    meaning, f"{self._name}: {line.field or 'line'}", BytesPiece(body.data, line.start, line.end)
                )
        for payload in body.payloads:
            self.payload(payload)
        texts = Counter(key[0] for key in self._open)
        self._texts.joined += (pieces for field, pieces in self._joined.items() if texts[field] != 1)
        return body

    def payload(self, payload: Payload) -> None:
        """Collects the texts of the events in a payload."""
        data = payload.data
        if not payload.is_json:
            self._texts.add(self._plain, f"{self._name}: line", BytesPiece(data, 0, len(data)))
            return
        for fields in read_fields(data, 0, len(data), self._root):
            self._event(payload.kind, data, fields)

    def _event(self, name: str, data: bytearray, fields: list[Field]) -> None:
        kind = name
        for field in fields:
            if field.place.path in _KINDS and field.is_string and not field.is_name:
                kind = bytes(data[field.start : field.end]).decode(errors="replace")
                break
        event = _Event(data, fields)
        for field in fields:
            if field.is_string:
                self._string(kind, data, field, event)
            else:
                self._texts.numbers.append(Number(field.place, data, field.start, field.end))
                if not is_bare(data[field.start : field.end].decode(errors="replace")):
                    self._texts.damaged[id(data)] = data

    def _string(self, kind: str, data: bytearray, field: Field, event: _Event) -> None:
        if field.end == field.start:
            return
        place = field.place
        if field.is_name:
            if not _has_plain_name(place):
                self._texts.add(meaning_of_name(place), f"{self._name}: name", RawPiece(data, field.start, field.end))
            return
        piece = RawPiece(data, field.start, field.end)
        row = None if self._tables is None else self._tables.row(kind, place.path)
        where = f"{self._name}: {place.path}"
        if row is not None and not row.is_whole:
            values = tuple(event.value_of(path, field) for path in row.of)
            key = (row.text or (row.event, row.field), values)
            self._piece(key, row.meaning, where, piece)
            if row.meaning in _JOINABLE:  # where marks are missing, one text may look like several
                self._joined.setdefault(key[0], []).append(piece)
            return
        meaning = meaning_by_name(place) if row is None else row.meaning
        if row is not None or self._tables is None or meaning not in _JOINABLE:
            self._texts.add(meaning, where, piece)
            return
        exact = (kind, place.path, field.indices, event.marks)
        if meaning is Meaning.ARGUMENTS:
            self._piece(exact, meaning, where, piece)
        else:
            self._texts.add(meaning, where, piece)
            self._joined.setdefault(exact, []).append(piece)
        self._joined.setdefault((kind, place.path), []).append(piece)

    def _piece(self, key: Any, meaning: Meaning, where: str, piece: RawPiece) -> None:
        text = self._open.get(key)
        if text is None:
            self._open[key] = self._texts.add(meaning, where, piece)
        else:
            text.pieces.append(piece)


def collect_value(texts: BundleTexts, data: bytearray, name: str, root: FieldPath | None = None) -> None:
    """Collects the texts of a JSON value of its own."""
    for fields in read_fields(data, 0, len(data), root or FieldPath()):
        for field in fields:
            if not field.is_string:
                texts.numbers.append(Number(field.place, data, field.start, field.end))
            elif field.end > field.start:
                meaning = meaning_of_name(field.place) if field.is_name else meaning_by_name(field.place)
                texts.add(meaning, f"{name}: {field.place.path}", RawPiece(data, field.start, field.end))


def _has_plain_name(place: FieldPath) -> bool:
    """Whether the name of a field is a short word of a protocol, as most are: no key, and no choice of a person."""
    if place.has_plain_name is None:
        is_of_wire = meaning_of_name(place) is Meaning.PROPERTY
        place.has_plain_name = is_of_wire and _PLAIN_NAME.fullmatch(place.name) is not None
    return place.has_plain_name


class _Event:
    """The fields of an event, which are looked through once, however many texts it has."""

    def __init__(self, data: bytearray, fields: Sequence[Field]) -> None:
        self._data = data
        self._fields = fields

    def value_of(self, path: str, field: Field) -> Any:
        """The value of the field at a path, in the same elements of lists that another field is in."""
        indices = field.indices[: path.count("[]")]
        return self._values.get((path, indices), indices)

    @cached_property
    def _values(self) -> Mapping[tuple[str, tuple[int, ...]], bytes]:
        values: dict[tuple[str, tuple[int, ...]], bytes] = {}
        for one in self._fields:
            if not one.is_name:
                values.setdefault((one.place.path, one.indices), bytes(self._data[one.start : one.end]))
        return values

    @cached_property
    def marks(self) -> bytes:
        """The ids and indices in an event, which tell its text from that of others, as far as their names say so."""
        return b"\0".join(
            bytes(self._data[one.start : one.end])
            for one in self._fields
            if not one.is_name
            and (one.place.name.endswith(_INDEX) or (one.is_string and meaning_by_name(one.place) is Meaning.ID))
        )


def tables_of(protocol: str | None) -> Tables:
    """The tables of all protocols, that of one first: a server may send events of another."""
    return Tables(FRAGMENTS[name] for name in sorted(FRAGMENTS, key=lambda name: name != protocol))
