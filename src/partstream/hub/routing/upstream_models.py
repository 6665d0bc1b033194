"""What the providers behind the routes list: each is asked by itself, so that one that is silent holds up no other."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from partstream.errors import TimeoutPhase, UnknownModelError, UpstreamTimeoutError
from partstream.hub.directory import Route
from partstream.serving.models import ModelCatalogue

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from partstream.provider import LanguageModelChatInformation, LanguageModelChatProvider
    from partstream.serving.models import CataloguedModel

__all__ = ["UpstreamModels"]

_LIST_SECONDS: Final = 10.0
"""How long a list is waited for."""

_KEPT_SECONDS: Final = 300.0
"""How long a list is kept."""


class UpstreamModels:
    """The models of the providers that routes name.

    Args:
        providers: The providers by name.
    """

    def __init__(self, providers: Mapping[str, LanguageModelChatProvider]) -> None:
        self._lists = {name: ModelCatalogue({name: one}, (), _KEPT_SECONDS) for name, one in providers.items()}

    async def find(self, route: Route) -> CataloguedModel:
        """The model of an upstream.

        Raises:
            UnknownModelError: This worker has no provider of that name, or the provider no such model.
            UpstreamTimeoutError: Its list did not come in time.
            LanguageModelError: The provider could not list its models.
        """
        own = self._lists.get(route.provider)
        if own is None:
            raise UnknownModelError(f"{route.provider}/{route.model}", ())
        try:
            async with asyncio.timeout(_LIST_SECONDS):
                return await own.find(route.model)
        except TimeoutError:
            raise UpstreamTimeoutError(TimeoutPhase.FIRST_EVENT, _LIST_SECONDS) from None

    async def known(self, routes: Iterable[Route]) -> dict[tuple[str, str], LanguageModelChatInformation]:
        """What is known of upstreams, by provider and model; those are missing whose list cannot be had now."""
        wanted = {route.provider for route in routes} & self._lists.keys()
        lists = await asyncio.gather(*(self._list(name) for name in sorted(wanted)))
        return {(one.provider_name, one.information.id): one.information for models in lists for one in models}

    async def offering(self, model_id: str) -> tuple[Route, ...]:
        """The upstreams that a model has by its id alone: the first provider that offers it."""
        for name, models in zip(self._lists, await asyncio.gather(*map(self._list, self._lists)), strict=True):
            if any(one.information.id == model_id for one in models):
                return (Route(name, model_id),)
        return ()

    async def _list(self, name: str) -> tuple[CataloguedModel, ...]:
        try:
            async with asyncio.timeout(_LIST_SECONDS):
                return tuple((await self._lists[name].models()).values())
        except TimeoutError:
            return ()
