"""The ways in which servers describe models: one row per shape; the first shape that fits an entry reads it.

Facts come only from fields, never from a model's name. A new shape is a row here and a list in the tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.models.anthropic_shape import ANTHROPIC_SHAPE
from partstream.models.google_shape import GOOGLE_SHAPE
from partstream.models.hosted_shapes import HOSTED_SHAPES
from partstream.models.local_shapes import LOCAL_SHAPES
from partstream.models.ollama import is_language, read_entry
from partstream.models.prices import dollars_per_token, per_token_with_tiers
from partstream.models.shape import (
    DetailKind,
    Shape,
    has_all,
    has_any,
    is_no_other_type,
    is_of_type,
    least,
    modality_facts,
    owner_of,
    parameter_facts,
)
from partstream.upstream.model_facts import Fact

if TYPE_CHECKING:
    from partstream.upstream.model_facts import Fields

__all__ = ["SHAPES", "shape_of"]


def shape_of(fields: Fields) -> Shape:
    """The shape of an entry; the bare shape fits every entry."""
    return next(shape for shape in SHAPES if shape.fits(fields))


def _vercel(fields: Fields) -> dict[str, Any]:
    return {
        "name": fields.text("name"),
        "description": fields.text("description"),
        "creator": fields.text("owned_by"),
        "context_window": fields.tokens("context_window"),
        "max_output_tokens": fields.tokens("max_tokens"),
        "tool_calling": fields.has_word("tags", "tool-use"),
        "image_input": fields.has_word("tags", "vision"),
        "file_input": fields.has_word("tags", "file-input"),
        "reasoning": fields.has_word("tags", "reasoning"),
        "pricing": per_token_with_tiers(fields.inside("pricing")),
    }


def _gateway_config(fields: Fields) -> dict[str, Any]:
    return {
        "name": fields.text("name"),
        "description": fields.text("description"),
        "pricing": per_token_with_tiers(fields.inside("pricing")),
    }


def _partstream(fields: Fields) -> dict[str, Any]:
    """What another server of ours says, which clients of several wires read."""
    return {
        **ANTHROPIC_SHAPE.read(fields),
        **_vercel(fields),
        "context_window": None,
        "max_input_tokens": fields.tokens("max_input_tokens"),
    }


def _openrouter(fields: Fields) -> dict[str, Any]:
    return {
        "name": fields.text("name"),
        "description": fields.text("description"),
        # The endpoint may accept less than the model could.
        "context_window": least(fields.tokens("context_length"), fields.tokens("top_provider.context_length")),
        "max_output_tokens": fields.tokens("top_provider.max_completion_tokens"),
        "pricing": dollars_per_token(fields.inside("pricing")),
        **modality_facts(fields),
        **parameter_facts(fields),
    }


def _lm_studio(fields: Fields) -> dict[str, Any]:
    vision = Fact(fields.text("type") == "vlm", fields.source, "type")
    return {
        "creator": fields.text("publisher"),
        # A loaded model has the context length that it was loaded with, whatever its maximum.
        "context_window": fields.tokens("loaded_context_length", "max_context_length"),
        "image_input": vision,
        "tool_calling": fields.has_word("capabilities", "tool_use"),
    }


def _lm_studio_1(fields: Fields) -> dict[str, Any]:
    loaded = [instance.tokens("config.context_length") for instance in fields.objects("loaded_instances")]
    return {
        "name": fields.text("display_name"),
        "description": fields.text("description"),
        "creator": fields.text("publisher"),
        "context_window": least(*loaded) or fields.tokens("max_context_length"),
        "image_input": fields.boolean("capabilities.vision"),
        "tool_calling": fields.boolean("capabilities.trained_for_tool_use"),
    }


def _vllm(fields: Fields) -> dict[str, Any]:
    return {"creator": owner_of(fields), "context_window": fields.tokens("max_model_len")}


def _bare(fields: Fields) -> dict[str, Any]:
    """OpenAI's list has id and owner; other servers add one or two fields with clear names."""
    return {
        "name": fields.text("display_name", "name"),
        "description": fields.text("description"),
        "creator": owner_of(fields),
        "context_window": fields.tokens("context_window", "context_length", "max_context_length"),
        "max_input_tokens": fields.tokens("max_input_tokens"),
        "max_output_tokens": fields.tokens("max_completion_tokens", "max_output_tokens"),
        **parameter_facts(fields),
        **_capability_flags(fields),
    }


def _capability_flags(fields: Fields) -> dict[str, Any]:
    """The facts in `capabilities: {vision: true, function_calling: true}`, which some bare lists have."""
    capabilities = fields.inside("capabilities") if fields.is_object("capabilities") else None
    if capabilities is None:
        return {}
    facts = {
        "image_input": capabilities.boolean("vision"),
        "tool_calling": capabilities.boolean("function_calling"),
    }
    return {name: fact for name, fact in facts.items() if fact is not None}


def _is_vercel(fields: Fields) -> bool:
    # Groq has context_window too; other servers put null into fields that they do not know.
    return "type" in fields and fields.names_any("context_window", "tags") and "max_model_len" not in fields


SHAPES: Final[tuple[Shape, ...]] = (
    # A model that is listed once more under an alias is no further model.
    Shape("Partstream", has_all("lifecycle", "tags"), _partstream, lambda fields: "alias_of" not in fields),
    *LOCAL_SHAPES,
    *HOSTED_SHAPES,
    ANTHROPIC_SHAPE,
    GOOGLE_SHAPE,
    Shape("Vercel", _is_vercel, _vercel, is_of_type("language", "chat"), details=DetailKind.ENDPOINTS),
    Shape(
        "Vercel, config",
        has_all("specification"),
        _gateway_config,
        lambda fields: fields.text("modelType") in (None, "language"),
        details=DetailKind.ENDPOINTS,
    ),
    Shape(
        "OpenRouter",
        has_any("top_provider", "architecture.input_modalities", "architecture.modality"),
        _openrouter,
        is_no_other_type,
        details=DetailKind.ENDPOINTS,
    ),
    Shape("LM Studio, API v1", has_all("key", "type"), _lm_studio_1, is_of_type("llm", "vlm"), ("key",)),
    Shape("LM Studio, API v0", has_all("state", "type"), _lm_studio, is_of_type("llm", "vlm")),
    Shape(
        "Ollama",
        has_all("model", "details"),
        read_entry,
        is_language,
        ("model", "name"),
        DetailKind.OLLAMA_SHOW,
    ),
    Shape("vLLM", has_all("max_model_len"), _vllm, is_no_other_type),
    Shape("bare", lambda fields: True, _bare, is_no_other_type),
)
