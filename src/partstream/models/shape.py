"""One way in which a server describes models, as a value, and how readers of several ways read the same fields."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from partstream.upstream.model_facts import Fact, ModelRecord

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.upstream.model_facts import Fields

__all__ = [
    "EFFORTS",
    "DetailKind",
    "Shape",
    "answers_with_text",
    "has_all",
    "has_any",
    "is_no_other_type",
    "is_of_type",
    "least",
    "modality_facts",
    "owner_of",
    "parameter_facts",
]

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
    LLAMA_CPP_PROPS = "llama-cpp-props"
    """`GET /props`."""


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
        id_prefix: What stands before the id there and is no part of it.
    """

    name: str
    fits: Callable[[Fields], bool]
    read: Callable[[Fields], dict[str, Any]]
    is_language: Callable[[Fields], bool]
    id_fields: tuple[str, ...] = ("id",)
    details: DetailKind | None = None
    id_prefix: str = ""

    def record(self, fields: Fields, model_id: str) -> ModelRecord:
        """The record of an entry."""
        return ModelRecord(model_id, **self.read(fields))


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


def owner_of(fields: Fields) -> str | None:
    """The model's owner, unless the field only names the server's software or the account."""
    owner = fields.text("owned_by")
    return None if owner in _NO_OWNERS else owner


_NO_OWNERS: Final = frozenset(
    {"library", "llamacpp", "openai-internal", "organization-owner", "organization_owner", "system", "vllm"}
)


def least(*limits: Fact[int] | None) -> Fact[int] | None:
    """The lowest of the known limits, or None."""
    return min((limit for limit in limits if limit is not None), key=lambda limit: limit.value, default=None)


def is_of_type(*types: str) -> Callable[[Fields], bool]:
    """Makes a test for entries that declare one of the types."""
    return lambda fields: (fields.text("type") or "").lower() in types


def is_no_other_type(fields: Fields) -> bool:
    """Whether no field declares another kind of model; also true for entries without a type."""
    return (fields.text("type") or "").lower() not in _NO_LANGUAGE_MODELS and answers_with_text(fields)


def answers_with_text(fields: Fields) -> bool:
    """Whether a model gives text, or does not say what it gives."""
    words = fields.words("architecture.output_modalities")
    return words is None or "text" in words


def has_all(*paths: str) -> Callable[[Fields], bool]:
    """Makes a test for entries that have a value in each of the fields."""
    return lambda fields: all(path in fields for path in paths)


def has_any(*paths: str) -> Callable[[Fields], bool]:
    """Makes a test for entries that have a value in one of the fields."""
    return lambda fields: any(path in fields for path in paths)
