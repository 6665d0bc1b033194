"""The known facts about a model, each with its source; knows no server and no VS Code.

None means unknown. Only :mod:`partstream.upstream.model_information` decides what to assume for unknown facts.

`Fields` reads one JSON object of a server's answer carefully. A value of an unexpected type counts as unknown and is
noted: a wrong number must not hide a model.
"""

from __future__ import annotations
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Any, Final, Generic, TypeVar

from partstream.codec.checks import MOST_DOLLARS, as_count
from partstream.conversation.preparation import ContextEdit, ModelCapabilities, ThinkingForm
from partstream.lm.provider import LanguageModelChatInformation

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
    """A value, its source, and the source's own name of the field; for a computed value, the fields of its terms."""

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
        context_edits: The ways in which the server can shorten a conversation with the model.
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


_MAX_TEXT: Final = 2000
_MAX_ITEMS: Final = 200
_MAX_PROBLEMS: Final = 100


class Problem(str):
    """A sentence for the log about a wrong value: the place, the value, and the expected value."""

    __slots__ = ()

    def __new__(cls, where: str, got: object, expected: str) -> Problem:
        """Shortens the value, which comes from outside and may be long."""
        return super().__new__(cls, f"{where}: got {got!r:.80}, expected {expected}")


class Fields:
    """One object; a path such as `top_provider.context_length` names a field of an inner object.

    Args:
        values: The object.
        where: The object's place in the answer, such as `data[3]`.
        source: The source of the object's facts.
        problems: Takes notes of wrong values, at most 100.
    """

    def __init__(self, values: Mapping[str, Any], where: str, source: Source, problems: list[Problem]) -> None:
        self.where = where
        self.source = source
        self._values = values
        self._problems = problems

    def __contains__(self, path: str) -> bool:
        return self._value(path) is not None

    def names_any(self, *names: str) -> bool:
        """Whether one of the fields exists, even with null."""
        return any(name in self._values for name in names)

    def is_object(self, path: str) -> bool:
        """Whether the field holds an object."""
        return isinstance(self._value(path), dict)

    def text(self, *paths: str) -> str | None:
        """The text in the first of the fields that holds one, at most 2,000 characters; None if none does."""
        for path in paths:
            value = self._value(path)
            if isinstance(value, str):
                if value.strip():
                    return value.strip()[:_MAX_TEXT]
            elif value is not None:
                self._note(path, value, "a string")
        return None

    def tokens(self, *paths: str) -> Fact[int] | None:
        """The number of tokens in the first of the fields that holds one; 0 and null count as unknown."""
        for path in paths:
            value = self._value(path)
            tokens = as_count(value)  # some servers write 131072.0
            if tokens is not None:
                if tokens:
                    return Fact(tokens, self.source, path)
            elif value is not None:
                self._note(path, value, "a number of tokens")
        return None

    def number(self, path: str) -> int | None:
        """The whole number in a field, or None."""
        value = self._value(path)
        if value is None or type(value) is int:
            return value
        self._note(path, value, "a whole number")
        return None

    def boolean(self, path: str) -> Fact[bool] | None:
        """The boolean in a field, or None."""
        value = self._value(path)
        if isinstance(value, bool):
            return Fact(value, self.source, path)
        if value is not None:
            self._note(path, value, "true or false")
        return None

    def words(self, path: str) -> tuple[str, ...] | None:
        """The strings of a list, in lower case; None without a list, which differs from an empty list."""
        value = self._value(path)
        if value is None:
            return None
        if not isinstance(value, list):
            self._note(path, value, "a list of strings")
            return None
        return tuple(word.lower() for word in value[:_MAX_ITEMS] if isinstance(word, str))

    def has_word(self, path: str, *wanted: str) -> Fact[bool] | None:
        """Whether the list at `path` holds one of the words; None without a list."""
        words = self.words(path)
        return None if words is None else Fact(any(word in words for word in wanted), self.source, path)

    def dollars(self, path: str) -> Decimal | None:
        """A price in US dollars, written as a string or a number; None also for a negative price, which means that the
        price varies."""
        value = self._value(path)
        if value is None or isinstance(value, bool):
            return None
        try:
            price = Decimal(str(value)[:40])
        except InvalidOperation:
            self._note(path, value, "a price")
            return None
        return price if price.is_finite() and 0 <= price < MOST_DOLLARS else None

    def objects(self, path: str) -> list[Fields]:
        """The objects of a list, at most 200 of them."""
        value = self._value(path)
        if value is None:
            return []
        if not isinstance(value, list):
            self._note(path, value, "a list")
            return []
        return [
            Fields(item, f"{self.where}.{path}[{number}]", self.source, self._problems)
            for number, item in enumerate(value[:_MAX_ITEMS])
            if isinstance(item, dict)
        ]

    def suffixed(self, suffix: str) -> Fact[int] | None:
        """The number of tokens in the only field whose name has this suffix."""
        names = [name for name in self._values if name.endswith(suffix)]
        if len(names) != 1:
            return None
        value = self._values[names[0]]
        tokens = as_count(value)
        if tokens:
            return Fact(tokens, self.source, names[0])
        self._note(names[0], value, "a number of tokens")
        return None

    def inside(self, path: str) -> Fields:
        """The object in a field; an empty object if there is none."""
        value = self._value(path)
        if value is not None and not isinstance(value, dict):
            self._note(path, value, "an object")
        return Fields(value if isinstance(value, dict) else {}, f"{self.where}.{path}", self.source, self._problems)

    def _value(self, path: str) -> Any:
        value: Any = self._values
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        return value

    def _note(self, path: str, got: object, expected: str) -> None:
        problem = Problem(f"{self.where}.{path}", got, expected)
        if len(self._problems) < _MAX_PROBLEMS and problem not in self._problems:  # a field may be read twice
            self._problems.append(problem)


def known_capabilities(record: ModelRecord) -> ModelCapabilities:
    """The facts of a record without their sources, for the writer of a request; assumptions are no facts."""
    facts: dict[str, Any] = {one.name: getattr(record, one.name) for one in fields(ModelCapabilities)}
    return ModelCapabilities(**{name: None if fact is None else fact.value for name, fact in facts.items()})


def stated_capabilities(model: LanguageModelChatInformation) -> ModelCapabilities:
    """The capabilities that a person states by configuring a model in VS Code's own form."""
    tools = model.capabilities.tool_calling
    return ModelCapabilities(
        max_input_tokens=model.max_input_tokens,
        max_output_tokens=model.max_output_tokens,
        image_input=model.capabilities.image_input,
        tool_calling=bool(tools),
    )
