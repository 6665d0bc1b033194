"""The known facts about a model, each with its source; knows no server and no VS Code.

None means unknown. Only :mod:`partstream.models.limits` and :mod:`partstream.models.information` decide what to assume
for unknown facts.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from decimal import Decimal

    from partstream.conversation.preparation import ContextEdit, ThinkingForm

__all__ = ["Fact", "ModelRecord", "Pricing", "Source", "merged"]

T = TypeVar("T")


class Source(StrEnum):
    """The source of a fact."""

    LIST = "list"
    """The server's list of models."""
    DETAILS = "details"
    """The server's details about the single model: its endpoints, or its own page."""
    CONFIGURATION = "configuration"
    """A person's settings."""
    PROVIDER = "provider"
    """The code of a person's own provider."""
    DEFAULT = "default"
    """None: the fact is assumed."""


@dataclass(frozen=True, slots=True)
class Fact(Generic[T]):
    """A value and its source.

    Attributes:
        value: The value.
        source: The source.
        field: The source's own name of the field; for a computed value, the fields it was computed from.
    """

    value: T
    source: Source
    field: str

    def __str__(self) -> str:
        return f"{self.value} ({self.origin})"

    @property
    def origin(self) -> str:
        """The source in words, such as `list: context_window`."""
        return f"{self.source}: {self.field}"


@dataclass(frozen=True, slots=True)
class Pricing:
    """The prices of a model, in US dollars per token; None means unknown.

    Attributes:
        input: The price of a prompt token.
        output: The price of an answer token.
        cache_read: The price of a prompt token that is read from the cache.
        cache_write: The price of a prompt token that is written to the cache.
        long_context: The prices for prompts of `long_context_from` tokens or more, or None without such prices.
        long_context_from: The number of prompt tokens from which `long_context` holds, or None.
    """

    input: Decimal | None = None
    output: Decimal | None = None
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None
    long_context: Pricing | None = None
    long_context_from: int | None = None


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """One language model as its server describes it.

    Attributes:
        id: The server's id of the model; goes into requests unchanged.
        name: The server's name of the model for people.
        description: The server's description, a sentence or more.
        creator: The model's creator, if the server names it beside the id.
        context_window: The most tokens of prompt and answer together.
        max_input_tokens: The most tokens of a prompt, if prompts have a limit of their own.
        max_output_tokens: The most tokens of an answer.
        image_input: Whether prompts may hold images.
        file_input: Whether prompts may hold files such as PDF.
        tool_calling: Whether the model calls tools.
        reasoning: Whether the model reasons before it answers.
        reasoning_efforts: The reasoning levels to choose from, lowest first.
        usual_effort: The reasoning level of a request that names none.
        thinking_forms: The ways in which the model can be asked to think.
        can_stop_thinking: Whether a request may ask the model not to think.
        context_edits: What the server can do to shorten a conversation with the model.
        loaded_window: The window with which the server loads the model, where requests may ask for another one.
        trained_window: The largest window with which the model can be loaded.
        pricing: The prices.
        endpoints: The paths of the only endpoints that serve the model, in lower case, such as `/chat/completions`.
    """

    id: str
    name: str | None = None
    description: str | None = None
    creator: str | None = None
    context_window: Fact[int] | None = None
    max_input_tokens: Fact[int] | None = None
    max_output_tokens: Fact[int] | None = None
    image_input: Fact[bool] | None = None
    file_input: Fact[bool] | None = None
    tool_calling: Fact[bool] | None = None
    reasoning: Fact[bool] | None = None
    reasoning_efforts: Fact[tuple[str, ...]] | None = None
    usual_effort: Fact[str] | None = None
    thinking_forms: Fact[tuple[ThinkingForm, ...]] | None = None
    can_stop_thinking: Fact[bool] | None = None
    context_edits: Fact[tuple[ContextEdit, ...]] | None = None
    loaded_window: Fact[int] | None = None
    trained_window: Fact[int] | None = None
    pricing: Fact[Pricing] | None = None
    endpoints: Fact[tuple[str, ...]] | None = None

    def is_served_at(self, path: str) -> bool:
        """Whether the server answers for the model at an endpoint; it does where it does not say which ones.

        Args:
            path: The path of the endpoint below the base URL, such as `/responses`.
        """
        return self.endpoints is None or any(one.endswith(path.lower()) for one in self.endpoints.value)


def merged(record: ModelRecord, better: ModelRecord) -> ModelRecord:
    """`record` with every known fact of `better` instead of its own; the id stays."""
    known = {
        field.name: value
        for field in fields(better)
        if field.name != "id" and (value := getattr(better, field.name)) is not None
    }
    return replace(record, **known)
