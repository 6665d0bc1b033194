"""The interface of a provider: the three methods and the event of `vscode.LanguageModelChatProvider`.

A provider object serves any number of requests at the same time and holds only configuration: the state of a request
lives in local variables of `provide_language_model_chat_response`.
"""

from __future__ import annotations
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypedDict, runtime_checkable

from partstream.codec.checks import (
    BOOLEAN,
    COUNT,
    FILLED_TEXT,
    MAPPING,
    TEXT,
    Expectation,
    check_fields,
    dataclass,
    field,
    optional,
)
from partstream.lm.cancellation import CancellationToken, Event
from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.lm.parts import ResponsePart

if TYPE_CHECKING:
    from partstream.lm.outputs import Finish
else:
    Finish = Any  # for `typing.get_type_hints`: a start loads no reader of JSON


@dataclass(frozen=True, slots=True)
class LanguageModelChatCapabilities:
    """The capabilities of a model, as declared by its provider.

    Attributes:
        image_input: Whether messages may hold images.
        tool_calling: Whether the model calls tools; a number is the most tools that a request may hold. Copilot's
            agent mode lists only models that call tools.

    Example:
        >>> from partstream import LanguageModelChatCapabilities
        >>> LanguageModelChatCapabilities(tool_calling=True).image_input
        False
    """

    image_input: bool = False
    tool_calling: bool | int = False

    def __post_init__(self) -> None:
        check_fields(self, _CAPABILITIES)


class ModelFields(TypedDict, total=False):
    """Further fields that VS Code reads from the information about a model, by their names in VS Code.

    Source: `$provideLanguageModelChatInfo` in VS Code 1.139, which copies them without a check of proposals.
    """

    isUserSelectable: bool
    """False keeps the model out of the picker; programs can still use it."""
    isBYOK: bool
    category: str
    """`lightweight`, `versatile` or `powerful`."""
    configurationSchema: dict[str, Any]
    """The person's choices: `{"properties": {name: {"type", "title", "enum", "default", "group"}}}`."""
    maxContextWindowTokens: int
    multiplierNumeric: float
    pricing: str
    """The price in a few words: the row of the picker has them beside the model's name."""
    priceCategory: str
    """`low`, `medium`, `high` or `very_high`."""
    inputCost: float
    """The price of a million tokens, here and in the other costs, in hundredths of a US dollar."""
    outputCost: float
    cacheCost: float
    cacheWriteCost: float
    longContextInputCost: float
    longContextOutputCost: float
    longContextCacheCost: float
    longContextCacheWriteCost: float
    statusIcon: dict[str, Any]
    """A `ThemeIcon`: `{"id": "warning"}`."""
    targetChatSessionType: str
    warningText: dict[str, Any]
    """Markdown texts by a name of their own."""
    infoText: dict[str, Any]
    promo: dict[str, Any]
    """`{"id", "discountPercent", "endsAt", "message"}`."""


@dataclass(frozen=True, slots=True)
class LanguageModelChatInformation:
    """One model; the counterpart of `vscode.LanguageModelChatInformation`.

    Attributes:
        id: The model's id, unique within the provider.
        name: The name in the model picker.
        family: The model family (`gpt-4o`, `claude`, ...), by which Copilot picks its prompt and its edit tools.
        version: The version within the family; opaque.
        max_input_tokens: The most tokens that a prompt may hold.
        max_output_tokens: The most tokens that an answer may hold.
        tooltip: The text shown when the pointer rests on the model, or None.
        detail: The text shown beside the name, or None.
        capabilities: The model's capabilities.
        extra: Further fields that VS Code reads from the object (`isUserSelectable`, `configurationSchema`, ...), by
            their names in VS Code (see :class:`ModelFields`); JSON values only.

    Raises:
        InvalidArgumentError: A value has another type, the id is empty, or a limit is not above 0.

    Example:
        >>> from partstream import LanguageModelChatInformation
        >>> LanguageModelChatInformation("parrot", "Parrot", "birds", "1", 8_000, 1_000).max_output_tokens
        1000
    """

    id: str
    name: str
    family: str
    version: str
    max_input_tokens: int
    max_output_tokens: int
    tooltip: str | None = None
    detail: str | None = None
    capabilities: LanguageModelChatCapabilities = field(default_factory=LanguageModelChatCapabilities)
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_fields(self, _INFORMATION)


_CAPABILITIES: Final = {
    "image_input": BOOLEAN,
    "tool_calling": Expectation("True, False or a whole number", lambda value: isinstance(value, int)),
}
_INFORMATION: Final = {
    "id": FILLED_TEXT,
    "name": TEXT,
    "family": TEXT,
    "version": TEXT,
    "max_input_tokens": COUNT,
    "max_output_tokens": COUNT,
    "tooltip": optional(TEXT),
    "detail": optional(TEXT),
    "capabilities": Expectation(
        "LanguageModelChatCapabilities", lambda value: isinstance(value, LanguageModelChatCapabilities)
    ),
    "extra": MAPPING,
}


class Progress(Protocol):
    """Takes the parts that a provider reports; the counterpart of `vscode.Progress<LanguageModelResponsePart>`."""

    def report(self, part: ResponsePart, /) -> None:
        """Hands a part to the consumer, after all parts reported before."""


@runtime_checkable
class DrainingProgress(Progress, Protocol):
    """A progress that lets the provider wait for a slower consumer.

    A provider checks once with `isinstance` whether its progress is one. A provider that never waits still works: the
    host keeps the parts that its consumer has not taken yet, up to a limit.
    """

    async def drain(self) -> None:
        """Waits until the consumer has caught up; returns at once if it keeps up."""


@runtime_checkable
class FinishingProgress(Progress, Protocol):
    """A progress that also takes the end of the answer: finish reason, usage, the upstream's id of the response.

    VS Code's API has no place for these facts. A provider that knows them checks with `isinstance` whether its
    progress is one; a provider that does not know them, or does not check, still works.
    """

    def finish(self, finish: Finish, /) -> None:
        """Takes the end of the answer; the provider calls it once, after the last part.

        A provider whose answer failed calls it before raising, with the error in `finish.error`. After a cancellation,
        a provider does not call it. If it is called more than once, for example by a provider that asks two models for
        one answer, the last call counts.

        Raises:
            TypeError: `finish` is not a :class:`~partstream.lm.outputs.Finish`.
        """


@runtime_checkable
class WaitingProgress(Progress, Protocol):
    """A progress that takes the reason why a response does not begin yet, so that a person sees more than silence.

    A provider that knows the reason checks with `isinstance` whether its progress is one.
    """

    def wait(self, reason: str, seconds: float, /) -> None:
        """Takes a wait that begins now."""


class LanguageModelChatProvider(ABC):
    """Offers models and answers requests to them; the counterpart of `vscode.LanguageModelChatProvider`.

    Attributes:
        on_did_change_language_model_chat_information: The event of changes to the model list, or None for a list that
            never changes. Must not fire inside :meth:`provide_language_model_chat_information`: the host would ask for
            the list again.
        resources: What a machine must have to run the provider, for hosts that choose one (docs/ray.md): amounts by
            name, such as `{"num_gpus": 1}`.

    Example:
        >>> from partstream import LanguageModelChatInformation, LanguageModelChatProvider, TextPart, ask_sync
        >>> class Parrot(LanguageModelChatProvider):
        ...     async def provide_language_model_chat_information(self, silent, token):
        ...         return [LanguageModelChatInformation("parrot", "Parrot", "birds", "1", 8_000, 1_000)]
        ...
        ...     async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        ...         progress.report(TextPart(f"{model.name} hears {len(messages)} message."))
        ...
        ...     async def provide_token_count(self, model, text, token):
        ...         return len(str(text)) // 4
        >>> ask_sync(Parrot(), "Hello")
        'Parrot hears 1 message.'
    """

    on_did_change_language_model_chat_information: Event[None] | None = None
    resources: Mapping[str, float] = MappingProxyType({})

    @abstractmethod
    async def provide_language_model_chat_information(
        self, silent: bool, token: CancellationToken
    ) -> Sequence[LanguageModelChatInformation]:
        """Lists the models.

        An implementation may have one more parameter with a default, `configuration`: a host that knows groups, such as
        VS Code, then hands in the keys and values of the group by this name. A changed group gets a new provider.

        Args:
            silent: Whether the provider must not ask the person for anything, such as a key. A provider without its key
                raises :class:`KeyNeededError` in both cases: VS Code then asks for the key where it may.
            token: Cancelled when the host no longer waits for the list.
        """

    @abstractmethod
    async def provide_language_model_chat_response(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: Progress,
        token: CancellationToken,
    ) -> None:
        """Answers a request: reports the parts in the order of generation and returns when the answer is complete.

        Once `token` is cancelled, the method reports no further part and returns at once without an error.

        Raises:
            LanguageModelError: The answer failed or is incomplete; parts that were reported stay valid.
        """

    @abstractmethod
    async def provide_token_count(
        self, model: LanguageModelChatInformation, text: str | ChatMessage, token: CancellationToken
    ) -> int:
        """Counts the tokens that `text` takes in a prompt for `model`."""
