"""Whether an upstream is asked once and no more, because somebody above it asks another one in its place.

Each answer has one owner of its attempts. Were it several, their attempts would multiply: three of a client, times
three of a router, times three of each upstream.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["is_one_attempt", "one_attempt"]

_IS_ONE: Final[ContextVar[bool]] = ContextVar("partstream_one_attempt", default=False)


@contextmanager
def one_attempt() -> Iterator[None]:
    """Has upstreams that are asked inside, and in tasks that start there, fail at once, without retries and without
    fallback models of their own."""
    token = _IS_ONE.set(True)
    try:
        yield
    finally:
        _IS_ONE.reset(token)


def is_one_attempt() -> bool:
    """Whether an upstream that is asked here is asked once and no more."""
    return _IS_ONE.get()
