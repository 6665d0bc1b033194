"""The registry of providers, where a consumer finds its models; does not know how a request runs.

Source: `@types/vscode` 1.140, `vscode.lm`; as in VS Code, a provider that fails does not keep the others from
answering.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from partstream.codec.checks import Expectation, check
from partstream.consumer.language_model_chat import LanguageModelChat
from partstream.consumer.registration import Registration
from partstream.consumer.selector import selector_of
from partstream.consumer.settings import (
    ConsumerLimits,
    ConsumerSettings,
    ProviderErrorListener,
    ViolationListener,
    ViolationLog,
    log_provider_error,
)
from partstream.errors import DuplicateVendorError
from partstream.lm.cancellation import Disposable, Event, EventEmitter
from partstream.lm.contract import CheckMode
from partstream.lm.provider import LanguageModelChatProvider

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from partstream.consumer.running_request import RunningRequest
    from partstream.consumer.selector import LanguageModelChatSelector, SelectorFields

__all__ = ["LanguageModels"]

_DEFAULT_LIMITS = ConsumerLimits()


_METHODS: Final = tuple(LanguageModelChatProvider.__abstractmethods__)
_PROVIDER: Final = Expectation(
    "a LanguageModelChatProvider: an object, not its class",
    lambda value: not isinstance(value, type) and all(callable(getattr(value, name, None)) for name in _METHODS),
)
_VENDOR: Final = Expectation(
    "a name without blanks at either end",
    lambda value: isinstance(value, str) and value != "" and value == value.strip(),
)


class LanguageModels:
    """Providers by vendor, and the models that they offer; the counterpart of `vscode.lm`.

    Belongs to one event loop. `async with LanguageModels() as models:` cancels running requests at its end.

    Args:
        contract_mode: How to treat a part that breaks the contract. Lenient: the part is dropped; a call of an unknown
            tool passes, so that the consumer can tell the model. Strict: the provider and the consumer get a
            :class:`~partstream.errors.ContractViolationError`.
        on_violation: Called with the vendor, the model's id and every violation. By default, each rule that a provider
            breaks is logged once.
        on_provider_error: Called with the vendor and an error of its provider that no request can raise: a failed
            listing, an error after a cancellation, a provider that does not stop. By default, the error is logged.
        limits: How long to wait for providers.

    Example:
        >>> import asyncio
        >>> from partstream import LanguageModels, chat_model, user_request
        >>> @chat_model(name="Parrot")
        ... async def parrot(messages, options):
        ...     yield f"You said: {user_request(messages)}"
        >>> async def main():
        ...     async with LanguageModels() as models:
        ...         models.register_language_model_chat_provider("birds", parrot)
        ...         (model,) = await models.select_chat_models({"vendor": "birds"})
        ...         return await model.ask("Hello")
        >>> asyncio.run(main())
        'You said: Hello'
    """

    def __init__(
        self,
        *,
        contract_mode: CheckMode = CheckMode.LENIENT,
        on_violation: ViolationListener | None = None,
        on_provider_error: ProviderErrorListener = log_provider_error,
        limits: ConsumerLimits = _DEFAULT_LIMITS,
    ) -> None:
        self._settings = ConsumerSettings(contract_mode, on_violation or ViolationLog(), on_provider_error, limits)
        self._registrations: dict[str, Registration] = {}
        # The event loop holds tasks weakly: without this a request that nobody reads could vanish half-way.
        self._running: dict[asyncio.Task[None], RunningRequest] = {}
        self._changed: EventEmitter[None] = EventEmitter()

    @property
    def on_did_change_chat_models(self) -> Event[None]:
        """Fires when a provider is registered or unregistered, or announces that its models changed."""
        return self._changed.event

    @property
    def provider_errors(self) -> Mapping[str, Exception]:
        """The errors of the last listings by vendor, for the vendors whose last listing failed."""
        return {
            vendor: registration.error
            for vendor, registration in self._registrations.items()
            if registration.error is not None
        }

    def register_language_model_chat_provider(self, vendor: str, provider: LanguageModelChatProvider) -> Disposable:
        """Registers a provider under a vendor. The provider lists its models when a consumer selects models.

        Returns:
            A disposable that unregisters the provider; running requests continue to their end.

        Raises:
            DuplicateVendorError: The vendor already has a provider.
            InvalidArgumentError: The vendor is empty, or starts or ends with blanks; or the provider is no object with
                the methods of one.
        """
        check("vendor", vendor, _VENDOR)
        check("provider", provider, _PROVIDER)
        if vendor in self._registrations:
            raise DuplicateVendorError(vendor)
        registration = Registration(vendor, provider, self._settings, self._running)
        self._registrations[vendor] = registration
        subscribe = provider.on_did_change_language_model_chat_information
        subscription = None if subscribe is None else subscribe(self._changed.fire)

        def unregister() -> None:
            if subscription is not None:
                subscription.dispose()
            del self._registrations[vendor]
            registration.dispose()
            self._changed.fire(None)

        self._changed.fire(None)
        return Disposable(unregister)

    async def select_chat_models(
        self, selector: LanguageModelChatSelector | SelectorFields | None = None
    ) -> list[LanguageModelChat]:
        """Asks all providers for their models at the same time, and returns the models that match.

        A provider that fails hides no other provider: its error is reported and kept in :attr:`provider_errors`.

        Args:
            selector: The properties to match, as an object or a dict such as `{"vendor": "example"}`; None matches all
                models.

        Returns:
            The models in the order of registration, and within a provider in the provider's order.

        Raises:
            InvalidArgumentError: The selector has an unknown property, or one that is no text.
        """
        wanted = selector_of(selector)
        asked = [one for one in self._registrations.values() if wanted.matches_vendor(one.vendor)]
        lists = await asyncio.gather(*(registration.list_models() for registration in asked))
        return [
            LanguageModelChat(information, registration)
            for registration, models in zip(asked, lists, strict=True)
            for information in models
            if wanted.matches(information)
        ]

    async def aclose(self) -> None:
        """Cancels all running requests and waits, within the limits, until their providers have stopped."""
        await asyncio.gather(*(request.stop() for request in tuple(self._running.values())))

    async def __aenter__(self) -> LanguageModels:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()
