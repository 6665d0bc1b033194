"""What a person at a terminal can do about an error of an upstream: where a key is put, which setting to look at."""

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
    """What to do about a key that is missing or refused; empty for an error that is about something else."""
    if error.code is not LanguageModelErrorCode.NO_PERMISSIONS:
        return ""
    if not gateway.has_key:
        return _NO_KEY
    is_refused = isinstance(error, UpstreamHTTPError) and error.http_status == _UNAUTHORIZED
    return _ANOTHER_KEY if is_refused else ""


def explained(error: LanguageModelError, gateway: GatewayConfiguration) -> str:
    """The sentence of an error with what to do about it."""
    advice = advice_on_key(error, gateway)
    return f"{error.message} ({advice})" if advice else error.message
