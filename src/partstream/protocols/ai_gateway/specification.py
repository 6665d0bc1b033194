"""Which version of the language model specification a request is written in: what is set, else what the URL says.

The published clients name it in a header and in the path alike: `/v1/ai` with 2 (`@ai-sdk/gateway` 2), `/v3/ai` with
3, `/v4/ai` with 4. What the server goes by is not documented, so both say the same here.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from partstream.protocols.ai_gateway.settings import AIGatewaySettings

if TYPE_CHECKING:
    from partstream.conversation.settings import RequestSettings
    from partstream.protocols.known_servers import KnownServer
    from partstream.provider import LanguageModelChatInformation

__all__ = ["LATEST", "complete_settings", "specification_version"]

LATEST: Final = 4
_PATH: Final = re.compile(r"/v([1-4])/ai/?")
_BY_PATH: Final = {"1": 2, "2": 2, "3": 3, "4": 4}


def specification_version(settings: RequestSettings) -> int:
    """The version that a request is written in."""
    return settings.own_settings(AIGatewaySettings).specification_version or LATEST


def complete_settings(
    settings: RequestSettings, base_url: str, model: LanguageModelChatInformation, _server: KnownServer | None = None
) -> RequestSettings:
    """The settings with the version that the base URL names, where they name none, and with the edits of the context
    that are asked of the model."""
    own = settings.own_settings(AIGatewaySettings).for_model(model.id, model.max_input_tokens)
    return replace(settings, own=replace(own, specification_version=own.specification_version or _of_url(base_url)))


def _of_url(base_url: str) -> int:
    path = _PATH.search(urlsplit(base_url).path)
    return LATEST if path is None else _BY_PATH[path[1]]
