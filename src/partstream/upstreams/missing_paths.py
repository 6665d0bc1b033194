"""Gives advice about a missing path: looks for the paths that the server has."""

from __future__ import annotations

import asyncio
import logging
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.errors import LanguageModelError, UpstreamHTTPError
from partstream.protocols.protocol import asking

if TYPE_CHECKING:
    from partstream.upstream.configuration import GatewayConfiguration
    from partstream.upstream.discovery import Fetch

__all__ = ["GENERAL_ADVICE", "NO_LIST_ADVICE", "advice_on_missing_list", "is_general", "says_path_is_missing"]

_logger = logging.getLogger("partstream.upstreams")

_MISSING: Final = frozenset({404, 405})
_VERSION: Final = "/v1"
_VERSIONED: Final = re.compile(r"/v\d+(beta\d*|alpha\d*)?(/|$)")
_OTHER_BASE: Final = re.compile(r"/(?:v\d+(?:beta\d*|alpha\d*)?|api)$")
_THINGS: Final = re.compile(r"\b(model|response|item|file)\b", re.IGNORECASE)
"""What else servers do not find; the endpoint itself is in the plural in paths."""
_NO_SUCH_MODEL: Final = re.compile(r"models/\S+ is not found\b")
"""Google's message for an unknown model (docs/wires/gemini.md#errors)."""
_NO_SUCH_PATH: Final = re.compile(r"file not found\.?", re.IGNORECASE)
"""What llama.cpp's server says of any path that it does not have (tools/server, the handler of errors)."""
_SECONDS: Final = 3.0
"""For one look: an error is shown behind it."""
_GENERAL: Final = "does the base URL end as the server wants it, often in "
GENERAL_ADVICE: Final = f"{_GENERAL}{_VERSION}?"

NO_LIST_ADVICE: Final = "its models answer there all the same: name those that you want in `models`"
"""Where the list of models is missing, and the endpoint of the protocol is there."""


def says_path_is_missing(error: LanguageModelError) -> bool:
    """Tells whether the server lacks the path, rather than the model or a stored response."""
    if not isinstance(error, UpstreamHTTPError) or error.http_status not in _MISSING:
        return False
    # A path in a message may hold any word: `/v4/ai/language-model`. No pattern looks for it: a message may be long.
    if _NO_SUCH_MODEL.match(error.provider_message or ""):
        return False
    message = " ".join(word for word in (error.provider_message or "").split() if "/" not in word)
    return _NO_SUCH_PATH.fullmatch(message.strip()) is not None or not _THINGS.search(message)


def is_general(advice: str) -> bool:
    """Whether an advice only says what is usual."""
    return advice.startswith(_GENERAL)


async def advice_on_missing_list(fetch: Fetch, configuration: GatewayConfiguration) -> str:
    """Advice for a server without a list of models; looks for one below the path that is usual for the protocol."""
    corner = asking(configuration.protocol)
    usual = corner.own_base_path or _VERSION
    general = f"{_GENERAL}{usual}?"
    base_path = urlsplit(configuration.base_url).path.rstrip("/")
    if base_path.endswith(usual) or (not corner.own_base_path and _VERSIONED.search(base_path)):
        return general
    # A protocol with a base path of its own stands in the place of another one: /api, and not /v1/api.
    below = _OTHER_BASE.sub("", base_path) if corner.own_base_path else base_path
    if await _has_list(fetch, below + usual, corner.models_path):
        shown = configuration.shown_url.partition("?")[0].rstrip("/")
        return f"did you mean {shown.removesuffix(base_path.removeprefix(below))}{usual}?"
    return general


async def _has_list(fetch: Fetch, base_path: str, models_path: str) -> bool:
    path = base_path + models_path
    try:
        async with asyncio.timeout(_SECONDS):
            response = await fetch(path, {"accept": "application/json"})
        return response.status == 200 and isinstance(loads(response.body), dict | list)
    except (TimeoutError, LanguageModelError, JSONDecodeError) as error:
        _logger.info("no list of models at %s: %s", path, error)
        return False
