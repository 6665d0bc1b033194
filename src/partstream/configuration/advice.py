"""Advice for a person at a terminal: where to put a key that a server wants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.errors import UpstreamError, UpstreamHTTPError
from partstream.upstreams.key_advice import is_about_the_key, sends_key

if TYPE_CHECKING:
    from partstream.errors import LanguageModelError
    from partstream.upstreams.configuration import GatewayConfiguration

__all__ = ["explained"]

_NO_KEY: Final = (
    "no key was sent: put one into the environment variable PARTSTREAM_API_KEY, "
    "or name another variable with --api-key-env; a profile names it by apiKeyEnv or apiKeyKeyring"
)
_FORBIDDEN: Final = 403
_PERHAPS_A_KEY: Final = "no key was sent; if the server wants one: the environment variable PARTSTREAM_API_KEY holds it"


def explained(error: LanguageModelError, gateway: GatewayConfiguration) -> str:
    """The sentence of an error, with the advice that fits a terminal."""
    if isinstance(error, UpstreamError) and not sends_key(gateway):
        if is_about_the_key(error):
            error.advise(_NO_KEY)
        elif isinstance(error, UpstreamHTTPError) and error.http_status == _FORBIDDEN and not error.advice:
            error.advise(_PERHAPS_A_KEY)
    return error.message
