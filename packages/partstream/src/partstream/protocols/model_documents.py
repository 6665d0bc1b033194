"""The models of a server in one document for the clients of several wires (docs/wires/serving.md#lists-of-models).

OpenAI's clients look at `object` and `data`, Anthropic's at `data` with `has_more`, `first_id` and `last_id`, Codex at
`models`; each ignores what the others want. An entry of `data` has the fields of all three, and those of Vercel's
gateway. Sources: `openai` 3.54.0 (`types/model.py`), `anthropic` 2.12.0 (`types/model_info.py`,
`types/model_capabilities.py`).

Codex asks for the field `models` where its key comes from a command. Source: `ModelInfo` of Codex
(`protocol/src/openai_models.rs`), tried with Codex CLI 0.169.0. If one entry lacks a field that it requires, it takes
nothing of the list. Of a model that it does not know otherwise it reads the context window, the efforts and whether
images may be sent. With them it takes the instructions of the entry in place of its own, which are ten times as long
and fit its tools (of a model that it knows, 60,000 characters more; 0.171.0); no form of an entry leaves it those, but
a list without entries does, so a client may ask for one.
"""

from __future__ import annotations
from collections.abc import Sequence
from itertools import count
from typing import Any, Final
from urllib.parse import parse_qs

from partstream.codec.checks import replace
from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.serve import MODEL, ServedDocument, ServedModel, WireRequest, model_in_path

# ---- The field for Codex ----

_FIELD: Final = "models"
"""The field of the list, and the parameter of the query that may ask for none of its entries."""
_NONE: Final = "none"

_EFFORTS: Final = {
    "low": "Thinks little and answers soon",
    "medium": "Thinks as much as most tasks need",
    "high": "Thinks long about hard tasks",
}
_USUAL_EFFORT: Final = "medium"
_LONGEST_OUTPUT: Final = {"mode": "tokens", "limit": 10_000}
"""What of the output of one tool a model gets to see."""

_INSTRUCTIONS: Final = """\
You are a coding agent in a terminal. You and the person who asks share one workspace: work in it until the task is
done, and only then hand back.

# Work
- Look before you change: read the files that matter, and search with `rg` where it is there.
- A file `AGENTS.md` holds instructions for the folder that it is in and all below; a deeper one wins, and what the
  person says wins over all of them.
- Keep to the task and to the style of the code around it. Mend the cause of a fault and not its symptom. Leave changes
  alone that you did not make. Commit or make branches only when you are asked to.
- Before you call tools, say in one sentence what you are about to do. For a task of several steps make a short plan
  first, with the tool for plans if there is one, and keep it up to date.
- Check what you did: run the tests or the program, the smallest part of them first. If something cannot be checked
  here, say so.

# Changing files
Your shell has the command `apply_patch`; paths are relative, and lines of context find the place:

    apply_patch <<'PATCH'
    *** Begin Patch
    *** Update File: src/app.py
    @@ def greet():
    -    print("Hi")
    +    print("Hello")
    *** End Patch
    PATCH

`*** Add File: PATH` is followed by lines that begin with `+`; `*** Delete File: PATH` by nothing. Write no comments
that only repeat the code.

# Limits
Run nothing that destroys data or leaves the workspace without being asked to. If the sandbox refuses a command that you
need, ask for permission by the means that your tools have.

# The end
Say briefly what you changed, in which files, how you checked it, and what is left to do. Name files by their paths.
"""
"""The instructions of the agent; an empty text would leave the model without any (tried)."""


def _codex_entry(model: ServedModel, place: int) -> dict[str, Any]:
    efforts = [{"effort": effort, "description": says} for effort, says in _EFFORTS.items()] if model.thinking else []
    return {
        "slug": model.id,
        "display_name": model.name,
        "description": None,
        "default_reasoning_level": _USUAL_EFFORT if efforts else None,
        "supported_reasoning_levels": efforts,
        "shell_type": "unified_exec",
        "visibility": "list",
        "minimal_client_version": [0, 0, 0],
        "supported_in_api": True,
        "priority": place,
        "upgrade": None,
        "base_instructions": _INSTRUCTIONS,
        "supports_reasoning_summaries": model.thinking,
        "support_verbosity": False,
        "default_verbosity": None,
        "apply_patch_tool_type": None,
        "truncation_policy": dict(_LONGEST_OUTPUT),
        "supports_parallel_tool_calls": model.tool_calling,
        "context_window": model.max_input_tokens + model.max_output_tokens,
        "experimental_supported_tools": [],
        "input_modalities": ["text", "image"] if model.image_input else ["text"],
    }


# ---- The list ----

ALIAS_OF: Final = "alias_of"
"""The field of an entry that lists a model for the second time; it holds the model's own id."""

_ONE: Final = f"/models/{MODEL}"
_MOST: Final = 1000
_UNKNOWN_DATE: Final = "1970-01-01T00:00:00Z"
"""The date that Anthropic's server gives to a model whose date it does not know."""


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
        self, page: int | None = None, aliases: Sequence[str] = (), known: tuple[str, ...] = (), kind: str = "language"
    ) -> None:
        self._page = page
        self._kind = kind
        self._aliases = tuple(aliases)
        self._known = known

    def listed(self, request: WireRequest, models: Sequence[ServedModel], _tokens: int) -> tuple[int, dict[str, Any]]:
        """One page of the models, after the one that `after_id` names or before the one of `before_id`; for Codex none
        where the query says `models=none`."""
        entries = self._entries(models)
        query = {name: values[-1] for name, values in parse_qs(request.query).items()}
        limit = query.get("limit")
        if limit is not None and (not limit.isdecimal() or not 1 <= int(limit) <= _MOST):
            raise RefusedRequestError(f"limit: Input should be a whole number from 1 to {_MOST}", "limit")
        size = (self._page or len(entries)) if limit is None else int(limit)
        start, end = 0, len(entries)
        if (after := query.get("after_id")) is not None:
            start = _place(entries, after, "after_id") + 1
        if (before := query.get("before_id")) is not None:
            end = _place(entries, before, "before_id")
            start = max(start, end - size)
        page = entries[start : min(end, start + size)]
        return 200, {
            "object": "list",
            "data": page,
            "has_more": start + len(page) < end if before is None else start > 0,
            "first_id": page[0]["id"] if page else None,
            "last_id": page[-1]["id"] if page else None,
            _FIELD: [] if query.get(_FIELD) == _NONE else [*map(_codex_entry, models, count())],
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


def _place(entries: Sequence[dict[str, Any]], model_id: str, name: str) -> int:
    place = next((place for place, entry in enumerate(entries) if entry["id"] == model_id), None)
    if place is None:
        raise RefusedRequestError(f"{name}: no model {model_id!r}", name)
    return place


def _entry(model: ServedModel, kind: str) -> dict[str, Any]:
    abilities = {"tool-use": model.tool_calling, "vision": model.image_input, "reasoning": model.thinking}
    thinking, yes, no = _supported(model.thinking), _supported(True), _supported(False)
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
        "capabilities": {
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
        },
        "name": model.name,
        "description": None,
        "context_window": model.max_input_tokens,
        "tags": [name for name, has in abilities.items() if has],
        "pricing": {"input": model.input_price, "output": model.output_price},
    }


def _supported(supported: bool) -> dict[str, bool]:
    return {"supported": supported}


_ALL: Final = ModelDocuments()
MODEL_DOCUMENTS: Final = (ServedDocument("GET", "/models", _ALL.listed), ServedDocument("GET", _ONE, _ALL.one))
"""The models for the clients of most wires."""
