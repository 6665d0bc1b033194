"""The strings and numbers of JSON texts with their places: the bytes that a redaction writes in place.

Reads what breaks off, and what is no JSON: every text of an answer has to be found, also that of a broken one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from partstream.bundles.redaction.fragments import Meaning

__all__ = ["Field", "FieldPath", "read_fields"]

_TOKEN: Final = re.compile(
    rb"""
      " (?P<string> (?: [^"\\] | \\. )*+ ) (?P<end> "? )
    | (?P<sign> [{}\[\],:] )
    | (?P<bare> [^\s"{}\[\],:]+ )
    """,
    re.VERBOSE | re.DOTALL,
)


class FieldPath:
    """Where a value stands in an event, whatever the places in its lists: one object for each path.

    Attributes:
        path: Names, joined by dots, with `[]` for the elements of a list; empty for the event itself.
        name: The last name, also of the elements of a list.
        parent: The place of the object or the list that holds it; None for the event itself.
        names: The places of the fields of an object, by the raw bytes of their names.
        meaning: What a string there most likely is, once somebody has found it out.
        has_plain_name: Whether its name is a word of a protocol, once somebody has found it out.
    """

    __slots__ = ("_element", "has_plain_name", "meaning", "name", "names", "parent", "path")

    def __init__(self, path: str = "", name: str = "", parent: FieldPath | None = None) -> None:
        self.path = path
        self.name = name
        self.parent = parent
        self.meaning: Meaning | None = None
        self.has_plain_name: bool | None = None
        self.names: dict[bytes, FieldPath] = {}
        self._element: FieldPath | None = None

    def field(self, raw: bytes) -> FieldPath:
        """The place of a field, given its name as it stands in the JSON text."""
        place = self.names.get(raw)
        if place is None:
            name = raw.decode(errors="replace")
            self.names[raw] = place = FieldPath(f"{self.path}.{name}" if self.path else name, name, self)
        return place

    @property
    def element(self) -> FieldPath:
        """The place of the elements of a list."""
        if self._element is None:
            self._element = FieldPath(f"{self.path}[]", self.name, self)
        return self._element


class Field(NamedTuple):
    """A value in an event.

    Attributes:
        place: Where it stands.
        indices: Its places in the lists that hold it, the outermost first.
        start: The first byte; of a string, that behind its quotation mark.
        end: The byte behind its last one; of a string, its closing quotation mark.
        is_string: Whether it is a string.
        is_name: Whether it is the name of a field.
    """

    place: FieldPath
    indices: tuple[int, ...]
    start: int
    end: int
    is_string: bool
    is_name: bool = False


class _Open:
    """An object or a list that has not ended."""

    __slots__ = ("here", "indices", "is_list", "place", "waits_for_name")

    def __init__(self, place: FieldPath, indices: tuple[int, ...], *, is_list: bool) -> None:
        self.place = place  # of the values in it: of a list, that of its elements
        self.here = place  # of the value that comes next
        self.indices = indices
        self.is_list = is_list
        self.waits_for_name = not is_list


def read_fields(data: bytes | bytearray, start: int, end: int, root: FieldPath) -> list[list[Field]]:
    """The values of each event in a text of JSON values, one after the other; of lists at the top, of each element.

    Args:
        data: The bytes.
        start: Where the text begins in them.
        end: Where it ends.
        root: The place of an event; places are made below it.
    """
    reader = _Reader(root)
    take_sign, take_value = reader.sign, reader.value
    for token in _TOKEN.finditer(data, start, end):
        kind = token.lastgroup
        if kind == "sign":
            take_sign(data[token.start()])
        elif kind == "end":
            first, last = token.span("string")
            take_value(data, first, last, is_string=True)
        else:
            take_value(data, *token.span(), is_string=False)
    return reader.end()


class _Reader:
    """The fields of the events read so far."""

    __slots__ = ("_events", "_fields", "_root", "_stack", "_top")

    def __init__(self, root: FieldPath) -> None:
        self._root = root
        self._events: list[list[Field]] = []
        self._fields: list[Field] = []
        self._stack: list[_Open] = []
        self._top: _Open | None = None

    def sign(self, sign: int) -> None:
        """Takes a bracket, a comma or a colon."""
        _SIGNS[sign](self)

    def value(self, data: bytes | bytearray, start: int, end: int, *, is_string: bool) -> None:
        """Takes a string, a number or whatever stands without quotation marks."""
        top = self._top
        if top is None:
            self._events.append([Field(self._root, (), start, end, is_string)])
        elif top.waits_for_name and is_string:
            top.here = top.place.field(bytes(data[start:end]))
            self._fields.append(Field(top.here, top.indices, start, end, True, True))
        else:
            self._fields.append(Field(top.here, top.indices, start, end, is_string))

    def end(self) -> list[list[Field]]:
        """All events; what the text breaks off in is the last one."""
        if self._fields:
            self._events.append(self._fields)
            self._fields = []
        return self._events

    def open_object(self) -> None:
        """Takes `{`."""
        top = self._top
        place, indices = (self._root, ()) if top is None else (top.here, top.indices)
        self._push(_Open(place, indices, is_list=False))

    def open_list(self) -> None:
        """Takes `[`; at the top, it begins a list of events."""
        if (top := self._top) is not None:
            self._push(_Open(top.here.element, (*top.indices, 0), is_list=True))

    def close(self) -> None:
        """Takes `}` or `]`, also the wrong one of both."""
        if self._stack:
            self._stack.pop()
            self._top = self._stack[-1] if self._stack else None
            if self._top is None:
                self._events.append(self._fields)
                self._fields = []

    def next(self) -> None:
        """Takes a comma."""
        top = self._top
        if top is None:
            return
        if top.is_list:
            *outer, index = top.indices
            top.indices = (*outer, index + 1)
        else:
            top.waits_for_name, top.here = True, top.place

    def named(self) -> None:
        """Takes a colon."""
        if self._top is not None:
            self._top.waits_for_name = False

    def _push(self, opened: _Open) -> None:
        self._stack.append(opened)
        self._top = opened


_SIGNS: Final = {
    ord("{"): _Reader.open_object,
    ord("["): _Reader.open_list,
    ord("}"): _Reader.close,
    ord("]"): _Reader.close,
    ord(","): _Reader.next,
    ord(":"): _Reader.named,
}
