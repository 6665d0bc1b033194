"""What a provider promises: the three methods and the event of `vscode.LanguageModelChatProvider`.

A provider object serves any number of requests at once and holds configuration only: what belongs to one request
lives in local variables of `provide_language_model_chat_response`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.cancellation import CancellationToken
    from partstream.events import Event
    from partstream.messages import ChatMessage, RequestOptions
    from partstream.outputs import Finish
    from partstream.parts import ResponsePart

__all__ = [
    "DrainingProgress",
    "FinishingProgress",
    "LanguageModelChatCapabilities",
    "LanguageModelChatInformation",
    "LanguageModelChatProvider",
    "Progress",
]


@dataclass(frozen=True, slots=True)
class LanguageModelChatCapabilities:
    """What a model can do, as declared by its provider.

    Attributes:
        image_input: Whether messages may hold images.
        tool_calling: Whether the model calls tools; a number is the most tools a request may hold. Copilot's agent
            mode lists a model only when this is true.
    """

    image_input: bool = False
    tool_calling: bool | int = False


@dataclass(frozen=True, slots=True)
class LanguageModelChatInformation:
    """One model; stands for `vscode.LanguageModelChatInformation`.

    Attributes:
        id: Unique within the provider.
        name: What the model picker shows.
        family: The model family (`gpt-4o`, `claude`, ...); Copilot picks its prompt and its edit tools by it.
        version: The version within the family; opaque.
        max_input_tokens: The most tokens a prompt may hold.
        max_output_tokens: The most tokens an answer may hold.
        tooltip: Text shown when the pointer rests on the model, or None.
        detail: Text shown beside the name, or None.
        capabilities: What the model can do.
        extra: Further fields that the VS Code host reads from the object (`isUserSelectable`, `configurationSchema`,
            ...), by their own names; JSON values only.
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


class Progress(Protocol):
    """Where a provider reports its parts; stands for `vscode.Progress<LanguageModelResponsePart>`."""

    def report(self, part: ResponsePart, /) -> None:
        """Hands one part to the consumer, after all those reported before it."""
        ...


@runtime_checkable
class DrainingProgress(Progress, Protocol):
    """A progress whose consumer may be slower than the provider, and that lets the provider wait for it.

    A provider asks once with `isinstance` whether its progress is one. One that never waits still works: what its
    consumer has not taken yet is kept, up to a limit of the host.
    """

    async def drain(self) -> None:
        """Returns at once while the consumer keeps up; otherwise when it has caught up."""
        ...


@runtime_checkable
class FinishingProgress(Progress, Protocol):
    """A progress that also takes how the answer ended: finish reason, usage, the upstream's id of the response.

    VS Code's API has no place for that. A provider that knows it asks with `isinstance` whether its progress is one;
    a provider that does not know it, or does not ask, still works.
    """

    def finish(self, finish: Finish, /) -> None:
        """Takes how the answer ended; called once, after the last part.

        A provider whose answer failed calls it before it raises, with the error in `finish.error`. After a
        cancellation it is not called. When it is called more than once, as by a provider that asks two models for one
        answer, the last call counts.

        Raises:
            TypeError: `finish` is not a :class:`~partstream.outputs.Finish`.
        """
        ...


class LanguageModelChatProvider(ABC):
    """Offers models and answers requests to them; stands for `vscode.LanguageModelChatProvider`.

    Attributes:
        on_did_change_language_model_chat_information: Subscribes a listener to changes of the model list, or None
            when the list never changes. Never fired from inside
            :meth:`provide_language_model_chat_information`: the host would ask again.
    """

    on_did_change_language_model_chat_information: Event[None] | None = None

    @abstractmethod
    async def provide_language_model_chat_information(
        self, silent: bool, token: CancellationToken
    ) -> Sequence[LanguageModelChatInformation]:
        """Lists the models.

        Args:
            silent: Whether the person must not be asked for anything (a key, ...).
            token: Cancelled when nobody waits for the list any more.
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
        """Answers a request: reports the parts in the order of generation and returns when the answer is whole.

        After `token` is cancelled nothing more is reported, and the method returns at once without an error.

        Raises:
            LanguageModelError: The answer could not be given, or not to its end; parts already reported stay valid.
        """

    @abstractmethod
    async def provide_token_count(
        self, model: LanguageModelChatInformation, text: str | ChatMessage, token: CancellationToken
    ) -> int:
        """Counts the tokens that `text` takes in a prompt of `model`."""
