"""The headers of a request to the AI Gateway: it names the model there and nowhere else.

Source: `gateway-stream-request.json` and `gateway-config.json` of the recordings, `@ai-sdk/gateway` 4.0.146.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from partstream.errors import RequestNotExpressibleError
from partstream.protocols.ai_gateway.settings import AIGatewaySettings
from partstream.protocols.ai_gateway.specification import specification_version
from partstream.protocols.protocol import bearer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.conversation.chat_request import ChatRequest
    from partstream.protocols.protocol import KeyKind

__all__ = [
    "DOCUMENT_HEADERS",
    "MODEL_HEADER",
    "PROTOCOL_VERSION",
    "PROTOCOL_VERSION_HEADER",
    "STREAMING_HEADER",
    "VERSION_HEADER",
    "authorize",
    "build_headers",
]

PROTOCOL_VERSION: Final = "0.0.1"

PROTOCOL_VERSION_HEADER: Final = "ai-gateway-protocol-version"
VERSION_HEADER: Final = "ai-language-model-specification-version"
MODEL_HEADER: Final = "ai-language-model-id"
STREAMING_HEADER: Final = "ai-language-model-streaming"

DOCUMENT_HEADERS: Final[Mapping[str, str]] = MappingProxyType({PROTOCOL_VERSION_HEADER: PROTOCOL_VERSION})
"""The headers of every request, also of one that asks no model."""


def build_headers(request: ChatRequest) -> dict[str, str]:
    """The headers of a request for a streamed answer, beside those of HTTP and the key.

    Raises:
        RequestNotExpressibleError: No header can hold the id of the model.
    """
    model_id = request.model_id
    if not (model_id.isascii() and model_id.isprintable() and model_id == model_id.strip()):
        raise RequestNotExpressibleError(f"the model id {model_id[:80]!r}", "the header", "printable ASCII")
    headers = {
        **DOCUMENT_HEADERS,
        VERSION_HEADER: str(specification_version(request.settings)),
        MODEL_HEADER: model_id,
        STREAMING_HEADER: "true",
    }
    if (team := request.settings.own_settings(AIGatewaySettings).team) is not None:
        headers["x-vercel-ai-gateway-team"] = team
    return headers


def authorize(key: str, kind: KeyKind) -> dict[str, str]:
    """The headers that carry a key and say who issued it."""
    return {**bearer(key, kind), "ai-gateway-auth-method": kind.value}
