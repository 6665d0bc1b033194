"""A model as its consumer sees it; knows nothing of how a request is run.

Source: `@types/vscode` 1.140, `LanguageModelChat`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from partstream.messages import ChatMessage, RequestOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.cancellation import CancellationToken
    from partstream.consumer.registration import Registration
    from partstream.consumer.response import LanguageModelChatResponse
    from partstream.provider import LanguageModelChatCapabilities, LanguageModelChatInformation

__all__ = ["LanguageModelChat"]

_NO_OPTIONS = RequestOptions()


@dataclass(frozen=True, slots=True)
class LanguageModelChat:
    """A model that can be asked; stands for `vscode.LanguageModelChat`. Made by :class:`LanguageModels`.

    Attributes:
        information: What its provider says about it.
    """

    information: LanguageModelChatInformation
    _registration: Registration = field(repr=False)

    @property
    def vendor(self) -> str:
        """The vendor under which its provider is registered."""
        return self._registration.vendor

    @property
    def id(self) -> str:
        """Its identifier, unique within the vendor."""
        return self.information.id

    @property
    def name(self) -> str:
        """What a person calls it."""
        return self.information.name

    @property
    def family(self) -> str:
        """Its family."""
        return self.information.family

    @property
    def version(self) -> str:
        """Its version within the family; opaque."""
        return self.information.version

    @property
    def max_input_tokens(self) -> int:
        """The most tokens a prompt may hold."""
        return self.information.max_input_tokens

    @property
    def max_output_tokens(self) -> int:
        """The most tokens an answer may hold."""
        return self.information.max_output_tokens

    @property
    def capabilities(self) -> LanguageModelChatCapabilities:
        """What it can do."""
        return self.information.capabilities

    async def ask(
        self,
        said: str | Sequence[ChatMessage],
        options: RequestOptions = _NO_OPTIONS,
        token: CancellationToken | None = None,
    ) -> str:
        """Asks the model and returns the whole text of its answer. VS Code's API has no such method.

        Args:
            said: What the user says, or the whole conversation, oldest message first.
            options: The tools and what else goes with the messages.
            token: Ends the answer when cancelled; the text is then what had come of it.

        Raises:
            UnknownModelError: The model's provider is not registered any more.
            CallerError: Something among the messages is not a message.
            LanguageModelError: The provider failed.
        """
        async with self.stream(said, options, token) as response:
            return await response.read_text()

    def stream(
        self,
        said: str | Sequence[ChatMessage],
        options: RequestOptions = _NO_OPTIONS,
        token: CancellationToken | None = None,
    ) -> LanguageModelChatResponse:
        """Asks the model and returns the response to come: `async for part in model.stream("Hi")`.

        The same as :meth:`send_request`, which is VS Code's, without an `await` and for a single text too.
        """
        messages = [ChatMessage.user(said)] if isinstance(said, str) else said
        return self._registration.send_request(self.information, messages, options, token)

    async def send_request(
        self,
        messages: Sequence[ChatMessage],
        options: RequestOptions = _NO_OPTIONS,
        token: CancellationToken | None = None,
    ) -> LanguageModelChatResponse:
        """Asks the model; the provider begins at once, whether or not the response is read.

        Args:
            messages: The conversation, oldest first.
            options: The tools and what else goes with the messages.
            token: Ends the response when cancelled; if it was cancelled before, the provider is not called.

        Returns:
            The response to come. What goes wrong from here on is raised from reading it, not from this method.

        Raises:
            UnknownModelError: The model's provider is not registered any more.
            CallerError: Something among `messages` is not a message.
        """
        return self.stream(messages, options, token)

    async def count_tokens(self, text: str | ChatMessage, token: CancellationToken | None = None) -> int:
        """Counts the tokens that `text` takes in a prompt of this model.

        Raises:
            UnknownModelError: The model's provider is not registered any more.
            LanguageModelError: The provider could not count; its own exception is the `__cause__`.
        """
        return await self._registration.count_tokens(self.information, text, token)
