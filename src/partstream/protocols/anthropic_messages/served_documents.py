"""What a server of this wire has beside answers: its models, one of them, and the tokens of a request (facts 12).

Source: `anthropic` 2.12.0, `types/model_info.py`, `types/model_capabilities.py` and `types/message_tokens_count.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

from partstream.protocols.anthropic_messages.read_request import read_request
from partstream.protocols.model_paths import MODEL, model_in_path
from partstream.protocols.refused import RefusedRequestError
from partstream.protocols.served_documents import ServedDocument

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.outputs import Asked
    from partstream.protocols.protocol import WireRequest
    from partstream.protocols.served_documents import ServedModel

__all__ = ["DOCUMENTS"]

_ONE: Final = f"/models/{MODEL}"
_PAGE: Final = 20
_MOST: Final = 1000
_UNKNOWN_DATE: Final = "1970-01-01T00:00:00Z"
"""What the official server says of a model whose date it does not know."""


def _list(request: WireRequest, models: Sequence[ServedModel], _tokens: int) -> tuple[int, dict[str, Any]]:
    """One page of the models, behind the one that `after_id` names."""
    query = {name: values[-1] for name, values in parse_qs(request.query).items()}
    size = _page_size(query.get("limit"))
    ids = [model.id for model in models]
    start, end = 0, len(ids)
    if (after := query.get("after_id")) is not None:
        start = _place(ids, after, "after_id") + 1
    if (before := query.get("before_id")) is not None:
        end = _place(ids, before, "before_id")
        start = max(start, end - size)
    page = models[start : min(end, start + size)]
    return 200, {
        "data": [_entry(model) for model in page],
        "has_more": start > 0 if "before_id" in query else start + len(page) < end,
        "first_id": page[0].id if page else None,
        "last_id": page[-1].id if page else None,
    }


def _page_size(limit: str | None) -> int:
    if limit is None:
        return _PAGE
    if not limit.isdecimal() or not 1 <= int(limit) <= _MOST:
        raise RefusedRequestError(f"limit: Input should be a whole number from 1 to {_MOST}")
    return int(limit)


def _place(ids: list[str], model_id: str, name: str) -> int:
    if model_id not in ids:
        raise RefusedRequestError(f"{name}: no model {model_id!r}")
    return ids.index(model_id)


def _one(request: WireRequest, models: Sequence[ServedModel], _tokens: int) -> tuple[int, dict[str, Any]]:
    model_id = model_in_path(_ONE, request.path)
    for model in models:
        if model.id == model_id:
            return 200, _entry(model)
    raise RefusedRequestError(f"model: {model_id}", status=404)


def _entry(model: ServedModel) -> dict[str, Any]:
    return {
        "type": "model",
        "id": model.id,
        "display_name": model.name,
        "created_at": _UNKNOWN_DATE,
        "lifecycle": "active",
        "max_input_tokens": model.max_input_tokens,
        "max_tokens": model.max_output_tokens,
        "capabilities": _capabilities(model),
    }


def _capabilities(model: ServedModel) -> dict[str, Any]:
    """What a model can do, every name that the official types have."""
    thinking, yes, no = _supported(model.thinking), _supported(True), _supported(False)
    return {
        "batch": no,
        "citations": no,
        "code_execution": no,
        "context_management": {
            **no,
            "clear_thinking_20251015": no,
            "clear_tool_uses_20250919": no,
            "compact_20260112": no,
        },
        "effort": {**thinking, **dict.fromkeys(("low", "medium", "high", "xhigh", "max"), thinking)},
        "image_input": _supported(model.image_input),
        "pdf_input": _supported(model.image_input),
        "server_tools": {**no, "web_search": no, "code_execution": no},
        "structured_outputs": no,
        "thinking": {**thinking, "types": {"adaptive": thinking, "enabled": thinking, "disabled": yes}},
    }


def _supported(supported: bool) -> dict[str, bool]:
    return {"supported": supported}


def _counted(request: WireRequest) -> Asked:
    for name in _OF_ANSWERS:
        if name in request.body:
            raise RefusedRequestError(f"{name}: Extra inputs are not permitted")
    return read_request(request)


def _count(_request: WireRequest, _models: Sequence[ServedModel], tokens: int) -> tuple[int, dict[str, Any]]:
    return 200, {"input_tokens": tokens}


_OF_ANSWERS: Final = ("max_tokens", "stream", "temperature", "top_p", "top_k", "stop_sequences", "metadata")
"""Fields that a request for an answer has, and one for a count has not."""


def _is_meant(headers: Mapping[str, str]) -> bool:
    """Clients of this wire name its version: at `/v1/models`, OpenAI's clients ask for another list."""
    return "anthropic-version" in headers


DOCUMENTS: Final = (
    ServedDocument("GET", "/models", _list, _is_meant),
    ServedDocument("GET", _ONE, _one, _is_meant),
    ServedDocument("POST", "/messages/count_tokens", _count, counts=_counted),
)
