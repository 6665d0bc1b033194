"""The models of a server in one document for the clients of several wires (docs/wires/serving.md#lists-of-models).

OpenAI's clients look at `object` and `data`, Anthropic's at `data` with `has_more`, `first_id` and `last_id`, Codex at
`models`; each ignores what the others want. An entry of `data` has the fields of all three, and those of Vercel's
gateway. Sources: `openai` 3.54.0 (`types/model.py`), `anthropic` 2.12.0 (`types/model_info.py`,
`types/model_capabilities.py`); for Codex see :mod:`partstream.protocols.codex_models`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

from partstream.protocols.codex_models import codex_models
from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.serve import MODEL, ServedDocument, model_in_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.protocols.serve import ServedModel, WireRequest

__all__ = ["ALIAS_OF", "MODEL_DOCUMENTS", "ModelDocuments"]

ALIAS_OF: Final = "alias_of"
"""The field of an entry that lists a model for the second time; it holds the model's own id."""

_ONE: Final = f"/models/{MODEL}"
_MOST: Final = 1000
_UNKNOWN_DATE: Final = "1970-01-01T00:00:00Z"
"""What Anthropic's server says of a model whose date it does not know."""


class ModelDocuments:
    """The list of models and each single one, for the clients of one wire.

    Args:
        page: How many models a page has where the client does not say it; None for all.
        aliases: The prefixes under which clients of the wire see each model once more; a model that has one of `known`
            needs none.
        known: What the ids begin with that those clients show by themselves.
        kind: The word for a language model in the field `type`, the one that the wires disagree on.
    """

    def __init__(
        self,
        page: int | None = None,
        aliases: Sequence[str] = (),
        known: tuple[str, ...] = (),
        kind: str = "language",
    ) -> None:
        self._page = page
        self._kind = kind
        self._aliases = tuple(aliases)
        self._known = known

    def listed(self, request: WireRequest, models: Sequence[ServedModel], _tokens: int) -> tuple[int, dict[str, Any]]:
        """One page of the models, behind the one that `after_id` names or before the one of `before_id`."""
        entries = self._entries(models)
        query = _query(request)
        page, has_more = _page_of(entries, query, self._page)
        return 200, {
            "object": "list",
            "data": page,
            "has_more": has_more,
            "first_id": page[0]["id"] if page else None,
            "last_id": page[-1]["id"] if page else None,
            **codex_models(models, query),
            "etag": "",
        }

    def one(self, request: WireRequest, models: Sequence[ServedModel], _tokens: int) -> tuple[int, dict[str, Any]]:
        """The model that the path names, also by an alias."""
        wanted = model_in_path(_ONE, request.path)
        for entry in self._entries(models):
            if entry["id"] == wanted:
                return 200, entry
        raise RefusedRequestError(f"model: {wanted}", "model", "model_not_found", status=404)

    def _entries(self, models: Sequence[ServedModel]) -> list[dict[str, Any]]:
        aliased = [
            {**_entry(replace(model, id=prefix + model.id), self._kind), ALIAS_OF: model.id}
            for prefix in self._aliases
            for model in models
            if not model.id.startswith(self._known)
        ]
        return [*(_entry(model, self._kind) for model in models), *aliased]


def _query(request: WireRequest) -> dict[str, str]:
    return {name: values[-1] for name, values in parse_qs(request.query).items()}


def _page_of(
    entries: Sequence[dict[str, Any]], query: Mapping[str, str], usual: int | None
) -> tuple[Sequence[dict[str, Any]], bool]:
    """The entries of a page, and whether there are more of them in the direction that is asked for."""
    size = _page_size(query.get("limit"), usual or len(entries))
    ids = [entry["id"] for entry in entries]
    start, end = 0, len(ids)
    if (after := query.get("after_id")) is not None:
        start = _place(ids, after, "after_id") + 1
    if (before := query.get("before_id")) is not None:
        end = _place(ids, before, "before_id")
        start = max(start, end - size)
    page = entries[start : min(end, start + size)]
    return page, start > 0 if "before_id" in query else start + len(page) < end


def _page_size(limit: str | None, usual: int) -> int:
    if limit is None:
        return usual
    if not limit.isdecimal() or not 1 <= int(limit) <= _MOST:
        raise RefusedRequestError(f"limit: Input should be a whole number from 1 to {_MOST}", "limit")
    return int(limit)


def _place(ids: list[str], model_id: str, name: str) -> int:
    if model_id not in ids:
        raise RefusedRequestError(f"{name}: no model {model_id!r}", name)
    return ids.index(model_id)


def _entry(model: ServedModel, kind: str) -> dict[str, Any]:
    abilities = {"tool-use": model.tool_calling, "vision": model.image_input, "reasoning": model.thinking}
    return {
        "id": model.id,
        "object": "model",
        "created": 0,
        "owned_by": "partstream",
        "type": kind,
        "display_name": model.name,
        "created_at": _UNKNOWN_DATE,
        "lifecycle": "active",
        "max_input_tokens": model.max_input_tokens,
        "max_tokens": model.max_output_tokens,
        "capabilities": _capabilities(model),
        "name": model.name,
        "description": None,
        "context_window": model.max_input_tokens,
        "tags": [name for name, has in abilities.items() if has],
        "pricing": {"input": model.input_price, "output": model.output_price},
    }


def _capabilities(model: ServedModel) -> dict[str, Any]:
    """What a model can do, every name that Anthropic's official types have."""
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


_ALL: Final = ModelDocuments()
MODEL_DOCUMENTS: Final = (ServedDocument("GET", "/models", _ALL.listed), ServedDocument("GET", _ONE, _ALL.one))
"""The models for the clients of most wires."""
