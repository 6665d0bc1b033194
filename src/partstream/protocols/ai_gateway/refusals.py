"""What a refusal of the gateway is about; the providers behind it say it in words alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.errors import UpstreamHTTPError

if TYPE_CHECKING:
    from partstream.errors import UpstreamError

__all__ = ["refuses_reasoning"]

_REQUEST_IS_WRONG: Final = frozenset({400, 404, 422})

_WORDS: Final = (
    "signature",
    "encrypted content",
    "encrypted_content",
    "blocks in the latest assistant message cannot be",
)
"""The gateway passes on what a provider says and has no code of its own for it. Google: "Corrupted thought signature.";
OpenAI: "The encrypted content for item rs_1 could not be verified."; Anthropic: "Invalid `signature` in `thinking`
block", "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified"."""
_MISSING: Final = "missing"


def refuses_reasoning(error: UpstreamError) -> bool:
    """Whether a provider does not take its reasoning back: another account's, a model that was replaced."""
    if isinstance(error, UpstreamHTTPError) and error.http_status not in _REQUEST_IS_WRONG:
        return False
    attempts = error.attempts if isinstance(error, UpstreamHTTPError) else ()
    said = " ".join((error.message, *attempts)).lower()
    if _MISSING in said:  # a signature that was not sent: without the rest there would be even less
        return False
    return any(word in said for word in _WORDS)
