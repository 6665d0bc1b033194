"""Advice for a person at a terminal: where to put a key that a server wants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.errors import UpstreamError
from partstream.upstreams.key_advice import is_about_the_key, sends_key

if TYPE_CHECKING:
    from partstream.errors import LanguageModelError
    from partstream.upstreams.configuration import GatewayConfiguration

__all__ = ["explained"]

_NO_KEY: Final = (
    "no key was sent: put one into the environment variable PARTSTREAM_API_KEY, "
    "or name another variable with --api-key-env; a profile names it by apiKeyEnv or apiKeyKeyring"
)


def explained(error: LanguageModelError, gateway: GatewayConfiguration) -> str:
    """The sentence of an error, with the advice that fits a terminal."""
    if isinstance(error, UpstreamError) and is_about_the_key(error) and not sends_key(gateway):
        error.advise(_NO_KEY)
    return error.message
