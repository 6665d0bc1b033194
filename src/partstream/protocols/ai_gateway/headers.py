"""The headers of a request to the AI Gateway: it names the model there and nowhere else.

Source: `gateway-stream-request.json` and `gateway-config.json` of the recordings, `@ai-sdk/gateway` 4.0.146.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.errors import RequestNotExpressibleError
from partstream.protocols.ai_gateway.specification import specification_version

if TYPE_CHECKING:
    from partstream.conversation.chat_request import ChatRequest
    from partstream.protocols.key_kind import KeyKind

__all__ = ["build_headers", "document_headers"]

_PROTOCOL_VERSION: Final = "0.0.1"


def build_headers(request: ChatRequest, key_kind: KeyKind | None) -> dict[str, str]:
    """The headers of a request for a streamed answer, beside those of HTTP and the key.

    Args:
        request: What is asked.
        key_kind: What kind of key goes with it, or None for none.

    Raises:
        RequestNotExpressibleError: No header can hold the id of the model.
    """
    model_id = request.model_id
    if not (model_id.isascii() and model_id.isprintable() and model_id == model_id.strip()):
        raise RequestNotExpressibleError(f"the model id {model_id[:80]!r}", "the header", "printable ASCII")
    headers = document_headers(key_kind) | {
        "ai-language-model-specification-version": str(specification_version(request.settings)),
        "ai-language-model-id": model_id,
        "ai-language-model-streaming": "true",
    }
    if request.settings.team is not None:
        headers["x-vercel-ai-gateway-team"] = request.settings.team
    return headers


def document_headers(key_kind: KeyKind | None) -> dict[str, str]:
    """The headers of every request, also of one that asks no model."""
    headers = {"ai-gateway-protocol-version": _PROTOCOL_VERSION}
    if key_kind is not None:
        headers["ai-gateway-auth-method"] = key_kind.value
    return headers
