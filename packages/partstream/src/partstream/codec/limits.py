"""How much work input from outside may cause: its bytes, values, items, levels and time.

A caller's body, a message of a socket, a stored conversation and an upstream's answer are read on an event loop that
others wait for, in the memory of one process. So each has a budget, and every budget is a number of this module:

- **Bytes** are counted as they come. The largest body is a setting of the server; what one caller has that waits to be
  read, over all his requests and sockets, is bounded by :data:`WAITING_BODIES` of those.
- **Values** cost ten to thirty times their bytes in memory: 31 MB of `[],[]` are a gigabyte. :func:`measure` counts
  them in the text, before any is made, by the brackets and commas outside of strings; a file in base64 is one value.
- **Items** cost time, because a reader, a bound of tokens and a writer look at each: a request has at most
  :data:`MOST_ITEMS` messages, tools, or parts of one message.
- **Levels** cost stack: no walk over JSON goes deeper than :data:`MOST_LEVELS`.
- **Time.** What is small is read where it comes. What is large (:data:`LARGE_BYTES`, :data:`LARGE_OBJECTS`) is read in
  a thread, and there in pieces: the parser of the standard library is one call in C, which lets no other thread run
  before its end, so :func:`loads_in_pieces` gives it texts of :data:`PIECE` bytes. :data:`LARGE_AT_ONCE` are read at a
  time, because each thread that computes delays the event loop by some milliseconds. The reader of an answer lets
  others run after :data:`TURN_SECONDS`, however little each of its events says.
- **Answers** have a most of bytes, of calls, and of arguments for one call: nothing else would end one that goes on.

Admission comes before all this: who has no budget or asks too often is refused before his body is read.
"""

from __future__ import annotations
import re
from collections.abc import Callable, Iterator
from itertools import accumulate
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, Final, NamedTuple, NoReturn

from partstream.codec.json_codec import (
    MOST_LEVELS,
    JSONDecodeError,
    encode,
    encode_in_ascii,
    encode_sorted,
    finite_decoder,
)

# ---- What is large ----

LARGE_BYTES: Final = 256 * 1024
"""A body with more bytes is read in a thread; the others take a few milliseconds."""
LARGE_OBJECTS: Final = 2_000
"""A body with more brackets that open is read in a thread: a reader takes ten microseconds for each."""
LARGE_AT_ONCE: Final = 2
"""How many large requests are read at a time."""
PIECE: Final = 64 * 1024
"""Bytes that are given to one call in C: it takes about a millisecond."""
TURN_SECONDS: Final = 0.005
"""How long one answer is read, or one request counted, before others have their turn."""


def is_long(value: Any, most: int = LARGE_BYTES) -> bool:
    """Whether a JSON value has more characters than fit into so many bytes; looks no further than those."""
    left, values = most, [value]
    while values and left >= 0:
        one = values.pop()
        left -= len(one) if isinstance(one, str) else _BYTES_OF_VALUE
        if isinstance(one, dict):
            values += (*one, *one.values())
        elif isinstance(one, list):
            values += one
    return left < 0


_BYTES_OF_VALUE: Final = 8


def values_left(value: Any, most: int) -> int:
    """How many values may follow those that a JSON value holds; below zero where it holds more than so many. Looks at
    no more than those."""
    left, values = most, [value]
    while values and left >= 0:
        one = values.pop()
        if isinstance(one, dict | list):
            left -= len(one)
            values += one.values() if isinstance(one, dict) else one
    return left


# ---- What is too much ----

MOST_VALUES: Final = 250_000
"""The most brackets that open and commas, outside of strings, in the JSON of a body."""
MOST_ITEMS: Final = 10_000
"""The most items of one list of a request: messages, tools, parts of a message."""
WAITING_BODIES: Final = 4
"""How many of the largest bodies one caller may have waiting, and his sockets may remember."""
WAITING_OF_ALL: Final = 6
"""How many of the largest bodies all callers may have waiting."""

MOST_ANSWER_BYTES: Final = 128 * 1024 * 1024
"""The most bytes of one answer of an upstream: a million tokens, each in an event of its own, have fewer."""
MOST_ANSWER_TEXT: Final = 1024 * 1024
"""The most characters of text and thinking of one answer: a quarter of a million tokens, twice what the longest answers
have. Wires repeat all of it in their last events, which are written at once."""
MOST_ARGUMENT_BYTES: Final = 1024 * 1024
"""The most bytes of the arguments of one call: they are read and written at once too."""
MOST_ARGUMENT_VALUES: Final = 25_000
"""The most values in them: each is looked at on its way to the client."""
ARGUMENT_PIECE: Final = 16
"""What each piece of arguments counts at least: one letter takes as much memory as ten."""
MOST_CALLS: Final = 4_096
"""The most calls of one answer."""
MOST_ANSWER_VALUES: Final = 2_000_000
"""The most values of one event or document of an upstream: log probabilities of the longest answers are a million."""


class Measure(NamedTuple):
    """What a JSON text holds: its values, by brackets that open and commas, and its levels."""

    values: int
    levels: int


_STEPS: Final = bytes.maketrans(b"[{]},", bytes((1, 1, 255, 255, 0)))
_OTHERS: Final = bytes(set(range(256)) - set(b"[]{},"))


def measure(text: bytes, most: int = MOST_VALUES) -> Measure:
    """What a JSON text holds, or its beginning that has more values or levels than a text may have; in linear time, in
    pieces, without making a value. A text that is no JSON has some numbers too."""
    values = level = levels = place = 0
    in_string = False
    while place < len(text) and values <= most and levels <= MOST_LEVELS:
        piece = text[place : place + PIECE]
        hides = len(piece) - len(piece.rstrip(b"\\")) & 1 and len(piece) == PIECE  # the first byte of the next piece
        piece = piece[: len(piece) - hides]
        place += len(piece)
        # No quote is left but those around strings: what is outside of strings is every second text between them.
        between = piece.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        steps = memoryview(b"".join(between[in_string::2]).translate(_STEPS, _OTHERS)).cast("b")
        in_string ^= len(between) & 1 == 0
        values += len(steps) - bytes(steps).count(b"\xff")
        highest = max(accumulate(steps, initial=level))
        levels = max(levels, highest)
        level += sum(steps)
    return Measure(values, levels)


# ---- Reading in pieces ----

_BLANKS: Final = re.compile(r"[ \t\n\r]*+")
_TOKENS: Final = re.compile(rb'(?:[^"\\]++|\\u[0-9a-fA-F]{4}|\\[^u])*+', re.DOTALL)
"""What a string holds, never the half of an escape."""


def loads_in_pieces(data: bytes) -> Any:
    """The value of a JSON text in UTF-8, of at most :data:`MOST_LEVELS` levels, without numbers that are not finite;
    other threads run meanwhile.

    Raises:
        JSONDecodeError: It is no such text.
        ValueError: It has a number that JSON cannot represent.
    """
    return _PieceReader(data).whole()


class _PieceReader:
    """Reads one text: values that fit into a window by the parser in C, the others by their members."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = len(b"\xef\xbb\xbf") if data.startswith(b"\xef\xbb\xbf") else 0
        self._scan = finite_decoder().scan_once  # type: ignore[attr-defined]
        self._text = ""
        self._place = 0  # in the window
        self._is_last = False
        self._look(self._at)

    def whole(self) -> Any:
        value = self._value(1)
        if self._peek():
            self._fail("Extra data")
        return value

    def _look(self, at: int) -> None:
        window = self._data[at : at + PIECE]
        try:
            self._text = window.decode()
        except UnicodeDecodeError as error:
            self._is_last = False
            if error.end < len(window) or at + PIECE >= len(self._data) or error.start == 0:
                self._fail("got a text that is not UTF-8")
            self._text = window[: error.start].decode()  # the window cuts a character
        self._at, self._place = at, 0
        self._is_last = at + PIECE >= len(self._data)

    def _go_on(self) -> None:
        """Moves the window to the place where the reader is."""
        said = self._text[: self._place]
        self._look(self._at + (len(said) if said.isascii() else len(said.encode())))

    def _peek(self) -> str:
        """The next character that is no blank; nothing at the end."""
        while True:
            found = _BLANKS.match(self._text, self._place)
            self._place = self._place if found is None else found.end()
            if self._place < len(self._text) or self._is_last:
                return self._text[self._place : self._place + 1]
            self._go_on()

    def _value(self, level: int) -> Any:
        letter = self._peek()
        if level > MOST_LEVELS:
            self._fail(f"got more than {MOST_LEVELS} levels")
        for is_fresh in (self._place == 0, True):
            try:
                value, end = self._scan(self._text, self._place)
            except (StopIteration, JSONDecodeError):
                pass
            else:
                if end + len("e+") < len(self._text) or self._is_last:  # no number is cut before its exponent
                    self._place = end
                    return value
            if is_fresh:
                break
            self._go_on()
        if letter == '"':
            return self._string()
        if letter == "[":
            return self._list(level)
        if letter == "{":
            return self._object(level)
        return self._fail("Expecting value")

    def _list(self, level: int) -> list[Any]:
        values: list[Any] = []
        self._place += 1
        if self._peek() == "]":
            self._place += 1
            return values
        while True:
            values.append(self._value(level + 1))
            if self._ends("]"):
                return values

    def _object(self, level: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        self._place += 1
        if self._peek() == "}":
            self._place += 1
            return members
        while True:
            if self._peek() != '"':
                self._fail("Expecting property name enclosed in double quotes")
            name = self._value(level + 1)
            if self._peek() != ":":
                self._fail("Expecting ':' delimiter")
            self._place += 1
            members[name] = self._value(level + 1)
            if self._ends("}"):
                return members

    def _ends(self, end: str) -> bool:
        """Whether a list or an object ends here; otherwise a further member follows."""
        letter = self._peek()
        if letter not in (end, ",") or not letter:
            self._fail("Expecting ',' delimiter")
        self._place += 1
        return letter == end

    def _string(self) -> str:
        """A string that is longer than the window."""
        self._go_on()
        data, place = self._data, self._at + 1
        pieces: list[str] = []
        while True:
            found = _TOKENS.match(data, place, place + PIECE)
            end = place if found is None else found.end()
            letter = data[end : end + 1]
            if letter != b'"':
                while end > place and data[end : end + 1] and data[end] & 0xC0 == 0x80:  # in the middle of a character
                    end -= 1
                if end <= place:
                    self._look(end)
                    self._fail("Invalid \\escape" if letter == b"\\" else "Unterminated string")
            try:
                piece, _ = scanstring(data[place:end].decode() + '"', 0)
            except UnicodeDecodeError:
                self._look(place)
                self._fail("got a text that is not UTF-8")
            if pieces and "\ud800" <= pieces[-1][-1:] <= "\udbff" and "\udc00" <= piece[:1] <= "\udfff":
                high, low = ord(pieces[-1][-1]) & 0x3FF, ord(piece[0]) & 0x3FF
                pieces[-1], piece = f"{pieces[-1][:-1]}{chr(0x10000 + (high << 10) + low)}", piece[1:]
            if piece:
                pieces.append(piece)
            place = end
            if letter == b'"':
                self._look(end + 1)
                return "".join(pieces)

    def _fail(self, what: str) -> NoReturn:
        at = self._at + self._place
        raise JSONDecodeError(what, self._data[max(0, at - 20) : at].decode(errors="replace"), 0)


# ---- Writing in pieces ----

_MEMBERS: Final = 256


def dumps_in_pieces(value: Any) -> bytes:
    """What :func:`partstream.codec.json_codec.dumps` gives; other threads run meanwhile.

    Raises:
        TypeError: The value holds one that JSON cannot represent.
    """
    try:
        return b"".join(map(str.encode, texts_of(value, encode)))
    except UnicodeEncodeError:
        return b"".join(map(str.encode, texts_of(value, encode_in_ascii)))
    except (ValueError, RecursionError) as error:
        raise TypeError(f"got a value that JSON cannot represent: {error}") from error


def texts_of(value: Any, write: Callable[[Any], str]) -> Iterator[str]:
    """The JSON text of a value in pieces of about :data:`PIECE` characters, each written by one call; `write` uses no
    blanks, and sorts names or leaves them as they are."""
    if not is_long(value, PIECE):
        yield write(value)
    elif isinstance(value, str):
        yield '"'
        for place in range(0, len(value), PIECE):
            yield write(value[place : place + PIECE])[1:-1]
        yield '"'
    else:
        is_object = isinstance(value, dict)
        members = list(value.items()) if is_object else value
        if is_object and write is encode_sorted:
            members = sorted(members)
        yield "{" if is_object else "["
        for place in range(0, len(members), _MEMBERS):
            some = members[place : place + _MEMBERS]
            whole = dict(some) if is_object else some
            if place:
                yield ","
            if not is_long(whole, PIECE):
                yield write(whole)[1:-1]
                continue
            for number, member in enumerate(some):
                head = write({member[0]: None})[1 : -len("null}")] if is_object else ""
                yield f",{head}" if number else head
                yield from texts_of(member[1] if is_object else member, write)
        yield "}" if is_object else "]"
