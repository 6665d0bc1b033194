"""Advice for a person at a terminal about an error of an upstream: where to put a key, which setting to check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.errors import LanguageModelErrorCode, UpstreamHTTPError

if TYPE_CHECKING:
    from partstream.errors import LanguageModelError
    from partstream.upstreams.configuration import GatewayConfiguration

__all__ = ["advice_on_key", "explained"]

_NO_KEY: Final = (
    "no key was sent: put one into the environment variable PARTSTREAM_API_KEY, "
    "or name another variable with --api-key-env"
)
_ANOTHER_KEY: Final = "the server wants another key: is this one whole, of this server, and not expired?"
_UNAUTHORIZED: Final = 401


def advice_on_key(error: LanguageModelError, gateway: GatewayConfiguration) -> str:
    """Advice about a missing or refused key; empty for any other error."""
    if error.code is not LanguageModelErrorCode.NO_PERMISSIONS:
        return ""
    if not gateway.has_key:
        return _NO_KEY
    is_refused = isinstance(error, UpstreamHTTPError) and error.http_status == _UNAUTHORIZED
    return _ANOTHER_KEY if is_refused else ""


def explained(error: LanguageModelError, gateway: GatewayConfiguration) -> str:
    """The sentence of an error, with advice."""
    advice = advice_on_key(error, gateway)
    return f"{error.message} ({advice})" if advice else error.message
