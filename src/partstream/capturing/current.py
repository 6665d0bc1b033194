"""The capture of the answer that is being made, for whoever asks a server on its behalf; loads nothing else.

A host says whose answer it is, and an upstream that is asked somewhere below finds it: also one that a person's own
provider uses, without anything between them that hands it on.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from partstream.capturing.capture import AnswerCapture

__all__ = ["capturing", "current_capture"]

_CURRENT: Final[ContextVar[AnswerCapture | None]] = ContextVar("partstream_capture", default=None)


@contextmanager
def capturing(answer: AnswerCapture | None) -> Iterator[None]:
    """Has the exchanges of what runs inside, and of the tasks that it starts, captured for an answer.

    Args:
        answer: The capture of the answer; None captures nothing.
    """
    token = _CURRENT.set(answer)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def current_capture() -> AnswerCapture | None:
    """The capture of the answer that is being made here; None where nobody captures it."""
    answer = _CURRENT.get()
    return None if answer is None or answer.is_dropped else answer
