"""Collects the texts of a body: which are pieces of one text, what each is, and where it stands in the bytes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from partstream.bundles.redaction.bodies import body_of
from partstream.bundles.redaction.fragments import FRAGMENTS, Meaning
from partstream.bundles.redaction.json_fields import FieldPath, read_fields
from partstream.bundles.redaction.texts import BytesPiece, DamagedJson, Number, RawPiece, is_bare
from partstream.devtools.redaction.rules import is_free, meaning_by_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from partstream.bundles.redaction.bodies import Body, Payload
    from partstream.bundles.redaction.fragments import Fragment
    from partstream.bundles.redaction.json_fields import Field
    from partstream.bundles.redaction.texts import BundleTexts, SplitText

__all__ = ["BodyTexts", "Tables", "collect_value", "tables_of"]

_KINDS: Final = ("type", "event_type")
"""The fields that say the kind of an event, where the protocol is not known."""
_LINE_MEANINGS: Final = {"event": Meaning.WORD, "id": Meaning.ID, "retry": Meaning.WORD, "": Meaning.TEXT}
_INDEX: Final = "index"
_PLAIN_NAME: Final = re.compile(r"[A-Za-z]{1,14}(?:_[a-z]{1,14}){0,3}")
_JOINABLE: Final = frozenset({Meaning.TEXT, Meaning.ARGUMENTS, Meaning.ERROR})


class Tables:
    """The tables of protocols by event and field.

    Args:
        tables: The tables; of two rows for one field the first counts.
    """

    __slots__ = ("_rows",)

    def __init__(self, tables: Iterable[Iterable[Fragment]]) -> None:
        self._rows: dict[tuple[str, str], Fragment] = {}
        for table in tables:
            for row in table:
                self._rows.setdefault((row.event, row.field), row)

    def row(self, event: str, field: str) -> Fragment | None:
        """The row of a field, or None."""
        return self._rows.get((event, field)) or self._rows.get(("", field))


class BodyTexts:
    """Collects the texts of one body.

    Args:
        texts: Takes them.
        tables: The tables of the protocols; None for a request, whose texts are whole.
        name: What the body is called, for people.
        is_failure: Whether what is no JSON is what a server says of a failure.
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
        self._texts.joined += self._joined.values()
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
        for field in fields:
            if field.is_string:
                self._string(kind, data, field, fields)
            else:
                self._texts.numbers.append(Number(field.place, data, field.start, field.end))
                if not is_bare(data[field.start : field.end]):
                    self._texts.damaged[id(data)] = DamagedJson(data)

    def _string(self, kind: str, data: bytearray, field: Field, fields: list[Field]) -> None:
        if field.end == field.start:
            return
        place = field.place
        if field.is_name:
            if not _has_plain_name(place):
                self._texts.add(_meaning_of_name(place), f"{self._name}: name", RawPiece(data, field.start, field.end))
            return
        piece = RawPiece(data, field.start, field.end)
        row = None if self._tables is None else self._tables.row(kind, place.path)
        where = f"{self._name}: {place.path}"
        if row is not None and not row.is_whole:
            values = tuple(_value_of(path, field, data, fields) for path in row.of)
            key = (row.text or (row.event, row.field), values)
            self._piece(key, row.meaning, where, piece)
            return
        meaning = meaning_by_name(place) if row is None else row.meaning
        if row is not None or self._tables is None or meaning not in _JOINABLE:
            self._texts.add(meaning, where, piece)
            return
        exact = (kind, place.path, field.indices, _marks(data, fields))
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
    """Collects the texts of a JSON value that stands alone."""
    for fields in read_fields(data, 0, len(data), root or FieldPath()):
        for field in fields:
            if not field.is_string:
                texts.numbers.append(Number(field.place, data, field.start, field.end))
            elif field.end > field.start:
                meaning = _meaning_of_name(field.place) if field.is_name else meaning_by_name(field.place)
                texts.add(meaning, f"{name}: {field.place.path}", RawPiece(data, field.start, field.end))


def _has_plain_name(place: FieldPath) -> bool:
    """Whether the name of a field is a short word of a protocol, as nearly all are: no key, and nobody's choice."""
    if place.has_plain_name is None:
        place.has_plain_name = _PLAIN_NAME.fullmatch(place.name) is not None and not is_free(place)
    return place.has_plain_name


def _meaning_of_name(place: FieldPath) -> Meaning:
    return Meaning.ARGUMENT_NAME if is_free(place) else Meaning.PROPERTY


def _value_of(path: str, field: Field, data: bytearray, fields: Sequence[Field]) -> Any:
    """The value of the field at a path, in the same elements of lists that another field is in."""
    depth = path.count("[]")
    indices = field.indices[:depth]
    for one in fields:
        if one.place.path == path and one.indices == indices and not one.is_name:
            return bytes(data[one.start : one.end])
    return indices


def _marks(data: bytearray, fields: Sequence[Field]) -> tuple[bytes, ...]:
    """The ids and indices in an event, which tell its text from that of others, as far as their names say so."""
    return tuple(
        bytes(data[one.start : one.end])
        for one in fields
        if not one.is_name
        and (one.place.name.endswith(_INDEX) or (one.is_string and meaning_by_name(one.place) is Meaning.ID))
    )


def tables_of(protocol: str | None) -> Tables:
    """The tables of all protocols, that of one first: a server may send events of another."""
    return Tables(FRAGMENTS[name] for name in sorted(FRAGMENTS, key=lambda name: name != protocol))
