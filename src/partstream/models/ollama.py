"""Reads what Ollama says of its models: `GET /api/tags` and `POST /api/show`."""

from __future__ import annotations

import re
from typing import Any, Final

from partstream.errors import UpstreamProtocolError
from partstream.upstream.model_facts import Fact, Fields, ModelRecord, Problem, Source

__all__ = ["is_language", "read_entry", "read_show"]

_CONTEXT_PARAMETER: Final = re.compile(r"^num_ctx\s+(\d{1,9})\s*$", re.MULTILINE)
_GPT_OSS: Final = "gptoss"
"""The family whose thinking has degrees and no end (ollama docs, capabilities/thinking)."""
_DEGREES: Final = ("low", "medium", "high")
_TOOLS_IN_TEMPLATE: Final = ".Tools"
"""What the template of a model that calls tools holds: old servers list no capabilities."""


def is_language(fields: Fields) -> bool:
    """Whether an entry of the list is a model that completes text, or does not say what it is."""
    capabilities = fields.words("capabilities")
    return not capabilities or "completion" in capabilities


def read_entry(fields: Fields) -> dict[str, Any]:
    """The facts in an entry of the list, or in the details of a model: new servers say the capabilities in both."""
    reasoning = fields.has_word("capabilities", "thinking")
    return {
        "image_input": fields.has_word("capabilities", "vision"),
        "tool_calling": fields.has_word("capabilities", "tools"),
        "reasoning": reasoning,
        "reasoning_efforts": _efforts(fields) if reasoning is not None and reasoning.value else None,
    }


def _efforts(fields: Fields) -> Fact[tuple[str, ...]]:
    family = fields.text("details.family") or fields.inside("model_info").text("general.architecture")
    degrees = _DEGREES if family == _GPT_OSS else ("none", *_DEGREES)
    return Fact(degrees, fields.source, "capabilities thinking")


def read_show(model_id: str, document: Any) -> tuple[ModelRecord | None, tuple[Problem, ...]]:
    """The facts about a model, and the problems; None for a model that declares no text completion (embeddings).

    Raises:
        UpstreamProtocolError: `document` is not a description of a model.
    """
    if not isinstance(document, dict) or not ("model_info" in document or "capabilities" in document):
        raise UpstreamProtocolError(
            event_type="the description of a model", field=None, got=f"{document!r:.80}", expected="model_info"
        )
    problems: list[Problem] = []
    fields = Fields(document, "show", Source.DETAILS, problems)
    capabilities = fields.words("capabilities")
    if capabilities is not None and "completion" not in capabilities:
        return None, tuple(problems)
    trained = fields.inside("model_info").suffixed(".context_length")
    # If `num_ctx` is set, the server loads the model with it, and silently cuts off longer prompts. A model of the
    # cloud always has its largest window.
    loaded = _context_parameter(fields) or (trained if fields.text("remote_host") else None)
    abilities = read_entry(fields)
    abilities["tool_calling"] = abilities["tool_calling"] or _tools_in_template(fields)
    record = ModelRecord(
        model_id, context_window=loaded or trained, loaded_window=loaded, trained_window=trained, **abilities
    )
    return record, tuple(problems)


def _tools_in_template(fields: Fields) -> Fact[bool] | None:
    has_tools = _TOOLS_IN_TEMPLATE in (fields.text("template") or "")
    return Fact(True, Source.DETAILS, "template") if has_tools else None


def _context_parameter(fields: Fields) -> Fact[int] | None:
    found = _CONTEXT_PARAMETER.search(fields.text("parameters") or "")
    return Fact(int(found[1]), Source.DETAILS, "parameters num_ctx") if found and int(found[1]) else None
