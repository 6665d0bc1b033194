"""Tool calls on every wire: which are one call, what their arguments are, and what becomes of half a call.

A wire finds the call that an event means, by its own fields, and gives all that came for it to :class:`Calls`. What
holds on each wire is decided here, once:

- **Identity.** An id is no identity: servers give one id to several calls (nanobot#4473, ollama#15457), and none to
  others. A call with the id of an earlier one is a repetition if name and arguments are equal, and is dropped. Else it
  is another call, and gets an id of ours, as a call without an id does. Equal calls without ids are several: models ask
  for them (docs/wires/gemini.md#tool-calls). A call that only begins again, without any arguments, is a repetition too.
- **Arguments.** One JSON object, in pieces of text, as a text or as an object. Servers also send it twice, after an
  empty object, grown, or inside a JSON text. :data:`MENDINGS` lists what can be mended without a guess; nothing else
  is. A mending is tried only after the plain reading has failed, so the arguments of a good server are read once.
- **The end.** A call is never whole because its arguments parse: wires call :meth:`Calls.take` at the end of the call
  or of the answer. If a limit or a filter has ended the answer, half a call is no fault of the server: it is counted.
  Where arguments stream, a last call without any is half a call then: they have not come yet. Else half a call is an
  error that names the call. Text and all other calls stay in both cases.

Nothing is silent: mended, repeated and cut calls come out as :class:`Unmapped`, under the name of the tool.
"""

from __future__ import annotations
import hashlib
import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby, islice, pairwise
from typing import Any, Final, NamedTuple

from partstream.codec.json_codec import JSONDecodeError, is_json, loads, nests_too_deeply
from partstream.codec.limits import ARGUMENT_PIECE, MOST_ARGUMENT_BYTES, MOST_ARGUMENT_VALUES, MOST_CALLS, measure
from partstream.conversation.turns import canonical_json
from partstream.errors import AnswerTooLargeError, ToolArgumentsError
from partstream.lm.outputs import StreamOutput, Unmapped
from partstream.lm.parts import ToolCallPart, tool_call_part
from partstream.protocols.read_response import read_arguments

# ---- Pieces ----

_SIGNS: Final = re.compile(r'[\\"{}\[\]]')
_MOST_READINGS: Final = 16
_STEP: Final = {"{": 1, "[": 1, "}": -1, "]": -1}


class Pieces(list[Any]):
    """The pieces of the arguments of one call, as they are appended."""

    __slots__ = ("_readings", "_size")

    def __init__(self) -> None:
        super().__init__()
        self._size = 0
        self._readings = 0

    def append(self, piece: Any, /) -> None:
        """Adds a text, or a whole value.

        Raises:
            AnswerTooLargeError: There is too much of them.
        """
        self._size += max(len(piece) if type(piece) is str else 0, ARGUMENT_PIECE)
        if self._size > MOST_ARGUMENT_BYTES:
            raise too_long()
        super().append(piece)

    def may_end(self) -> bool:
        """Whether to look if they are whole because an event may end the call. Each time, all of them are read, so what
        comes in more than 16 such events waits for the end of the answer."""
        self._readings += 1
        return self._readings <= _MOST_READINGS


def too_long() -> AnswerTooLargeError:
    """The error for a call with too many arguments."""
    return AnswerTooLargeError("bytes of the arguments of one call", MOST_ARGUMENT_BYTES)


def check_number(things: int) -> None:
    """Refuses an answer with too many calls, or other things that are kept to its end.

    Raises:
        AnswerTooLargeError: It has so many.
    """
    if things > MOST_CALLS:
        raise AnswerTooLargeError("calls or entries of one answer", MOST_CALLS)


class KeptIds:
    """The ids that one answer has invented and its reader keeps, of one kind of things."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._left = MOST_ARGUMENT_BYTES

    def keep(self, one: str, *beside: str | None) -> None:
        """Keeps an id, with the names beside it.

        Raises:
            AnswerTooLargeError: They are too many, or too long together.
        """
        if one not in self._known:
            self._known.add(one)
            self._left -= sum(map(len, filter(None, (one, *beside))))
            check_number(len(self._known))
            if self._left < 0:
                raise AnswerTooLargeError("characters of the ids of one answer", MOST_ARGUMENT_BYTES)


class OpenJson:
    """The pieces of a JSON object, texts or whole values; finds the end in one pass over the characters, when
    :attr:`is_complete` is read."""

    def __init__(self) -> None:
        self.pieces = Pieces()
        self._read = 0
        self._depth = 0
        self._in_string = False
        self._skips = False  # whether a backslash hides the next character
        self._was_open = False
        self._head = ""  # the first signs of all that came, without blanks around each piece
        self._in_head = 0

    @property
    def is_begun(self) -> bool:
        """Whether anything but blanks has come."""
        return bool(self._begins())

    @property
    def is_complete(self) -> bool:
        """Whether an object has begun and has ended."""
        for piece in self.pieces[self._read :]:
            if isinstance(piece, str):
                self._scan(piece)
            else:
                self._was_open, self._depth, self._in_string = True, 0, False
        self._read = len(self.pieces)
        return self._was_open and self._depth == 0 and not self._in_string

    @property
    def is_empty_object(self) -> bool:
        """Whether all that came is `{}`: an opening of some servers, and the arguments of a tool without any."""
        return self._begins() == "{}"

    def _begins(self) -> str:
        """What came, without blanks; no more of it than shows that it is more than `{}`. Each piece is read once."""
        while len(self._head) <= len("{}") and self._in_head < len(self.pieces):
            piece = self.pieces[self._in_head]
            said = piece.strip() if isinstance(piece, str) else "..." if piece else "{}"
            self._head += said[: len("{}") + 1]
            self._in_head += 1
        return self._head

    def _scan(self, piece: str) -> None:
        hidden = 0 if self._skips and piece else -1  # the place of a character that a backslash hides
        self._skips = self._skips and not piece
        for sign in _SIGNS.finditer(piece):
            letter, place = sign[0], sign.start()
            if place == hidden:
                continue
            if letter == "\\":
                hidden = place + 1
                self._skips = hidden == len(piece)
            elif letter == '"':
                self._in_string = not self._in_string
            elif not self._in_string:
                self._depth += _STEP[letter]
                self._was_open = True


# ---- Arguments ----


class Arguments(NamedTuple):
    """What pieces say: the object, None where they say none; and the names of the mendings that this took."""

    value: dict[str, Any] | None
    mended: tuple[str, ...] = ()


class _Value(NamedTuple):
    """One JSON value of the arguments, and whether it came as a value of its event and not in a text."""

    value: Any
    is_typed: bool


def _unwrap(values: list[_Value]) -> list[_Value]:
    inner = []
    for one in values:
        is_text = isinstance(one.value, str) and one.value.strip()
        value = read_pieces((one.value,)).value if is_text else None
        inner.append(one if value is None else _Value(value, is_typed=False))
    return values if all(new is old for new, old in zip(inner, values, strict=True)) else inner


def _drop_empty(values: list[_Value]) -> list[_Value]:
    said = [one for one in values if one.value not in ({}, None, "")]
    return said if said and len(said) < len(values) else values


def _drop_repeated(values: list[_Value]) -> list[_Value]:
    is_repeated = len(values) > 1 and all(
        _holds(new.value, old.value) and _holds(old.value, new.value) for old, new in pairwise(values)
    )
    return values[-1:] if is_repeated else values


def _drop_grown(values: list[_Value]) -> list[_Value]:
    has_grown = len(values) > 1 and all(
        isinstance(old.value, dict)
        and isinstance(new.value, dict)
        and _holds(new.value, old.value, texts_grow=old.is_typed and new.is_typed)
        for old, new in pairwise(values)
    )
    return values[-1:] if has_grown else values


EMPTY_BESIDE: Final = "an empty object beside the arguments"

MENDINGS: Final[tuple[tuple[str, Callable[[list[_Value]], list[_Value]]], ...]] = (
    # The text is the JSON of an object, and no tool takes a text alone.
    ("JSON inside a JSON text", _unwrap),
    # It says nothing that the other value does not say. Servers that decode arguments open with it.
    (EMPTY_BESIDE, _drop_empty),
    # All values are equal.
    ("the arguments again", _drop_repeated),
    # Each value holds all of the one before, so the last one holds all that was said. A text inside may grow only where
    # the values are snapshots, outside of any text: of two calls, `a` and `a/b` are paths of their own.
    ("arguments that grew", _drop_grown),
)
"""The shapes of several values, under the names by which they are counted, in the order in which they are tried; each
works on what the one before has left. A function returns the very list where the shape is another. The comments say why
the result is what the model said, and no guess."""

REPEATED_PIECES: Final = "each piece repeats those before"
"""Each piece begins with the whole piece before it, and the last is whole: snapshots of the text."""
BEGUN_AGAIN: Final = "the whole after an open beginning"
"""The text up to some piece is the beginning of the object that follows: what was begun was said again, in full."""


def read_pieces(pieces: Sequence[Any]) -> Arguments:
    """The arguments that pieces of one call say.

    Args:
        pieces: Texts that belong together, and whole values, in the order in which they came. No piece at all, and
            blanks alone, are an empty object.
    """
    if len(pieces) == 1:
        plain = read_arguments(pieces[0])
    else:
        plain = read_arguments("".join(pieces)) if all(isinstance(piece, str) for piece in pieces) else None
    if plain is not None:
        return Arguments(plain)
    mended: list[str] = []
    values: list[_Value] = []
    runs = [(is_text, list(run)) for is_text, run in groupby(pieces, lambda piece: isinstance(piece, str))]
    for number, (is_text, run) in enumerate(runs):
        if not is_text:
            values += [_Value(value, is_typed=True) for value in run]
            continue
        found = _values_in(run, mended)
        if found is not None:
            values += [_Value(value, is_typed=False) for value in found]
        elif number + 1 < len(runs):  # an object replaces the beginning of its text
            mended.append(BEGUN_AGAIN)
        else:
            return Arguments(None)
    for name, mend in MENDINGS:
        left = mend(values)
        if left is not values:
            mended.append(name)
            values = left
    if not values:
        return Arguments({}, tuple(mended))
    value = values[0].value if len(values) == 1 else None
    return Arguments(value, tuple(mended)) if isinstance(value, dict) and is_json(value) else Arguments(None)


class Reading(NamedTuple):
    """The arguments of a call that several sources give: the pieces that count, and what they say."""

    pieces: Sequence[Any]
    arguments: Arguments


def read_sources(sources: Iterable[Sequence[Any]]) -> Reading:
    """The arguments where servers give them more than once: in pieces, at the end of them, in the whole call.

    Args:
        sources: The pieces of each, the most trusted one first; that one counts. But an empty object says nothing where
            another source says more, and pieces tell better than their joined text where the arguments begin anew.
    """
    given = [pieces for pieces in sources if any(piece != "" for piece in pieces)]
    if not given:
        return Reading((), read_pieces(()))
    first = Reading(given[0], read_pieces(given[0]))
    if len(given) == 1 or first.arguments.value or (first.arguments.value is None and len(given[0]) > 1):
        return first
    for pieces in given[1:]:
        value, mended = read_pieces(pieces)
        if value and first.arguments.value is not None:
            return Reading(pieces, Arguments(value, (*mended, EMPTY_BESIDE)))
        if value and first.pieces[0] == "".join(map(str, pieces)):
            return Reading(pieces, Arguments(value, mended))
    return first


def later_pieces(given: Any, streamed: Sequence[Any]) -> Sequence[Any]:
    """The pieces that count where a call begins with arguments and more stream: those of the stream, if they say an
    object; else those of the beginning, if they say anything."""
    if given in (None, "", {}) or read_pieces(streamed).value:
        return streamed
    return (given,)


def _values_in(pieces: list[str], mended: list[str]) -> list[Any] | None:
    """The JSON values in a text; None if it is no JSON. Appends what had to be mended."""
    whole = "".join(pieces)
    if (values := _decoded(whole)) is not None:
        return values
    said = [piece for piece in pieces if piece.strip()]
    if len(said) > 1 and all(new.startswith(old) for old, new in pairwise(said)):
        mended.append(REPEATED_PIECES)
        return _decoded(said[-1])
    restarts = (place for place, piece in enumerate(said) if place and piece.lstrip().startswith("{"))
    for place in islice(restarts, _MOST_RESTARTS):
        rest = "".join(said[place:])
        if _compact(rest).startswith(_compact("".join(said[:place]))):
            mended.append(BEGUN_AGAIN)
            return _decoded(rest)
    return None


_MOST_RESTARTS: Final = 8
"""Pieces, or whole calls, that may say in full what was begun: each is compared with all of the text."""


def _compact(text: str) -> str:
    return "".join(text.split())


_SIGN: Final = re.compile(r"\S")


def _decoded(text: str) -> list[Any] | None:
    """The JSON values of a text, one after the other; None if it is no JSON."""
    if nests_too_deeply(text):
        return None
    try:
        return [loads(text)]
    except JSONDecodeError:
        pass
    decoder = json.JSONDecoder()
    values: list[Any] = []
    place = 0
    try:
        while (begin := _SIGN.search(text, place)) is not None:
            value, place = decoder.raw_decode(text, begin.start())
            values.append(value)
    except (ValueError, RecursionError):
        return None
    return values


def _holds(new: Any, old: Any, *, texts_grow: bool = False) -> bool:
    """Whether a value holds all of another one: every name of an object, the beginning of a list."""
    if isinstance(old, dict):
        return isinstance(new, dict) and all(
            name in new and _holds(new[name], value, texts_grow=texts_grow) for name, value in old.items()
        )
    if isinstance(old, list):
        return (
            isinstance(new, list)
            and len(new) >= len(old)
            and all(_holds(one, before, texts_grow=texts_grow) for one, before in zip(new, old, strict=False))
        )
    if texts_grow and isinstance(old, str) and isinstance(new, str):
        return new.startswith(old)
    return isinstance(new, bool) is isinstance(old, bool) and bool(new == old)


# ---- Calls ----


class CompleteCall(NamedTuple):
    """A whole call.

    Attributes:
        call_id: The server's id, or one of ours: no other call of the response has it.
        is_given: Whether it is the server's.
    """

    call_id: str
    name: str
    input: dict[str, Any]
    is_given: bool

    def part(self, prefix: str) -> ToolCallPart:
        """Its part, with this prefix before the id."""
        return tool_call_part(prefix + self.call_id, self.name, self.input)


class _Half(NamedTuple):
    call_id: str | None
    name: str | None
    pieces: tuple[Any, ...]


class Calls:
    """The calls of one response that have come to an end.

    Attributes:
        response_id: The server's id of the response, or another fact about it: ids of ours differ by it.
        count: How many calls are whole.
        any_half: Whether a call came to its end and was not whole.
    """

    def __init__(self, own_id: str = "call_") -> None:
        self.response_id: str | None = None
        self.count = 0
        self.any_half = False
        self._own_id = own_id
        self._taken: set[str] = set()
        self._contents: set[bytes] = set()  # digests: an answer may have hundreds of calls, each with a whole file
        self._wholes: deque[_Half] = deque(maxlen=_MOST_RESTARTS)  # the last ones with an id of the server
        self._half: dict[int, _Half] = {}
        self._unmatched: dict[tuple[str | None, str | None], list[int]] = {}  # halves before the next whole call

    def take(
        self,
        call_id: str | None,
        name: str | None,
        pieces: Iterable[Any],
        outputs: list[StreamOutput],
        *,
        read: Arguments | None = None,
    ) -> CompleteCall | None:
        """Takes all that came for a call.

        Args:
            call_id: The server's id, or None.
            pieces: See :func:`read_pieces`.

        Raises:
            AnswerTooLargeError: There are too many calls, or it has too many arguments.

        Returns:
            The call; None if it repeats another one, or is not whole, which :meth:`end` tells.
        """
        said = tuple(pieces)
        value, mended = read_pieces(said) if read is None else read
        if name is None or value is None:
            self.half(call_id, name, said)
            return None
        outputs += (_counted(_Half(call_id, name, said), what) for what in mended)
        content = canonical_json(value)
        if len(content) > MOST_ARGUMENT_BYTES:
            raise too_long()
        if len(content) > MOST_ARGUMENT_VALUES and measure(content, MOST_ARGUMENT_VALUES).values > MOST_ARGUMENT_VALUES:
            raise AnswerTooLargeError("values in the arguments of one call", MOST_ARGUMENT_VALUES)
        check_number(self.count + 1)
        if call_id is not None:
            digest, whole = _digest(call_id, name, content), _Half(call_id, name, said)
            named = _digest(call_id, name, b"")
            # A call without any arguments after a whole one of its id and name is that call, begun again.
            if digest in self._contents or (named in self._contents and not any(said)):
                outputs.append(_counted(whole, "repeated"))
                return None
            self._contents |= {digest, named}
            # The half calls that it says in full: a server said it until it was whole, as LobeHub does for each token.
            numbers = self._unmatched.pop((call_id, name), ())
            text = _compact(shown_pieces(said)) if numbers else ""
            for number in numbers:
                if _begins(self._half[number], text):
                    outputs.append(_counted(self._half.pop(number), BEGUN_AGAIN))
            self._wholes.append(whole)
        own = self._identify(call_id, name, content.decode(errors="replace"))
        return CompleteCall(own, name, value, own == call_id)

    def _identify(self, call_id: str | None, name: str, content: str) -> str:
        """The id of the next call, which no other call of the response has."""
        self.count += 1
        own = call_id
        number = self.count
        while own is None or own in self._taken:
            fact = json.dumps([self.response_id, number, name, content])
            own = f"{self._own_id}{hashlib.sha256(fact.encode()).hexdigest()[:_DIGITS]}"
            number += 1
        self._taken.add(own)
        return own

    def half(self, call_id: str | None, name: str | None, pieces: Iterable[Any]) -> None:
        """Takes a call that is not whole, whatever its arguments are; :meth:`end` tells whether a limit has cut it."""
        self.any_half = True
        check_number(len(self._half) + 1)
        number = next(reversed(self._half), -1) + 1
        self._half[number] = _Half(call_id, name, tuple(pieces))
        self._unmatched.setdefault((call_id, name), []).append(number)

    def has(self, call_id: str, name: str, value: dict[str, Any]) -> bool:
        """Whether a call of this id is equal in all."""
        return _digest(call_id, name, canonical_json(value)) in self._contents

    def forget(self, call: CompleteCall, call_id: str) -> None:
        """Takes back a call that the server said under an id: it may say the same again."""
        self.count -= 1
        self._taken.discard(call.call_id)
        self._contents.discard(_digest(call_id, call.name, canonical_json(call.input)))

    def cut(self, call_id: str | None, name: str | None, pieces: Iterable[Any], outputs: list[StreamOutput]) -> None:
        """Counts a call of which the server says that it is not whole."""
        self.any_half = True
        outputs.append(_counted(_Half(call_id, name, tuple(pieces)), "incomplete"))

    def end(self, outputs: list[StreamOutput], *, is_cut: bool) -> ToolArgumentsError | None:
        """Ends the response.

        Args:
            is_cut: Whether a limit or a filter ended the response.

        Returns:
            The error of the first call that is not whole, if nothing has cut it, with all that are not; None without
            one.
        """
        calls = []
        wholes = [(one[:2], _compact(shown_pieces(one.pieces))) for one in self._wholes] if self._half else []
        for one in self._half.values():
            if any(one[:2] == named and _begins(one, text) for named, text in wholes):
                outputs.append(_counted(one, BEGUN_AGAIN))
            else:
                calls.append(one)
        self._half = {}
        self._unmatched = {}
        first = None if is_cut else next(iter(calls), None)
        outputs += (_counted(one, "incomplete") for one in calls if one is not first)
        if first is None:
            return None
        error = broken(first.call_id, first.name, first.pieces)
        named = [(one.call_id, one.name, shown_pieces(one.pieces)) for one in calls if one.name is not None]
        if len(named) == len(calls):
            error.calls = tuple((self._identify(*call), *call[1:]) for call in named)
        return error


_DIGITS: Final = 24


def _digest(call_id: str, name: str, content: bytes) -> bytes:
    return hashlib.sha256(json.dumps([call_id, name]).encode() + content).digest()


def _begins(half: _Half, text: str) -> bool:
    """Whether the compact text of a whole call begins as half a call does."""
    begun = _compact(shown_pieces(half.pieces))
    return bool(begun) and text.startswith(begun)


def broken(call_id: str | None, name: str | None, pieces: Iterable[Any]) -> ToolArgumentsError:
    """The error of a call that is not whole."""
    expected = "a JSON object" if name else "a name for these arguments"
    return ToolArgumentsError(call_id=call_id, name=name, arguments=shown_pieces(pieces), expected=expected)


def _counted(call: _Half, what: str) -> Unmapped:
    data = {"id": call.call_id, "name": call.name, "arguments": shown_pieces(call.pieces)}
    return Unmapped(f"tool call {call.name or 'without a name'} ({what})", data)


def shown_pieces(pieces: Iterable[Any]) -> str:
    """The pieces as one text; an object that cannot be written is shown by its class."""
    return "".join(piece if isinstance(piece, str) else _written(piece) for piece in pieces)


def _written(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return type(value).__name__
