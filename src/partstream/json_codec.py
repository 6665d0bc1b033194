"""The only module that reads and writes JSON text: with msgspec if it is installed, else with the standard library.

The library is chosen once, at import. msgspec reads about five times faster, but refuses lone surrogates, which real
servers send when they cut UTF-16 text; the standard library reads the texts that msgspec refuses.
"""

from __future__ import annotations

import json
from collections import namedtuple
from collections.abc import Mapping
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "DECODE_ERRORS",
    "FAST",
    "JSONDecodeError",
    "dumps",
    "is_json",
    "loads",
    "make_decoder",
    "make_event_decoder",
]

JSONDecodeError = json.JSONDecodeError
"""The error that :func:`loads` raises for a text that is not JSON, whichever library reads it."""


def _standard_loads(data: bytes | str) -> Any:
    try:
        return json.loads(data)
    except JSONDecodeError:
        raise
    except (ValueError, RecursionError) as error:  # not UTF-8; an integer of thousands of digits; nests too deep
        raise JSONDecodeError(str(error), "", 0) from error


def dumps(value: object) -> bytes:
    """The shortest JSON text of `value`, in UTF-8; lone surrogates are escaped, and every mapping becomes an object.

    Raises:
        TypeError: `value` holds a value that JSON cannot represent: an object of another class, a number that is not
            finite (RFC 8259 section 6), an integer of thousands of digits, or nesting that is too deep or without end.
    """
    try:
        return _encode(value).encode()
    except UnicodeEncodeError:
        return _encode_in_ascii(value).encode()
    except (ValueError, RecursionError) as error:
        raise TypeError(f"got a value that JSON cannot represent: {error}") from error


def _as_dict(value: object) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"got a {type(value).__name__}, expected a value that JSON can represent")


# Made once: `json.dumps` makes an encoder for every call, which takes longer than writing a small value.
# Peers refuse a whole text for one NaN in it, which Python writes if it is not told otherwise.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_as_dict, allow_nan=False).encode
_encode_in_ascii = json.JSONEncoder(separators=(",", ":"), default=_as_dict, allow_nan=False).encode


def is_json(value: object) -> bool:
    """Whether JSON can represent `value`: the readers also accept NaN and infinite numbers, which JSON lacks.

    Args:
        value: A value from :func:`loads` or from a program.
    """
    try:
        json.dumps(value, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return False
    return True


def _load_msgspec() -> Any:
    try:
        import msgspec  # noqa: PLC0415 - optional: the extra `fast`
    except ImportError:
        return None
    return msgspec


_msgspec = _load_msgspec()

FAST: Final = _msgspec is not None
"""Whether msgspec is installed and reads JSON."""


def make_decoder() -> Callable[[bytes], Any]:
    """Makes a function that reads JSON text, for loops where speed counts; it raises one of :data:`DECODE_ERRORS`."""
    if _msgspec is None:
        return _quick_loads
    decode: Callable[[bytes], Any] = _msgspec.json.Decoder().decode
    return decode


def make_event_decoder(tag: str | None, kind: str, fields: Mapping[str, str]) -> Callable[[bytes], Any]:
    """Makes a function that reads JSON objects of one kind; it raises one of :data:`DECODE_ERRORS` for other kinds.

    The function returns an object with the wanted fields as attributes. For a missing field, the attribute is None, or
    the function raises one of :data:`DECODE_ERRORS`. Without a tag field in the object, msgspec reads it and the
    standard library refuses it: requiring the tag in msgspec would take 4 % of the time of a short event.

    Args:
        tag: The field that holds the kind of an object; None to read all objects.
        kind: The kind to read.
        fields: The name of the object's field for each attribute; a `?` after the name marks a field that is often
            missing. Skipping all other fields makes msgspec more than twice as fast.
    """
    names = {attribute: field.removesuffix("?") for attribute, field in fields.items()}
    if _msgspec is None:
        plain = namedtuple("record", fields)  # type: ignore[misc]
        all_there = not any(field.endswith("?") for field in fields.values())
        return partial(_quick_record, tag, kind, _values_of(tuple(names.values()), all_there), plain)
    attributes = [(name, Any, None) for name in names]
    tagged = {} if tag is None else {"tag_field": tag, "tag": kind}
    record = _msgspec.defstruct("record", attributes, rename=names, gc=False, **tagged)
    decode: Callable[[bytes], Any] = _msgspec.json.Decoder(record).decode
    return decode


def _quick_loads(data: bytes) -> Any:
    """Takes half the time of `json.loads`, for text as servers write it: UTF-8, without surrounding blanks."""
    text = data.decode()
    value, end = _scan_once(text, 0)
    if end != len(text):
        raise ValueError(end)
    return value


def _quick_record(
    tag: str | None,
    kind: str,
    read: Callable[[Any], tuple[Any, ...]],
    record: type[tuple[Any, ...]],
    data: bytes,
) -> Any:
    event = _quick_loads(data)
    if tag is not None:
        if event[tag] != kind:
            raise KeyError(kind)
    elif type(event) is not dict:
        raise TypeError(type(event))
    return tuple.__new__(record, read(event))


def _values_of(names: tuple[str, ...], all_there: bool) -> Callable[[Any], tuple[Any, ...]]:
    """Makes a function that reads the values of some fields."""
    if not all_there:
        return lambda event: tuple(map(event.get, names))
    if len(names) == 1:  # itemgetter would return the value itself
        name = names[0]
        return lambda event: (event[name],)
    return itemgetter(*names)


_scan_once: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]

DECODE_ERRORS: Final[tuple[type[Exception], ...]] = (
    ValueError,  # JSONDecodeError, UnicodeDecodeError
    RecursionError,
    KeyError,  # an object of another type
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
    try:
        return _decode(data)
    except DECODE_ERRORS:
        return _standard_loads(data)


_decode: Callable[[bytes | str], Any] = json.loads if _msgspec is None else _msgspec.json.Decoder().decode
