"""The models of a server of this wire, and its counts (docs/wires/anthropic-messages.md#models-and-counting).

Source: `anthropic` 2.12.0, `types/message_tokens_count.py`; of the models :mod:`partstream.protocols.model_documents`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.anthropic_messages.read_request import read_request
from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.model_documents import ModelDocuments
from partstream.protocols.serve import MODEL, ServedDocument

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.outputs import InboundRequest
    from partstream.protocols.serve import ServedModel, WireRequest

__all__ = ["DOCUMENTS", "PREFIX"]

PREFIX: Final = "anthropic/"
"""Claude Code shows only models whose ids begin with `claude` or `anthropic`: each other model is listed a second time,
under this prefix and its id, and may be asked for by that name."""

_SHOWN: Final = ("claude", "anthropic")
_PAGE: Final = 1000
"""The most that a page may have: who does not say a number gets all models."""
_MODELS: Final = ModelDocuments(_PAGE, (PREFIX,), _SHOWN, "model")


def _counted(request: WireRequest) -> InboundRequest:
    for name in _OF_ANSWERS:
        if name in request.body:
            raise RefusedRequestError(f"{name}: Extra inputs are not permitted")
    return read_request(request)


def _count(_request: WireRequest, _models: Sequence[ServedModel], tokens: int) -> tuple[int, dict[str, Any]]:
    return 200, {"input_tokens": tokens}


_OF_ANSWERS: Final = ("max_tokens", "stream", "temperature", "top_p", "top_k", "stop_sequences", "metadata")
"""Fields that a request for an answer has, and one for a count has not."""


def _is_meant(headers: Mapping[str, str]) -> bool:
    """Clients of this wire name its version: at `/v1/models`, to these the aliases are shown."""
    return "anthropic-version" in headers


DOCUMENTS: Final = (
    ServedDocument("GET", "/models", _MODELS.listed, _is_meant),
    ServedDocument("GET", f"/models/{MODEL}", _MODELS.one, _is_meant),
    ServedDocument("POST", "/messages/count_tokens", _count, counts=_counted),
)
