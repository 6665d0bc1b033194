"""Reads the fields of errors that other people's code has made: one may be missing, or raise anything."""

from __future__ import annotations

from typing import Any

__all__ = ["field_of"]


def field_of(error: BaseException, name: str) -> Any:
    """A field of an error, or None: a class of the provider's own may not have made it, or raise anything instead."""
    try:
        return getattr(error, name, None)
    except BaseException:
        return None
