"""The documents that a server of Ollama has beside its answers (docs/wires/ollama.md#models)."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.serve import ServedDocument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.protocols.serve import ServedModel, WireRequest

__all__ = ["DOCUMENTS", "VERSION"]

VERSION: Final = "0.15.0"
"""What clients may gate features on."""
_FAMILY: Final = "partstream"
_NOT_FOUND: Final = 404
_LONG_AGO: Final = "2026-01-01T00:00:00Z"


def _capabilities(model: ServedModel) -> list[str]:
    has = {"tools": model.tool_calling, "vision": model.image_input, "thinking": model.thinking}
    return ["completion", *(name for name, is_there in has.items() if is_there)]


def _details() -> dict[str, Any]:
    return {"parent_model": "", "format": "gguf", "family": _FAMILY, "families": [_FAMILY]} | {
        "parameter_size": "1B",
        "quantization_level": "Q4_K_M",
    }


def _entry(model: ServedModel) -> dict[str, Any]:
    digest = sha256(model.id.encode()).hexdigest()
    return {"name": model.id, "model": model.id, "size": 1, "digest": digest, "details": _details()}


def _tags(_request: WireRequest, models: Sequence[ServedModel], _tokens: int) -> tuple[int, dict[str, Any]]:
    listed = [_entry(one) | {"modified_at": _LONG_AGO, "capabilities": _capabilities(one)} for one in models]
    return 200, {"models": listed}


def _show(request: WireRequest, models: Sequence[ServedModel], _tokens: int) -> tuple[int, dict[str, Any]]:
    name = request.body.get("model") or request.body.get("name")
    if not name:
        raise RefusedRequestError("model is required")
    model = next((one for one in models if one.id == name), None)
    if model is None:
        raise RefusedRequestError(f"model '{name}' not found", status=_NOT_FOUND)
    window = model.max_input_tokens + model.max_output_tokens
    information = {"general.architecture": _FAMILY, f"{_FAMILY}.context_length": window}
    return 200, {
        "details": _details(),
        "model_info": information,
        "capabilities": _capabilities(model),
        "modified_at": _LONG_AGO,
    }


def _running(_request: WireRequest, _models: Sequence[ServedModel], _tokens: int) -> tuple[int, dict[str, Any]]:
    """No model is loaded: each answers without being loaded."""
    return 200, {"models": []}


def _version(_request: WireRequest, _models: Sequence[ServedModel], _tokens: int) -> tuple[int, dict[str, Any]]:
    return 200, {"version": VERSION}


DOCUMENTS: Final = (
    ServedDocument("GET", "/tags", _tags),
    ServedDocument("POST", "/show", _show),
    ServedDocument("GET", "/ps", _running),
    ServedDocument("GET", "/version", _version),
)
