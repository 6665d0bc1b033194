"""Reads Ollama's details about one model: `POST /api/show`."""

from __future__ import annotations

import re
from typing import Any, Final

from partstream.errors import UpstreamProtocolError
from partstream.models.fields import Fields, Problem
from partstream.models.records import Fact, ModelRecord, Source

__all__ = ["read_show"]

_CONTEXT_PARAMETER: Final = re.compile(r"^num_ctx\s+(\d{1,9})\s*$", re.MULTILINE)


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
    record = ModelRecord(
        model_id,
        # If `num_ctx` is set, the server loads the model with it, and silently cuts off longer prompts.
        context_window=_context_parameter(fields) or fields.inside("model_info").suffixed(".context_length"),
        image_input=fields.has_word("capabilities", "vision"),
        tool_calling=fields.has_word("capabilities", "tools"),
        reasoning=fields.has_word("capabilities", "thinking"),
    )
    return record, tuple(problems)


def _context_parameter(fields: Fields) -> Fact[int] | None:
    found = _CONTEXT_PARAMETER.search(fields.text("parameters") or "")
    return Fact(int(found[1]), Source.DETAILS, "parameters num_ctx") if found and int(found[1]) else None
