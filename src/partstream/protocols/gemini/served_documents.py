"""A server's models, one of them, and the tokens of a request (docs/wires/gemini.md#models-and-counting)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.gemini.read_request import read_asked
from partstream.protocols.serve import MODEL, ServedDocument, model_in_path, path_for_model

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.outputs import InboundRequest
    from partstream.protocols.serve import ServedModel, WireRequest

__all__ = ["DOCUMENTS"]

_ONE: Final = f"/models/{MODEL}"
_COUNT: Final = f"/models/{MODEL}:countTokens"
_ANSWER: Final = f"/models/{MODEL}:generateContent"
_PAGE: Final = 50
_MOST: Final = 1000
_METHODS: Final = ("generateContent", "streamGenerateContent", "countTokens")


def _list(request: WireRequest, models: Sequence[ServedModel], _tokens: int) -> tuple[int, dict[str, Any]]:
    """One page of the models; a page without a size has fifty."""
    query = {name: values[-1] for name, values in parse_qs(request.query).items()}
    size, token = query.get("pageSize", str(_PAGE)), query.get("pageToken", "0")
    if not size.isdecimal() or not token.isdecimal():
        raise RefusedRequestError("Request contains an invalid argument.")
    start, count = int(token), min(int(size) or _PAGE, _MOST)
    end = start + count
    behind = {"nextPageToken": str(end)} if end < len(models) else {}
    return 200, {"models": [_entry(model) for model in models[start:end]], **behind}


def _one(request: WireRequest, models: Sequence[ServedModel], _tokens: int) -> tuple[int, dict[str, Any]]:
    return 200, _entry(_named(model_in_path(_ONE, request.path), models))


def _named(model_id: str | None, models: Sequence[ServedModel]) -> ServedModel:
    for model in models:
        if model.id == model_id:
            return model
    raise RefusedRequestError(
        f"models/{model_id} is not found for API version v1beta, or is not supported for generateContent. Call "
        "ListModels to see the list of available models and their supported methods.",
        status=404,
    )


def _entry(model: ServedModel) -> dict[str, Any]:
    return {
        "name": f"models/{model.id}",
        "baseModelId": model.id,
        "version": "001",
        "displayName": model.name,
        "inputTokenLimit": model.max_input_tokens,
        "outputTokenLimit": model.max_output_tokens,
        "supportedGenerationMethods": list(_METHODS),
        "thinking": model.thinking,
    }


def _counted(request: WireRequest) -> InboundRequest:
    """The request that is counted: `contents`, or the whole request in `generateContentRequest`."""
    model_id = model_in_path(_COUNT, request.path) or ""
    body: Mapping[str, Any] = request.body.get("generateContentRequest") or request.body
    return read_asked(replace(request, path=path_for_model(_ANSWER, model_id), body=body))


def _count(_request: WireRequest, _models: Sequence[ServedModel], tokens: int) -> tuple[int, dict[str, Any]]:
    return 200, {"totalTokens": tokens, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": tokens}]}


def _is_meant(headers: Mapping[str, str]) -> bool:
    """Google's clients say so in every request: at `/v1/models`, others ask for another list."""
    return "x-goog-api-client" in headers or "x-goog-api-key" in headers


DOCUMENTS: Final = (
    ServedDocument("GET", "/models", _list, _is_meant),
    ServedDocument("GET", _ONE, _one, _is_meant),
    ServedDocument("POST", _COUNT, _count, counts=_counted),
)
