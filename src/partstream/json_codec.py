"""The one seam to JSON: `loads` and `dumps`, with msgspec when it is installed and the standard library otherwise.

Chosen once, at import. msgspec reads about five times faster; it is stricter about lone surrogates, which real
servers send when they cut UTF-16 text, so what it refuses is read again by the standard library.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FAST", "JSONDecodeError", "dumps", "loads"]

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


def _make_loads() -> tuple[bool, Callable[[bytes | str], Any]]:
    try:
        from msgspec import MsgspecError  # noqa: PLC0415 - optional: the extra `fast`
        from msgspec.json import Decoder  # noqa: PLC0415
    except ImportError:
        return False, _standard_loads
    decode = Decoder().decode

    def fast_loads(data: bytes | str) -> Any:
        try:
            return decode(data)
        except (MsgspecError, RecursionError, UnicodeError):
            return _standard_loads(data)

    return True, fast_loads


FAST, loads = _make_loads()
