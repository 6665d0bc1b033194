"""The only module that reads and writes JSON text: with msgspec if it is installed, else with the standard library.

The library is chosen once, at import. msgspec reads about five times faster, but refuses lone surrogates, which real
servers send when they cut UTF-16 text; the standard library reads the texts that msgspec refuses.
"""

from __future__ import annotations
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Any, Final, NamedTuple

MOST_LEVELS: Final = 256
"""The most levels of objects and lists in an event, in a JSON text that an event holds, and in a value.

RFC 8259 section 9 lets a reader set a limit. Without one it is the rest of the caller's stack, which differs from call
to call. No server comes near it: the readers in .NET and Rust stop at 64 and 128.
"""

JSONDecodeError = json.JSONDecodeError
"""The error that :func:`loads` raises for a text that is not JSON, whichever library reads it."""


def loads_or_none(text: bytes | str) -> Any:
    """The value of a JSON text; None also for a text that is no JSON, and for one that nests too deeply."""
    try:
        return None if nests_too_deeply(text) else loads(text)
    except JSONDecodeError:
        return None


def loads_event(data: bytes) -> Any:
    """The value of the JSON text of an event, read with all patience.

    Broken UTF-8 becomes replacement characters. An integer of more digits than Python converts becomes infinite, as
    `1e999` does: msgspec takes such an event where it skips the field, so the other ways must take it as well.

    Raises:
        JSONDecodeError: `data` is not JSON for the standard library either.
    """
    return _loads(data.decode(errors="replace"), parse_int=_integer)


def _integer(digits: str) -> int | float:
    try:
        return int(digits)
    except ValueError:  # more digits than `sys.get_int_max_str_digits()`
        return float("-inf" if digits.startswith("-") else "inf")


def may_nest_deeply(text: bytes) -> bool:
    """Whether a JSON text has enough brackets to nest in more than :data:`MOST_LEVELS` levels."""
    return len(text) > 2 * MOST_LEVELS and text.count(b"[") + text.count(b"{") > MOST_LEVELS


def nests_too_deeply(text: bytes | str) -> bool:
    """Whether a JSON text nests in more than :data:`MOST_LEVELS` levels; takes no stack to say so, and linear time.

    The text says so before it is read, because reading it takes the stack. The value does not: an object with a name
    twice keeps only the later value.
    """
    data = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    if not may_nest_deeply(data):
        return False
    steps = memoryview(_STRINGS.sub(b"", data).translate(_STEPS, _NO_BRACKETS)).cast("b")
    return max(accumulate(steps), default=0) > MOST_LEVELS


_STRINGS: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+\\?(?:"|\Z)', re.DOTALL)
"""Strings, also one that never ends: a search that fails at each of many quotes would take quadratic time."""
_STEPS: Final = bytes.maketrans(b"[{]}", bytes((1, 1, 255, 255)))
"""One level in, or one out: as a signed byte, 255 is -1."""
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))


def dumps(value: object) -> bytes:
    """The shortest JSON text of `value`, in UTF-8; lone surrogates are escaped, and every mapping becomes an object.

    Raises:
        TypeError: `value` holds a value that JSON cannot represent: an object of another class, a number that is not
            finite (RFC 8259 section 6), an integer of thousands of digits, or nesting that is too deep or without end.
    """
    try:
        return "".join(_pieces_of(value, 0)).encode()
    except UnicodeEncodeError:
        return encode_in_ascii(value).encode()
    except (ValueError, RecursionError) as error:
        raise TypeError(f"got a value that JSON cannot represent: {error}") from error


def _as_dict(value: object) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"got a {type(value).__name__}, expected a value that JSON can represent")


def pieces_encoder(**options: Any) -> Callable[[object, int], Iterable[str]]:
    """Makes a function that gives the pieces of a JSON text, at the level 0. That of the standard library makes the
    encoder in C anew for every call, which takes longer than writing a small value."""
    encoder = json.JSONEncoder(separators=(",", ":"), **options)
    if (make := json.encoder.c_make_encoder) is None:  # type: ignore[attr-defined]  # not CPython
        return lambda value, _level: (encoder.encode(value),)
    quote = json.encoder.encode_basestring_ascii if encoder.ensure_ascii else _quote
    of_form = encoder.key_separator, encoder.item_separator, encoder.sort_keys, encoder.skipkeys, encoder.allow_nan
    pieces: Callable[[object, int], Iterable[str]] = make(None, encoder.default, quote, None, *of_form)
    return pieces


_quote: Callable[[str], str] = json.encoder.encode_basestring
# Made once: `json.dumps` makes an encoder for every call, which takes longer than writing a small value.
# Peers refuse a whole text for one NaN in it, which Python writes by default.
_pieces_of = pieces_encoder(ensure_ascii=False, default=_as_dict, allow_nan=False)
encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_as_dict, allow_nan=False).encode
encode_in_ascii = json.JSONEncoder(separators=(",", ":"), default=_as_dict, allow_nan=False).encode
encode_sorted = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
"""The same for equal objects in any order of names."""


def dumps_text(text: str) -> bytes:
    """The JSON text of a string, as :func:`dumps` writes it inside a value, in a third of the time.

    Raises:
        UnicodeEncodeError: The text has a lone surrogate: then :func:`dumps` escapes all of the value.
    """
    return _quote(text).encode()


def is_json(value: object) -> bool:
    """Whether JSON can represent `value`: the readers also accept NaN and infinite numbers, which JSON lacks."""
    try:
        json.dumps(value, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return False
    return True


try:
    import msgspec as _msgspec_module
except ImportError:  # optional: the extra `fast`
    _msgspec_module = None  # type: ignore[assignment]

_msgspec: Any = _msgspec_module

FAST: Final = _msgspec is not None
"""Whether msgspec is installed and reads JSON."""


def make_decoder() -> Callable[[bytes], Any]:
    """Makes a function that reads JSON text, for loops where speed counts; it raises one of :data:`DECODE_ERRORS`."""
    if _msgspec is None:
        return _quick_loads
    decode: Callable[[bytes], Any] = _msgspec.json.Decoder().decode
    return decode


def make_text_decoder() -> Callable[[bytes], str]:
    """Makes a function that reads a JSON text that is one string; it raises one of :data:`DECODE_ERRORS` for others."""
    if _msgspec is None:
        return _quick_text
    decode: Callable[[bytes], str] = _msgspec.json.Decoder(str).decode
    return decode


def _quick_loads(data: bytes) -> Any:
    """Takes half the time of `json.loads`, for text as servers write it: UTF-8, without surrounding blanks.

    Like msgspec, it leaves half a character to the patient way; it cannot tell one half from two.
    """
    if data.find(b"\\ud") >= 0 or data.find(b"\\uD") >= 0:  # `in` tries the bytes as a number first
        raise ValueError("a surrogate")
    text = data.decode()
    value, end = _scan_once(text, 0)
    if end != len(text):
        raise ValueError(end)
    return value


def _quick_text(data: bytes) -> str:
    value = _quick_loads(data)
    if type(value) is not str:
        raise TypeError(type(value))
    return value


_scan_once: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]

DECODE_ERRORS: Final[tuple[type[Exception], ...]] = (
    ValueError,  # JSONDecodeError, UnicodeDecodeError
    RecursionError,
    TypeError,  # not an object
    StopIteration,  # no value where one should start
    *((_msgspec.MsgspecError,) if FAST else ()),
)
"""The errors that the functions made here raise for a text that they cannot read; :func:`loads` may still read it."""


def loads(data: bytes | str) -> Any:
    """The value of a JSON text.

    Raises:
        JSONDecodeError: `data` is not JSON for the standard library, which is more lenient than msgspec.
    """
    return _loads(data)


def _loads(data: bytes | str, **options: Any) -> Any:
    try:
        return _decode(data)
    except DECODE_ERRORS:
        pass
    try:
        return json.loads(data, **options)
    except JSONDecodeError:
        raise
    except (ValueError, RecursionError) as error:  # not UTF-8; an integer of thousands of digits; nests too deep
        raise JSONDecodeError(str(error), "", 0) from error


def finite_decoder() -> json.JSONDecoder:
    """Makes a decoder that raises ValueError for a number that is not finite, which the standard library reads."""

    def refuse(digits: str) -> float:
        raise ValueError(f"the number {digits[:_MAX_SHOWN]} is not finite")

    def finite(digits: str) -> float:
        number = float(digits)
        return number if math.isfinite(number) else refuse(digits)

    return json.JSONDecoder(parse_constant=refuse, parse_float=finite)


_decode_finite: Callable[[str], Any] = finite_decoder().decode


def loads_finite(data: bytes) -> Any:
    """The value of a JSON text, in which every number is finite (RFC 8259 section 6).

    Raises:
        JSONDecodeError: `data` is not JSON for the standard library.
        ValueError: It has a number that JSON cannot represent.
    """
    if _msgspec is not None:  # it refuses what is not finite, and more
        try:
            return _decode(data)
        except DECODE_ERRORS:
            pass
    try:
        return _decode_finite(data.decode(json.detect_encoding(data)))
    except (UnicodeDecodeError, RecursionError) as error:
        raise JSONDecodeError(str(error), "", 0) from error


_decode: Callable[[bytes | str], Any] = json.loads if _msgspec is None else _msgspec.json.Decoder().decode

# ---- A JSON text that was cut: it shows the kind of a stream that was cut in its first event ----

_SIGNS: Final = re.compile(r'"(?:[^"\\]|\\.)*"?|[{}\[\],:]', re.DOTALL)
_CLOSES: Final = {"{": "}", "[": "]"}


def begun_object(data: bytes) -> dict[str, Any] | None:
    """The object that a text in UTF-8 begins, with the members that it holds whole and what is there of a last string.

    None for a text that begins with anything else, or that has no member.
    """
    text = data.decode(errors="ignore").lstrip()[:65536]  # the kind of an event is at its beginning
    if not text.startswith("{"):
        return None
    for candidate in _closed(text):
        try:
            value = loads(candidate.encode())
        except (JSONDecodeError, RecursionError):
            continue
        return value if isinstance(value, dict) and value else None
    return None


def _closed(text: str) -> list[str]:
    """The text with every open string, list and object closed: as it is, and as it was before its last member.

    Empty where it nests in more than :data:`MOST_LEVELS` levels.
    """
    open_values: list[str] = []
    before_member, open_then = 0, ""
    ends_in_string = False
    for sign in _SIGNS.finditer(text):
        part = sign[0]
        inner = part[:-1]
        is_hidden = (len(inner) - len(inner.rstrip("\\"))) % 2 == 1  # a backslash hides the quote at the end
        ends_in_string = part.startswith('"') and (len(part) == 1 or not part.endswith('"') or is_hidden)
        if part in _CLOSES:
            open_values.append(_CLOSES[part])
            if len(open_values) > MOST_LEVELS:
                return []
            before_member, open_then = sign.end(), "".join(reversed(open_values))
        elif part in {"}", "]"}:
            if open_values:
                open_values.pop()
        elif part == ",":
            before_member, open_then = sign.start(), "".join(reversed(open_values))
    closing = "".join(reversed(open_values))
    whole = text.rstrip("\\") + '"' if ends_in_string else text
    return [whole + closing, text[:before_member] + open_then]


# ---- Values that JSON cannot represent ----

_MAX_SHOWN: Final = 80


class NonJSON(NamedTuple):
    """A place in a value that JSON cannot represent.

    Attributes:
        place: The place, such as `input['a'][0]`.
        got: What is there, such as `a set`.
        expected: What JSON takes there.
        clause: The end of the sentence that begins with the place; empty for one made of `got` and `expected`.
    """

    place: str
    got: str
    expected: str = "a JSON value"
    clause: str = ""

    def __str__(self) -> str:
        return f"{self.place} {self.clause or f'is {self.got}, expected {self.expected}'}"


def find_non_json(value: object, name: str) -> str | None:
    """Describes the first place in `value` that JSON cannot represent, as :func:`locate_non_json` finds it."""
    found = locate_non_json(value, name)
    return None if found is None else str(found)


def locate_non_json(value: object, name: str) -> NonJSON | None:
    """Finds the first place in `value` that JSON cannot represent; None if there is no such place.

    Objects are mappings with string keys, arrays are lists and tuples, numbers are finite. Takes time linear in the
    size of the value, bounded by :data:`MOST_LEVELS`: a cycle counts as a value that nests too deep.
    `name` is the value's name in the place, such as `input`.
    """
    path: list[str | int] = [name]
    stack: list[Iterator[tuple[str | int, object]]] = [iter([(name, value)])]
    while stack:
        for key, child in stack[-1]:
            if child.__class__ in _PLAIN:
                continue
            path[-1] = key
            if child.__class__ is not list and (fault := _fault(child)) is not None:
                return fault._replace(place=name + "".join(f"[{shorten(key)}]" for key in path[1:]))
            if isinstance(child, _NESTING):
                if len(stack) > MOST_LEVELS:
                    clause = f"nests deeper than {MOST_LEVELS} levels, or contains itself"
                    return NonJSON(name, f"a value that {clause}", clause=clause)
                stack.append(iter(enumerate(child) if isinstance(child, (list, tuple)) else child.items()))
                path.append("")
                break
        else:
            stack.pop()
            path.pop()
    return None


_PLAIN: Final = frozenset({str, int, bool, type(None)})
_NESTING: Final = (dict, list, tuple, Mapping)
"""The usual classes first: asking whether a value is a Mapping takes longer than all else."""


def shorten(value: object) -> str:
    """The `repr` of `value`, cut to a length that fits a report; control characters are escaped."""
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


def _fault(value: object) -> NonJSON | None:
    """What JSON cannot represent of a value itself, without its place."""
    if isinstance(value, (str, int, list, tuple)):
        return None
    if isinstance(value, float):
        clause = f"is {value}, which is not a JSON number"
        return None if math.isfinite(value) else NonJSON("", str(value), clause=clause)
    if isinstance(value, _NESTING):
        odd = [key for key in value if not isinstance(key, str)]
        return NonJSON("", f"an object with the key {shorten(odd[0])}", "only string keys") if odd else None
    return NonJSON("", f"a {type(value).__name__}")
