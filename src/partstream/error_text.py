"""Shows an error as a text of the answer, for hosts that do not show why a request was rejected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.lm.parts import TextPart
from partstream.settings.kinds import Choice

if TYPE_CHECKING:
    from partstream.errors import LanguageModelError

__all__ = ["ErrorMode", "error_text"]


class ErrorMode(Choice):
    """What becomes of an error that ends an answer."""

    REJECT = "reject", "The request is rejected with it"
    TEXT = "text", "A text of the answer says it, and the request succeeds: for hosts that do not show errors"


def error_text(error: LanguageModelError, *, has_begun: bool) -> TextPart:
    """The part that says an error.

    Args:
        error: What went wrong.
        has_begun: Whether a part of the answer comes before it.
    """
    before = "\n\n" if has_begun else ""
    return TextPart(f"{before}**Error:** {error.message}")
