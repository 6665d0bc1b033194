"""The documents of a server of OpenResponses beside its responses: its models, and the count of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.model_documents import MODEL_DOCUMENTS
from partstream.protocols.openresponses.read_request import READ_REQUEST
from partstream.protocols.serve import ServedDocument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.protocols.serve import ServedModel, WireRequest

__all__ = ["DOCUMENTS"]


def _count(_request: WireRequest, _models: Sequence[ServedModel], tokens: int) -> tuple[int, dict[str, Any]]:
    """Source: OpenAI's reference, `POST /responses/input_tokens`."""
    return 200, {"object": "response.input_tokens", "input_tokens": tokens}


DOCUMENTS: Final = (
    *MODEL_DOCUMENTS,
    ServedDocument("POST", "/responses/input_tokens", _count, counts=READ_REQUEST.read),
)
