"""The ways in which llama.cpp's server describes models: one model, and several that it loads when they are asked.

Source: ggml-org/llama.cpp, tools/server/README.md (`GET /v1/models`, `GET /props`, router mode).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

from partstream.errors import UpstreamProtocolError
from partstream.models.shape import DetailKind, Shape, answers_with_text, modality_facts
from partstream.upstream.model_facts import Fact, Fields, ModelRecord, Problem, Source

__all__ = ["LOCAL_SHAPES", "read_props"]

_CONTEXT_OPTIONS: Final = ("-c", "--ctx-size")
_MOST_DIGITS: Final = 9


def _is_llama_cpp(fields: Fields) -> bool:
    return fields.text("owned_by") == "llamacpp" or "meta.n_ctx_train" in fields


def _is_routed(fields: Fields) -> bool:
    return fields.is_object("status") and "status.value" in fields and _is_llama_cpp(fields)


def _llama_cpp(fields: Fields) -> dict[str, Any]:
    """The context that a model was loaded with, else the one that it would be loaded with, else its training's."""
    modalities = modality_facts(fields)
    return {
        "context_window": fields.tokens("meta.n_ctx") or _started_with(fields) or fields.tokens("meta.n_ctx_train"),
        "image_input": modalities["image_input"],
    }


def _started_with(fields: Fields) -> Fact[int] | None:
    """The context in the arguments that the router starts a model's server with."""
    arguments = fields.words("status.args") or ()
    for option, value in pairwise(arguments):
        if option in _CONTEXT_OPTIONS and value.isascii() and value.isdigit() and len(value) <= _MOST_DIGITS:
            return Fact(int(value), fields.source, f"status.args {option}") if int(value) else None
    return None


def read_props(model_id: str, document: Any) -> tuple[ModelRecord | None, tuple[Problem, ...]]:
    """The facts in llama.cpp's properties of its only model, and the problems.

    Raises:
        UpstreamProtocolError: `document` holds no properties.
    """
    if not isinstance(document, dict) or "default_generation_settings" not in document:
        raise UpstreamProtocolError(
            event_type="the properties of a server",
            field="default_generation_settings",
            got=f"{document!r:.80}",
            expected="an object",
        )
    problems: list[Problem] = []
    fields = Fields(document, "props", Source.DETAILS, problems)
    record = ModelRecord(
        model_id,
        context_window=fields.tokens("default_generation_settings.n_ctx"),
        image_input=fields.boolean("modalities.vision"),
        tool_calling=fields.boolean("chat_template_caps.supports_tools"),
    )
    return record, tuple(problems)


LOCAL_SHAPES: Final = (
    # A question about the properties of one of several models would load it.
    Shape("llama.cpp, router", _is_routed, _llama_cpp, answers_with_text),
    Shape("llama.cpp", _is_llama_cpp, _llama_cpp, answers_with_text, details=DetailKind.LLAMA_CPP_PROPS),
)
