"""The summary of a conversation as text that clients carry: signed, and opened again as a message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.openresponses.output_items import COMPACTION
from partstream.protocols.provider_state import SIGNED, WrongSignatureError, open_signed, sign

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["SUMMARY", "open_compactions", "sealed_summary"]

SUMMARY: Final = "Summary of the conversation so far, in place of its messages:\n\n"
"""What the message of a summary begins with."""


def sealed_summary(summary: str, secret: bytes) -> str:
    """A summary as the encrypted content of a compaction item, signed with the secret of the installation."""
    return sign({"summary": summary}, secret)


def open_compactions(items: Iterable[Any], secret: bytes) -> list[Any]:
    """The items with each summary of this installation as a message that every model reads.

    Args:
        items: The items of an input.
        secret: The secret of the installation.

    Raises:
        RefusedRequestError: A summary has another signature, or none.
    """
    return [_opened(item, place, secret) if _is_compaction(item) else item for place, item in enumerate(items)]


def _opened(item: Mapping[str, Any], place: int, secret: bytes) -> Any:
    text = item.get("encrypted_content")
    where = f"input[{place}].encrypted_content"
    if not isinstance(text, str) or not text.startswith(SIGNED):
        return item  # of an upstream, which reads it itself
    try:
        summary = open_signed(text, secret)["summary"]
    except (WrongSignatureError, KeyError, TypeError) as error:
        message = "The encrypted content of the compaction item could not be verified: this server has not written it."
        raise RefusedRequestError(message, where, "invalid_encrypted_content") from error
    return {"type": "message", "role": "user", "content": f"{SUMMARY}{summary}"}


def _is_compaction(item: object) -> bool:
    return isinstance(item, Mapping) and item.get("type") == COMPACTION
