"""The ways in which servers describe models: one row per shape; the first shape that fits an entry reads it.

Facts come only from fields, never from a model's name. A new shape is a row here and a list in the tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from partstream.models.prices import dollars_per_token, per_token_with_tiers
from partstream.models.records import Fact, ModelRecord

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.models.fields import Fields

__all__ = ["SHAPES", "DetailKind", "Shape", "parameter_facts", "shape_of"]

EFFORTS: Final = ("low", "medium", "high")
"""The values of the parameter `reasoning_effort` that every server accepts; servers declare further values by name."""

_NO_LANGUAGE_MODELS: Final = frozenset(
    {"audio", "decision", "embedding", "embeddings", "evaluation", "image", "moderation", "realtime", "rerank"}
    | {"reranker", "reranking", "speech", "transcribe", "transcription", "video"}
)
"""Servers' names for kinds of models that do not answer with text."""


class DetailKind(StrEnum):
    """The requests that give a server's details about one model."""

    ENDPOINTS = "endpoints"
    """`GET /v1/models/{creator}/{model}/endpoints`."""
    OLLAMA_SHOW = "ollama-show"
    """`POST /api/show`."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One way to describe models.

    Attributes:
        name: The shape's name in the log.
        fits: Whether an entry has this shape.
        read: Reads the facts of an entry, without its id.
        is_language: Whether an entry is a language model.
        id_fields: The fields that may hold the id; the first one with a value does.
        details: The request for the server's details, or None.
    """

    name: str
    fits: Callable[[Fields], bool]
    read: Callable[[Fields], dict[str, Any]]
    is_language: Callable[[Fields], bool]
    id_fields: tuple[str, ...] = ("id",)
    details: DetailKind | None = None

    def record(self, fields: Fields, model_id: str) -> ModelRecord:
        """The record of an entry."""
        return ModelRecord(model_id, **self.read(fields))


def shape_of(fields: Fields) -> Shape:
    """The shape of an entry; the bare shape fits every entry."""
    return next(shape for shape in SHAPES if shape.fits(fields))


def parameter_facts(fields: Fields, path: str = "supported_parameters") -> dict[str, Any]:
    """The facts in a list of supported request parameters."""
    words = fields.words(path)
    if words is None:
        return {}
    efforts = None
    if "reasoning_effort" in words or "reasoning" in words:
        efforts = Fact(EFFORTS, fields.source, path)
    return {
        "tool_calling": fields.has_word(path, "tools"),
        "reasoning": fields.has_word(path, "reasoning", "include_reasoning", "reasoning_effort"),
        "reasoning_efforts": efforts,
    }


def modality_facts(fields: Fields, path: str = "architecture.input_modalities") -> dict[str, Any]:
    """The facts in a list of input modalities."""
    return {"image_input": fields.has_word(path, "image"), "file_input": fields.has_word(path, "file", "pdf")}


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


def _openrouter(fields: Fields) -> dict[str, Any]:
    return {
        "name": fields.text("name"),
        "description": fields.text("description"),
        # The endpoint may accept less than the model could.
        "context_window": _least(fields.tokens("context_length"), fields.tokens("top_provider.context_length")),
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
        "context_window": _least(*loaded) or fields.tokens("max_context_length"),
        "image_input": fields.boolean("capabilities.vision"),
        "tool_calling": fields.boolean("capabilities.trained_for_tool_use"),
    }


def _vllm(fields: Fields) -> dict[str, Any]:
    return {"creator": _owner(fields), "context_window": fields.tokens("max_model_len")}


def _nothing(fields: Fields) -> dict[str, Any]:
    return {}


def _bare(fields: Fields) -> dict[str, Any]:
    """OpenAI's list has id and owner; other servers add one or two fields with clear names."""
    return {
        "name": fields.text("display_name", "name"),
        "description": fields.text("description"),
        "creator": _owner(fields),
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


def _owner(fields: Fields) -> str | None:
    """The model's owner, unless the field only names the server's software or the account."""
    owner = fields.text("owned_by")
    return None if owner in _NO_OWNERS else owner


_NO_OWNERS: Final = frozenset(
    {"library", "llamacpp", "openai-internal", "organization-owner", "organization_owner", "system", "vllm"}
)


def _least(*limits: Fact[int] | None) -> Fact[int] | None:
    return min((limit for limit in limits if limit is not None), key=lambda limit: limit.value, default=None)


def _is_of_type(*types: str) -> Callable[[Fields], bool]:
    return lambda fields: (fields.text("type") or "").lower() in types


def _is_no_other_type(fields: Fields) -> bool:
    """Whether no field declares another kind of model; also true for entries without a type."""
    return (fields.text("type") or "").lower() not in _NO_LANGUAGE_MODELS and _answers_with_text(fields)


def _answers_with_text(fields: Fields) -> bool:
    words = fields.words("architecture.output_modalities")
    return words is None or "text" in words


def _has_all(*paths: str) -> Callable[[Fields], bool]:
    return lambda fields: all(path in fields for path in paths)


def _has_any(*paths: str) -> Callable[[Fields], bool]:
    return lambda fields: any(path in fields for path in paths)


def _is_vercel(fields: Fields) -> bool:
    # Groq has context_window too; other servers put null into fields that they do not know.
    return "type" in fields and fields.names_any("context_window", "tags") and "max_model_len" not in fields


SHAPES: Final[tuple[Shape, ...]] = (
    Shape("Vercel", _is_vercel, _vercel, _is_of_type("language", "chat"), details=DetailKind.ENDPOINTS),
    Shape(
        "Vercel, config",
        _has_all("specification"),
        _gateway_config,
        lambda fields: fields.text("modelType") in (None, "language"),
        details=DetailKind.ENDPOINTS,
    ),
    Shape(
        "OpenRouter",
        _has_any("top_provider", "architecture.input_modalities", "architecture.modality"),
        _openrouter,
        _is_no_other_type,
        details=DetailKind.ENDPOINTS,
    ),
    Shape("LM Studio, API v1", _has_all("key", "type"), _lm_studio_1, _is_of_type("llm", "vlm"), ("key",)),
    Shape("LM Studio, API v0", _has_all("state", "type"), _lm_studio, _is_of_type("llm", "vlm")),
    Shape(
        "Ollama",
        _has_all("model", "details"),
        _nothing,
        lambda fields: True,
        ("model", "name"),
        DetailKind.OLLAMA_SHOW,
    ),
    Shape("vLLM", _has_all("max_model_len"), _vllm, _is_no_other_type),
    Shape("bare", lambda fields: True, _bare, _is_no_other_type),
)
