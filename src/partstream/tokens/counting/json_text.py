"""The text of a JSON value, for counting."""

from __future__ import annotations

from partstream.codec.json_codec import dumps

__all__ = ["json_text"]


def json_text(value: object) -> str:
    """The shortest JSON text; Python's own text of a value that JSON cannot represent, which sending refuses later."""
    try:
        return dumps(value).decode()
    except TypeError:
        pass
    try:
        return repr(value)
    except RecursionError:
        return "..."
