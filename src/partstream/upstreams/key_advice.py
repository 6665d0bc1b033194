"""What helps where a server refuses the key, or wants one: the same sentence for every host and command."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from partstream.codec.redaction import names_a_secret
from partstream.errors import UpstreamHTTPError
from partstream.protocols.known_servers import server_at

if TYPE_CHECKING:
    from partstream.errors import LanguageModelError
    from partstream.upstream.configuration import GatewayConfiguration

__all__ = ["ANOTHER_KEY", "NO_KEY", "advise_on_key", "is_about_the_key", "sends_key"]

NO_KEY: Final = "no key was sent, and the server wants one"
ANOTHER_KEY: Final = "the server wants another key: is this one whole, of this server, and not expired?"

_UNAUTHORIZED: Final = 401
_PERHAPS: Final = frozenset({400, 403})
"""Gemini answers a wrong key with 400 (docs/wires/gemini.md#errors), others with 403."""
_SAYS_KEY: Final = re.compile(
    r"(?:api|access)[ _-]?(?:key|token)\b.{0,40}\b(?:not valid|invalid|incorrect|expired|missing|not found|required)"
    r"|\b(?:invalid|incorrect|expired|missing|no)\b.{0,20}(?:api|access)[ _-]?(?:key|token)\b",
    re.IGNORECASE | re.ASCII,
)


def is_about_the_key(error: LanguageModelError) -> bool:
    """Whether the server refuses a request because of its key, or for want of one."""
    if not isinstance(error, UpstreamHTTPError):
        return False
    if error.http_status == _UNAUTHORIZED:
        return True
    return error.http_status in _PERHAPS and bool(_SAYS_KEY.search(error.provider_message or ""))


def sends_key(configuration: GatewayConfiguration) -> bool:
    """Whether requests carry a key: the configured one, or a header that a person set in its place."""
    return configuration.has_key or any(names_a_secret(name) for name in configuration.headers)


def advise_on_key(error: LanguageModelError, configuration: GatewayConfiguration) -> None:
    """Gives an error about the key its advice, with the page where a person makes a key; leaves others alone."""
    if isinstance(error, UpstreamHTTPError) and is_about_the_key(error):
        server = server_at(configuration.base_url)
        page = "" if server is None or not server.keys_page else f" ({server.keys_page} makes one)"
        error.advise((ANOTHER_KEY if sends_key(configuration) else NO_KEY) + page)
