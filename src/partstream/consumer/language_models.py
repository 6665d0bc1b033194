"""The registry of providers, where a consumer finds its models; does not know how a request is run.

Source: `@types/vscode` 1.140, `vscode.lm`; what the real host does with a failing provider is that the others
still answer.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from partstream.consumer.language_model_chat import LanguageModelChat
from partstream.consumer.registration import Registration
from partstream.consumer.selector import LanguageModelChatSelector
from partstream.consumer.settings import (
    ConsumerLimits,
    ConsumerSettings,
    ProviderErrorListener,
    ViolationListener,
    ViolationLog,
    log_provider_error,
)
from partstream.contract.checker import CheckMode
from partstream.errors import CallerError, DuplicateVendorError
from partstream.events import Disposable, Event, EventEmitter

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from partstream.consumer.running_request import RunningRequest
    from partstream.provider import LanguageModelChatProvider

__all__ = ["LanguageModels"]

_ALL_MODELS = LanguageModelChatSelector()
_DEFAULT_LIMITS = ConsumerLimits()


class LanguageModels:
    """Providers by vendor, and the models they offer; stands for `vscode.lm`.

    Belongs to one event loop. As `async with LanguageModels() as models:` it stops what still runs at the end.

    Args:
        contract_mode: What becomes of a part that breaks the contract. Lenient: it is dropped; a call of a tool that
            does not exist is not, so that the model can be told. Strict: the provider and the consumer get a
            :class:`~partstream.errors.ContractViolationError`.
        on_violation: Called with the vendor, the model's id and every violation; without one, each rule that a provider
            breaks is logged once.
        on_provider_error: Called with the vendor and an error of its provider that no request can raise: a failed
            listing, an error after a cancellation, a provider that does not stop; logs it unless given.
        limits: How long providers are waited for.
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
        """Fires when a provider comes, goes, or says that its models changed."""
        return self._changed.event

    @property
    def provider_errors(self) -> Mapping[str, Exception]:
        """Why the last listing failed, by vendor; vendors whose listing went well are not in it."""
        return {
            vendor: registration.error
            for vendor, registration in self._registrations.items()
            if registration.error is not None
        }

    def register_language_model_chat_provider(self, vendor: str, provider: LanguageModelChatProvider) -> Disposable:
        """Makes the provider's models known; they are asked for when somebody selects models.

        Returns:
            What unregisters it; requests that run then go on to their end.

        Raises:
            DuplicateVendorError: The vendor has a provider already.
            CallerError: The vendor is empty or has blanks around it.
        """
        if not vendor or vendor != vendor.strip():
            raise CallerError(f"vendor: got {vendor!r}, expected a name without blanks around it")
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

    async def select_chat_models(self, selector: LanguageModelChatSelector | None = None) -> list[LanguageModelChat]:
        """Asks the providers for their models, all at once, and returns those that match.

        A provider that fails hides no other: its error is in :attr:`provider_errors` and is reported.

        Args:
            selector: What to look for; None for all models.

        Returns:
            The models in the order of registration, then in the provider's own.
        """
        wanted = _ALL_MODELS if selector is None else selector
        asked = [one for one in self._registrations.values() if wanted.matches_vendor(one.vendor)]
        lists = await asyncio.gather(*(registration.list_models() for registration in asked))
        return [
            LanguageModelChat(information, registration)
            for registration, models in zip(asked, lists, strict=True)
            for information in models
            if wanted.matches(information)
        ]

    async def aclose(self) -> None:
        """Cancels every request that runs and waits, within the limits, until their providers are gone."""
        await asyncio.gather(*(request.stop() for request in tuple(self._running.values())))

    async def __aenter__(self) -> LanguageModels:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()
