"""The errors that a stream or a document of Chat Completions reports, found before anything else is read of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.errors import UpstreamAbortedError
from partstream.protocols.chat_completions.errors import ERRORS
from partstream.protocols.chat_completions.finish import ABORTED, FAILURES

if TYPE_CHECKING:
    from partstream.errors import UpstreamError

__all__ = ["failure_of_word", "overflow"]

_TOO_LONG: Final = "model_context_window_exceeded"
"""A code of inputs that are too long, see :mod:`partstream.protocols.errors`."""


def failure_of_word(word: str, native: str | None) -> UpstreamError:
    """The error for an answer whose finish reason means a failure (docs/wires/chat-completions.md#finish-reasons).

    Args:
        word: The finish reason in lower case.
        native: The word of the model's own server, or None.
    """
    if word == ABORTED:
        return UpstreamAbortedError(native)
    said = FAILURES[word]
    return ERRORS.failure(said if native is None else f"{said} ({native})", word)


def overflow(word: str) -> UpstreamError:
    """The error for an empty answer whose finish reason says that the window of the model was full."""
    return ERRORS.failure(f"the conversation fills the context window of the model ({word})", _TOO_LONG)
