"""What is known of a model, each fact with its source; knows no server and no VS Code.

None means that nobody said it. What is to be assumed then is decided where it is needed, once: in
:mod:`partstream.models.limits` and :mod:`partstream.models.information`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from decimal import Decimal

__all__ = ["Fact", "ModelRecord", "Pricing", "Source", "merged"]

T = TypeVar("T")


class Source(StrEnum):
    """Who said it."""

    LIST = "list"
    """The server's list of models."""
    DETAILS = "details"
    """What the server says about the one model: its endpoints, or its own page."""
    CONFIGURATION = "configuration"
    """A person."""
    DEFAULT = "default"
    """Nobody: it is assumed."""


@dataclass(frozen=True, slots=True)
class Fact(Generic[T]):
    """A value and where it comes from.

    Attributes:
        value: The value.
        source: Who said it.
        field: The field that held it, in the words of the source; what was computed says from what.
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
    """What a model costs, in US dollars a token; None is unknown.

    Attributes:
        input: A token of the prompt.
        output: A token of the answer.
        cache_read: A token of the prompt that was found in the cache.
        cache_write: A token of the prompt that was put into the cache.
        long_context: The prices of prompts that hold `long_context_from` tokens or more, or None when there are none.
        long_context_from: See there.
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
        id: As the server names it; goes into requests unchanged.
        name: What the server calls it for people.
        description: A sentence or more.
        creator: Who made it, when the server says so beside the id.
        context_window: The most tokens of prompt and answer together.
        max_input_tokens: The most tokens of a prompt, where it has a limit of its own.
        max_output_tokens: The most tokens of an answer.
        image_input: Whether prompts may hold images.
        file_input: Whether prompts may hold files such as PDF.
        tool_calling: Whether it calls tools.
        reasoning: Whether it reasons before it answers.
        reasoning_efforts: The levels of reasoning that can be asked for, from the least.
        pricing: What it costs.
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
    pricing: Fact[Pricing] | None = None


def merged(record: ModelRecord, better: ModelRecord) -> ModelRecord:
    """`record` with every fact that `better` knows in the place of its own; the id stays."""
    known = {
        field.name: value
        for field in fields(better)
        if field.name != "id" and (value := getattr(better, field.name)) is not None
    }
    return replace(record, **known)
