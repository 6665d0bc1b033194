"""A model as its consumer sees it; does not know how a request runs.

Source: `@types/vscode` 1.140, `LanguageModelChat`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Unpack

from partstream.consumer.plain_requests import Prompt, RequestFields, conversation_of, options_with
from partstream.lm.messages import RequestOptions

if TYPE_CHECKING:
    from partstream.consumer.registration import Registration
    from partstream.consumer.response import LanguageModelChatResponse
    from partstream.lm.cancellation import CancellationToken
    from partstream.lm.messages import ChatMessage
    from partstream.lm.provider import LanguageModelChatCapabilities, LanguageModelChatInformation

__all__ = ["LanguageModelChat"]

_NO_OPTIONS = RequestOptions()


@dataclass(frozen=True, slots=True)
class LanguageModelChat:
    """A model to send requests to; the counterpart of `vscode.LanguageModelChat`. Made by :class:`LanguageModels`.

    Attributes:
        information: The provider's information about the model.

    Example:
        >>> import asyncio
        >>> from partstream import chat_model, connect, user_request
        >>> @chat_model(name="Parrot")
        ... async def parrot(messages, options):
        ...     yield f"You said: {user_request(messages)}"
        >>> async def main():
        ...     async with connect(parrot) as model:
        ...         return model.name, model.max_input_tokens, await model.ask("Hello")
        >>> asyncio.run(main())
        ('Parrot', 128000, 'You said: Hello')
    """

    information: LanguageModelChatInformation
    _registration: Registration = field(repr=False)

    @property
    def vendor(self) -> str:
        """The vendor that the model's provider is registered under."""
        return self._registration.vendor

    @property
    def id(self) -> str:
        """The model's id, unique within the vendor."""
        return self.information.id

    @property
    def name(self) -> str:
        """The model's name for people."""
        return self.information.name

    @property
    def family(self) -> str:
        """The model's family."""
        return self.information.family

    @property
    def version(self) -> str:
        """The model's version within the family; opaque."""
        return self.information.version

    @property
    def max_input_tokens(self) -> int:
        """The most tokens that a prompt may hold."""
        return self.information.max_input_tokens

    @property
    def max_output_tokens(self) -> int:
        """The most tokens that an answer may hold."""
        return self.information.max_output_tokens

    @property
    def capabilities(self) -> LanguageModelChatCapabilities:
        """The model's capabilities."""
        return self.information.capabilities

    async def ask(
        self,
        prompt: Prompt,
        options: RequestOptions = _NO_OPTIONS,
        token: CancellationToken | None = None,
        **fields: Unpack[RequestFields],
    ) -> str:
        """Asks the model and returns the whole text of its answer. VS Code's API has no such method.

        Args:
            prompt: The user's text, or the whole conversation, oldest message first; a message may be a dict such as
                `{"role": "user", "content": "Hi"}`.
            options: The request's tools and other options.
            token: Ends the answer when cancelled; the method then returns the text until then.
            fields: Options as keywords, such as `temperature=0`; they win over those in `options`.

        Raises:
            UnknownModelError: The model's provider is no longer registered.
            UnknownKeywordError: There is no such option.
            CallerError: The conversation holds an object that is not a message.
            LanguageModelError: The provider failed.

        Example:
            >>> import asyncio
            >>> from partstream import chat_model, connect, user_request
            >>> @chat_model(name="Parrot")
            ... async def parrot(messages, options):
            ...     yield f"You said {user_request(messages)} at {options.model_options['temperature']}"
            >>> async def main():
            ...     async with connect(parrot) as model:
            ...         return await model.ask([{"role": "user", "content": "Hello"}], temperature=0)
            >>> asyncio.run(main())
            'You said Hello at 0'
        """
        async with self.stream(prompt, options, token, **fields) as response:
            return await response.read_text()

    def stream(
        self,
        prompt: Prompt,
        options: RequestOptions = _NO_OPTIONS,
        token: CancellationToken | None = None,
        **fields: Unpack[RequestFields],
    ) -> LanguageModelChatResponse:
        """Asks the model and returns the response, still to come: `async for part in model.stream("Hi")`.

        Does the same as VS Code's :meth:`send_request`, but without an `await`, and takes what :meth:`ask` takes.
        """
        chosen = options_with(options, fields, "LanguageModelChat.stream") if fields else options
        return self._registration.send_request(self.information, conversation_of(prompt), chosen, token)

    async def send_request(
        self,
        messages: Prompt,
        options: RequestOptions = _NO_OPTIONS,
        token: CancellationToken | None = None,
    ) -> LanguageModelChatResponse:
        """Sends a request to the model; the provider starts at once, whether or not somebody reads the response.

        Args:
            messages: The conversation, oldest message first; as in :meth:`ask`.
            options: The request's tools and other options.
            token: Ends the response when cancelled; if it is already cancelled, the provider is not called.

        Returns:
            The response, still to come. Reading it raises the errors that happen from now on; this method does not.

        Raises:
            UnknownModelError: The model's provider is no longer registered.
            CallerError: `messages` holds an object that is not a message.
        """
        return self.stream(messages, options, token)

    async def count_tokens(self, text: str | ChatMessage, token: CancellationToken | None = None) -> int:
        """Counts the tokens that `text` takes in a prompt for this model.

        Raises:
            UnknownModelError: The model's provider is no longer registered.
            LanguageModelError: The provider could not count; its own exception is the `__cause__`.
        """
        return await self._registration.count_tokens(self.information, text, token)
