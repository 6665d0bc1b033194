"""The strings and numbers of JSON texts with their places: the bytes that a redaction writes in place.

Reads what breaks off, and what is no JSON: every text of an answer has to be found, also that of a broken one, whatever
the framing of the body. What is no event is text, and every byte of a body belongs to one of the places found here. A
string is written escape for escape, byte for byte.

Values below :data:`~partstream.codec.json_codec.MOST_LEVELS` levels share the place of that level: a server may send
lists in lists without an end, and each place holds its whole path.
"""

from __future__ import annotations
import re
from enum import StrEnum
from typing import Final, NamedTuple

from partstream.codec.checks import dataclass, field
from partstream.codec.json_codec import MOST_LEVELS

# ---- Meanings ----


class Meaning(StrEnum):
    """What a text in an event is, which decides what may replace it."""

    TEXT = "text"
    """What people, models and tools wrote."""
    ARGUMENTS = "tool arguments"
    """The JSON of a call's arguments, or a piece of it."""
    ERROR = "error sentence"
    """The words of a server for a failure."""
    LINK = "link"
    """An address, which other fields and texts may repeat."""
    OPAQUE = "opaque state"
    """State of a model, which only its server reads."""
    MEDIA = "media"
    """A file in base64, or a piece of one."""
    TOOL = "tool name"
    ID = "id"
    """The id of a response, an item or a call."""
    PERSON = "id of a person"
    """The id of a person, an organization, a session, a conversation or a request."""
    PROPERTY = "property name"
    """The name of a field."""
    ARGUMENT_NAME = "argument name"
    """The name of a field that a tool or a program has chosen, such as that of an argument."""
    WORD = "word"
    """A word of the protocol, such as the type of an event, or the name of a model."""
    TIME = "time"
    """A moment."""
    SECRET = "secret"  # noqa: S105 - what the field holds, not a password
    """A key, by the name of its field."""


# ---- Fields ----

_TOKEN: Final = re.compile(
    rb"""
      " (?P<string> (?: [^"\\] | \\. )*+ ) (?P<end> "? )
    | (?P<sign> [{}\[\],:] )
    | (?P<bare> [^\s"{}\[\],:]+ )
    """,
    re.VERBOSE | re.DOTALL,
)


class FieldPath:
    """The place of a value in an event, whatever the indices in its lists: one object for each path.

    Attributes:
        path: Names, joined by dots, with `[]` for the elements of a list; empty for the event itself.
        name: The last name, also of the elements of a list.
        parent: The place of the object or the list that holds it; None for the event itself.
        names: The places of the fields of an object, by the raw bytes of their names.
        meaning: What a string there most likely is, once it was found out.
        has_plain_name: Whether its name is a word of a protocol, once it was found out.
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
        """The place of a field, given its name with the escapes of the JSON text."""
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
        place: Its place.
        indices: Its places in the lists that hold it, the outermost first.
        start: The first byte; of a string, that after its quotation mark.
        end: The byte after its last one; of a string, its closing quotation mark.
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
    """The values of each event in a text of JSON values, one after the other; of lists at the top, of each element."""
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


_COLON, _COMMA, _OBJECT, _LIST = b":,{["


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
        top = self._top
        if top is None:
            if sign == _OBJECT:  # a list at the top is one of events
                self._push(_Open(self._root, (), is_list=False))
        elif sign == _COLON:
            top.waits_for_name = False
        elif sign == _COMMA and top.is_list:
            *outer, index = top.indices
            top.indices = (*outer, index + 1)
        elif sign == _COMMA:
            top.waits_for_name, top.here = True, top.place
        elif sign in (_OBJECT, _LIST):
            is_list = sign == _LIST
            is_deep = len(self._stack) >= MOST_LEVELS
            place = top.place if is_deep else top.here.element if is_list else top.here
            indices = (*top.indices[: MOST_LEVELS - 1], 0) if is_list else top.indices
            self._push(_Open(place, indices, is_list=is_list))
        else:  # also the wrong one of `}` and `]`
            self._stack.pop()
            self._top = self._stack[-1] if self._stack else None
            if self._top is None:
                self._events.append(self._fields)
                self._fields = []

    def value(self, data: bytes | bytearray, start: int, end: int, *, is_string: bool) -> None:
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

    def _push(self, opened: _Open) -> None:
        self._stack.append(opened)
        self._top = opened


# ---- Strings with escapes ----

_ESCAPE: Final = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|\\", re.DOTALL
)
_PAIR_LENGTH: Final = 12
_UNIT_LENGTH: Final = 6
_KNOWN: Final = b'"\\/bfnrt'
_SHORT: Final = {b"n": "\n", b"r": "\r", b"t": "\t", b"b": "\b", b"f": "\f"}


def read_raw(raw: bytes) -> str:
    """The text of a string between its quotation marks; bytes that are no UTF-8 stay apart as surrogates.

    A surrogate pair in escapes is one character; an escape that JSON does not know is what follows its backslash.
    """
    if b"\\" not in raw:
        return raw.decode(errors="surrogateescape")
    pieces, end = [], 0
    for escape in _ESCAPE.finditer(raw):
        pieces.append(raw[end : escape.start()].decode(errors="surrogateescape"))
        pieces.append(_meaning(escape[0]))
        end = escape.end()
    pieces.append(raw[end:].decode(errors="surrogateescape"))
    return "".join(pieces)


def write_raw(raw: bytes, text: str) -> bytes:
    """The string with another text in it, which has as many characters, each as long in UTF-8 as the one before.

    Each escape keeps its form. One of two characters, such as `\\n`, stays as it is.
    """
    if b"\\" not in raw:
        return _literal(raw, text)
    pieces, end, at = [], 0, 0
    for escape in _ESCAPE.finditer(raw):
        between = len(raw[end : escape.start()].decode(errors="surrogateescape"))
        pieces.append(_literal(raw[end : escape.start()], text[at : at + between]))
        at += between
        length = len(_meaning(escape[0]))
        pieces.append(_escaped(escape[0], text[at : at + length]))
        at += length
        end = escape.end()
    pieces.append(_literal(raw[end:], text[at:]))
    return b"".join(pieces)


def _literal(raw: bytes, text: str) -> bytes:
    """Text without escapes; a byte that is no UTF-8 stays, whatever replaces it."""
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        before = raw.decode(errors="surrogateescape")
        whole = (old if "\ud800" <= new <= "\udfff" else new for old, new in zip(before, text, strict=True))
        return "".join(whole).encode(errors="surrogateescape")


def _meaning(escape: bytes) -> str:
    if len(escape) == _PAIR_LENGTH:
        units = bytes.fromhex((escape[2:6] + escape[8:12]).decode())
        return units.decode("utf-16-be")
    if len(escape) == _UNIT_LENGTH:
        return chr(int(escape[2:], 16))
    if len(escape) == 1:
        return "\\"
    return _SHORT.get(escape[1:]) or escape[1:].decode("latin-1")


def _escaped(escape: bytes, text: str) -> bytes:
    if len(escape) == _PAIR_LENGTH:
        units = text.encode("utf-16-be").hex()
        return f"\\u{units[:4]}\\u{units[4:]}".encode()
    if len(escape) == _UNIT_LENGTH and text != _meaning(escape):
        return f"\\u{ord(text):04x}".encode()
    if len(escape) == 2 and escape[1:] not in _KNOWN and text.isascii():
        return b"\\" + text.encode()
    return escape


# ---- Bodies ----

_LINES: Final = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_JSON_LINES: Final = re.compile(rb"[^\n]*(?:\n|\Z)")
_BLANKS: Final = b" \t\r\n"
_MARK: Final = b"\xef\xbb\xbf"
_CODED: Final = re.compile(rb'\A([0-9a-z]:)\s*["{\[]')
"""A line of the data stream of the AI SDK: a code, and a JSON value."""
_FORM: Final = b"--"
"""What a body of `multipart/form-data` begins with (RFC 2046 section 5.1.1)."""
_ENDS: Final = (b"[DONE]",)


@dataclass(frozen=True, slots=True)
class Payload:
    """The JSON of one event, or of several that follow each other, with the kind if the framing names it.

    Its bytes are changed in place; the segments say where they are in the body, each up to the byte after its last.
    """

    kind: str
    data: bytearray
    segments: tuple[tuple[int, int], ...]

    @property
    def is_json(self) -> bool:
        """Whether it begins like JSON."""
        return self.data.lstrip(_BLANKS).startswith((b"{", b"[", b'"'))


@dataclass(frozen=True, slots=True)
class Line:
    """A line without JSON: the name of its field (empty for a comment and for what is no field) and its value."""

    field: str
    start: int
    end: int


@dataclass(slots=True)
class Body:
    """The places of one body: the JSON in its bytes, and the lines without JSON."""

    data: bytearray
    payloads: list[Payload] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)

    def add(self, kind: str, segments: list[tuple[int, int]]) -> None:
        """Adds the payload of an event, which takes one or several lines."""
        data = bytearray(b"\n".join(bytes(self.data[start:end]) for start, end in segments))
        if bytes(data.strip(_BLANKS)) not in (b"", *_ENDS):
            self.payloads.append(Payload(kind, data, tuple(segments)))

    def written(self) -> bytes:
        """The body, with what was changed in the payloads."""
        for payload in self.payloads:
            at = 0
            for start, end in payload.segments:
                self.data[start:end] = payload.data[at : at + end - start]
                at += end - start + 1
        return bytes(self.data)


def body_of(data: bytes) -> Body:
    """Finds the JSON in a body."""
    body = Body(bytearray(data))
    start = len(_MARK) if data.startswith(_MARK) else 0
    begins = data[start : start + 4096].lstrip(_BLANKS)
    if begins.startswith((b"{", b"[", b'"')):
        _add_json(body, start)
    elif _CODED.match(begins):
        _add_coded(body)
    elif begins.startswith(_FORM):  # the name of a secret and its value are on lines of their own
        body.lines.append(Line("", start, len(data)))
    else:
        _add_events(body, start)
    return body


def _add_json(body: Body, start: int) -> None:
    """JSON lines if the first line is a whole value, else values that may go over several lines."""
    first = body.data[start:].lstrip(_BLANKS).partition(b"\n")[0].rstrip(_BLANKS)
    if not first.startswith(b"{") or not first.endswith(b"}"):
        body.add("", [(start, len(body.data))])
        return
    for line in _JSON_LINES.finditer(body.data, start):
        if line.end() > line.start():
            body.add("", [line.span()])


def _add_coded(body: Body) -> None:
    for line in _JSON_LINES.finditer(body.data):
        raw = line[0]
        blanks = len(raw) - len(raw.lstrip(_BLANKS))
        code = _CODED.match(raw[blanks:])
        if code is not None:
            body.add(code[1].decode(), [(line.start() + blanks + len(code[1]), line.end())])
        elif raw.strip(_BLANKS):
            body.lines.append(Line("", *line.span()))


def _add_events(body: Body, start: int) -> None:
    name, segments = "", list[tuple[int, int]]()
    for line in _LINES.finditer(body.data, start):
        text = bytes(line[0]).rstrip(b"\r\n")
        if not text:
            if segments:
                body.add(name, segments)
            name, segments = "", []
            continue
        head, colon, value = text.partition(b":")
        at = line.start() + len(head) + len(colon)
        end = line.start() + len(text)
        if head == b"data":
            at += value.startswith(b" ")
            segments.append((at, end))
        elif text.startswith((b"{", b"[")):  # JSON without a field, as some servers say errors
            body.add("", [(line.start(), end)])
        elif head in (b"event", b"id", b"retry") or not head:
            name = value.strip().decode(errors="replace") if head == b"event" else name
            body.lines.append(Line(head.decode(), at, end))
        else:
            body.lines.append(Line("", line.start(), end))
    if segments:
        body.add(name, segments)
