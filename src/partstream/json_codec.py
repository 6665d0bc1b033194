"""The one seam to JSON: `loads` and `dumps`, with msgspec when it is installed and the standard library otherwise.

Chosen once, at import. msgspec reads about five times faster; it is stricter about lone surrogates, which real
servers send when they cut UTF-16 text, so what it refuses is read again by the standard library.
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
"""What :func:`loads` raises for text that is not JSON, whichever library reads it."""


def _standard_loads(data: bytes | str) -> Any:
    try:
        return json.loads(data)
    except JSONDecodeError:
        raise
    except (ValueError, RecursionError) as error:  # no UTF-8; an integer of thousands of digits; nested too deep
        raise JSONDecodeError(str(error), "", 0) from error


def dumps(value: object) -> bytes:
    """The shortest JSON text of `value`, in UTF-8; lone surrogates stay escaped, and any mapping is an object.

    Raises:
        TypeError: `value` holds something that JSON has no form for.
    """
    try:
        return _encode(value).encode()
    except UnicodeEncodeError:
        return _encode_in_ascii(value).encode()


def _as_dict(value: object) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"got a {type(value).__name__}, which JSON has no form for")


# Made once: `json.dumps` makes an encoder for every call, which takes longer than to write a small value.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_as_dict).encode
_encode_in_ascii = json.JSONEncoder(separators=(",", ":"), default=_as_dict).encode


def is_json(value: object) -> bool:
    """Whether `value` can be written again: the readers accept NaN and numbers beyond every limit, which JSON has not.

    Args:
        value: Something that :func:`loads` returned, or that a program made.
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
"""Whether msgspec reads."""


def make_decoder() -> Callable[[bytes], Any]:
    """A function that reads JSON text, for loops where every call counts: it raises one of :data:`DECODE_ERRORS`."""
    if _msgspec is None:
        return _quick_loads
    decode: Callable[[bytes], Any] = _msgspec.json.Decoder().decode
    return decode


def make_event_decoder(tag: str | None, kind: str, fields: Mapping[str, str]) -> Callable[[bytes], Any]:
    """A function that reads JSON objects of one kind; it raises one of :data:`DECODE_ERRORS` for others.

    What it returns has the wanted fields as attributes. Where one is missing in the object, the attribute is None, or
    one of :data:`DECODE_ERRORS` is raised. An object that lacks the tag itself is read by msgspec and refused without
    it: to make it required would cost 4 % of the time of a short event.

    Args:
        tag: The field that says the kind of an object; None where objects have no such field and all are read.
        kind: The only kind that is read.
        fields: The attributes, each with the name of its field in the object; a `?` behind the name says that it is
            often missing. Skipping all others makes msgspec more than twice as fast.
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
    """Half the time of `json.loads`, for text that is as servers write it: UTF-8, nothing around it."""
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
    """A function that reads the values of some fields."""
    if not all_there:
        return lambda event: tuple(map(event.get, names))
    if len(names) == 1:  # itemgetter would give the value itself
        name = names[0]
        return lambda event: (event[name],)
    return itemgetter(*names)


_scan_once: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]

DECODE_ERRORS: Final[tuple[type[Exception], ...]] = (
    ValueError,  # JSONDecodeError, UnicodeDecodeError
    RecursionError,
    KeyError,  # an object of another type
    TypeError,  # no object
    StopIteration,  # no value where one should begin
    *((_msgspec.MsgspecError,) if FAST else ()),
)
"""What functions that are made here raise for text that they do not read; :func:`loads` may still read it."""


def loads(data: bytes | str) -> Any:
    """The value of JSON text.

    Raises:
        JSONDecodeError: It is not JSON, by the standard library's reading, which is the more lenient one.
    """
    try:
        return _decode(data)
    except DECODE_ERRORS:
        return _standard_loads(data)


_decode: Callable[[bytes | str], Any] = json.loads if _msgspec is None else _msgspec.json.Decoder().decode
