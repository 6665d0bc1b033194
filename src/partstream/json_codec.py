"""The one seam to JSON: `loads` and `dumps`, with msgspec when it is installed and the standard library otherwise.

Chosen once, at import. msgspec reads about five times faster; it is stricter about lone surrogates, which real
servers send when they cut UTF-16 text, so what it refuses is read again by the standard library.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DECODE_ERRORS", "FAST", "JSONDecodeError", "dumps", "loads", "make_decoder"]

JSONDecodeError = json.JSONDecodeError
"""What :func:`loads` raises for text that is not JSON, whichever library reads it."""


def _standard_loads(data: bytes | str) -> Any:
    try:
        return json.loads(data)
    except (UnicodeDecodeError, RecursionError) as error:
        raise JSONDecodeError(str(error), "", 0) from error


def dumps(value: object) -> bytes:
    """The shortest JSON text of `value`, in UTF-8; lone surrogates stay escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def _load_msgspec() -> Any:
    try:
        import msgspec  # noqa: PLC0415 - optional: the extra `fast`
    except ImportError:
        return None
    return msgspec


_msgspec = _load_msgspec()

FAST: Final = _msgspec is not None
"""Whether msgspec reads."""


def make_decoder(fields: tuple[str, ...] | None = None) -> Callable[[bytes | str], Any]:
    """A function that reads JSON text, for loops where every call counts: it raises one of :data:`DECODE_ERRORS`.

    Args:
        fields: The only fields of the outermost object that are wanted; others may be left out of the result, and
            skipping them is what makes msgspec twice as fast. None for all.
    """
    if _msgspec is None:
        return json.loads
    wanted: Any = Any if fields is None else TypedDict("wanted", dict.fromkeys(fields, Any), total=False)  # type: ignore[operator]
    decode: Callable[[bytes | str], Any] = _msgspec.json.Decoder(wanted).decode
    return decode


DECODE_ERRORS: Final[tuple[type[Exception], ...]] = (
    ValueError,  # JSONDecodeError, UnicodeDecodeError
    RecursionError,
    *((_msgspec.MsgspecError,) if FAST else ()),
)
"""What a function of :func:`make_decoder` raises for text that it cannot read."""

_decode = make_decoder()


def loads(data: bytes | str) -> Any:
    """The value of JSON text.

    Raises:
        JSONDecodeError: It is not JSON, by the standard library's reading, which is the more lenient one.
    """
    try:
        return _decode(data)
    except DECODE_ERRORS:
        return _standard_loads(data)
