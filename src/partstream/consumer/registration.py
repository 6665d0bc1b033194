"""One provider under its vendor: lists the provider's models and starts requests.

Knows neither the other providers nor the object that a consumer sees as a model.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Final

from partstream.codec.checks import Expectation, check, instance_of, optional, sequence_of
from partstream.consumer.response import LanguageModelChatResponse
from partstream.consumer.running_request import RunningRequest, as_language_model_error
from partstream.errors import CallerError, LanguageModelError, UnknownModelError
from partstream.lm.cancellation import CancellationToken, CancellationTokenSource
from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.lm.provider import LanguageModelChatInformation
from partstream.runtime.progress import defined_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.consumer.settings import ConsumerSettings
    from partstream.lm.provider import LanguageModelChatProvider, Progress

__all__ = ["Registration"]


class Registration:
    """A provider under its vendor.

    Args:
        vendor: The vendor.
        provider: The provider.
        settings: The host's decisions.
        running: The running requests by task; the registration adds its own.

    Attributes:
        vendor: The vendor.
        provider: The provider.
        error: The error of the last listing, or None if it succeeded.
    """

    def __init__(
        self,
        vendor: str,
        provider: LanguageModelChatProvider,
        settings: ConsumerSettings,
        running: dict[asyncio.Task[None], RunningRequest],
    ) -> None:
        self.vendor = vendor
        self.provider = provider
        self.error: Exception | None = None
        self._settings = settings
        self._disposed = False
        self._listing = asyncio.Lock()
        self._running = running

    def dispose(self) -> None:
        """Refuses new requests from now on; running requests continue."""
        self._disposed = True

    async def list_models(self) -> Sequence[LanguageModelChatInformation]:
        """Asks the provider for its models, one call at a time as VS Code does; empty if the provider fails.

        A failure is reported and kept as :attr:`error`.
        """
        try:
            async with self._listing:
                models = await self._ask_for_models()
        except Exception as error:
            self.error = error
            self._settings.on_provider_error(self.vendor, error)
            return ()
        self.error = None
        return models

    def send_request(
        self,
        information: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        token: CancellationToken | None,
    ) -> LanguageModelChatResponse:
        """Calls the provider and returns the response, still to come; see :meth:`LanguageModelChat.send_request`."""
        self._require_registered(information.id)
        sent = sequence_of("messages", messages, ChatMessage, "a ChatMessage")
        check("options", options, _OPTIONS)
        check("token", token, _TOKEN)
        request = RunningRequest(self.vendor, information.id, (tool.name for tool in options.tools), self._settings)

        async def provide(progress: Progress, provider_token: CancellationToken) -> None:
            await self.provider.provide_language_model_chat_response(
                information, sent, options, progress, provider_token
            )

        task = request.start(provide, token)
        if task is not None:
            self._running[task] = request
            task.add_done_callback(self._running.pop)
        return LanguageModelChatResponse(request)

    async def count_tokens(
        self, information: LanguageModelChatInformation, text: str | ChatMessage, token: CancellationToken | None
    ) -> int:
        """Asks the provider for a token count; see :meth:`LanguageModelChat.count_tokens`."""
        self._require_registered(information.id)
        check("text", text, _COUNTED)
        try:
            return await self.provider.provide_token_count(
                information, text, CancellationTokenSource().token if token is None else token
            )
        except LanguageModelError:
            raise
        except Exception as error:
            raise as_language_model_error(error, self.vendor) from error

    async def _ask_for_models(self) -> tuple[LanguageModelChatInformation, ...]:
        seconds = self._settings.limits.list_seconds
        source = CancellationTokenSource()
        try:
            async with asyncio.timeout(seconds) as limit:
                listed = await self.provider.provide_language_model_chat_information(True, source.token)
        except TimeoutError as error:
            if not limit.expired():
                raise
            message = f"the provider of {self.vendor} did not list its models within {seconds:g} s"
            raise LanguageModelError(message) from error
        finally:
            source.cancel()
        place = defined_at(self.provider.provide_language_model_chat_information)
        where = f"the models of {self.vendor}" + ("" if place is None else f" ({place})")
        models = sequence_of(where, listed, LanguageModelChatInformation, "a LanguageModelChatInformation")
        twice = sorted(model_id for model_id, count in Counter(model.id for model in models).items() if count > 1)
        if twice:
            raise CallerError(
                f"the provider of {self.vendor} lists {', '.join(twice)} more than once, expected unique model ids"
            )
        return models

    def _require_registered(self, model_id: str) -> None:
        # Only the provider knows whether it still serves a model that left its list; without a provider, no model is.
        if self._disposed:
            raise UnknownModelError(model_id, ())


_OPTIONS: Final = instance_of(RequestOptions, "RequestOptions")
_TOKEN: Final = optional(instance_of(CancellationToken))
_COUNTED: Final = Expectation("a text (str) or a ChatMessage", lambda value: isinstance(value, str | ChatMessage))
