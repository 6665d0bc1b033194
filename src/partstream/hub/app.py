"""The one builder of a hub's application, for uvicorn, Ray and tests alike."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from partstream.arguments import refuse
from partstream.hub.admission import HubAdmission
from partstream.hub.api import add_hub_routes
from partstream.hub.authentication import HubAuthenticator
from partstream.hub.budgets.worker import HubWorker
from partstream.hub.hub import Hub, HubLife, HubSettings
from partstream.hub.page.routes import HubPage
from partstream.hub.policy.deciding import HubPolicy
from partstream.hub.policy.loading import loaded_policy
from partstream.hub.retention import Retention
from partstream.hub.routing.provider import ROUTES, RoutedProvider
from partstream.hub.shared_counts import SharedCounts
from partstream.protocols.protocol import loadable_protocols
from partstream.serving.app import ServingApp, named_providers
from partstream.serving.authentication import key_places
from partstream.serving.endpoints import endpoints_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from partstream.hub.store.store import HubStore
    from partstream.serving.app import Providers
    from partstream.serving.authentication import Caller, KeyPlace
    from partstream.serving.models import CataloguedModel

__all__ = ["hub_app"]


def hub_app(providers: Providers, store: HubStore, settings: HubSettings | None = None) -> ServingApp:
    """Makes the application of one worker of a hub.

    Its worker starts with the server, or with the first request where the server has no lifespan, and ends with it.

    Args:
        providers: The worker's own providers, as of :func:`partstream.serving.app.app`; routes name them.
        store: The hub's database, which from now on only this worker uses.
        settings: How the worker is set up.

    Raises:
        InvalidArgumentError: There is no provider, or something else in its place.
        PolicyUnusableError: The policy of the settings cannot be loaded.
    """
    settings = settings or HubSettings()
    worker = HubWorker(store, settings.journals, settings.worker)
    hub = Hub(worker, settings, HubLife(worker))
    named = named_providers(providers)
    if ROUTES in named:
        refuse("providers", ROUTES, f"names other than {ROUTES}, which is that of the routed models")
    routed = RoutedProvider(named, {}, may_use=hub.may_use)
    worker.on_did_change_directory(lambda directory: routed.set_routes(directory.routes))
    protocols = tuple(loadable_protocols()[0].values())
    places = key_places(endpoints_of(protocols).values())

    async def find_model(model_id: str, caller: Caller) -> CataloguedModel:
        return await application.find_model(model_id, caller)

    policy = _policy(settings, places, find_model)
    serving = replace(
        settings.serving,
        token=None,
        authenticate=HubAuthenticator(hub.directory, settings.clock, places),
        admission=HubAdmission(hub, policy),
    )
    application = ServingApp({ROUTES: routed, **named}, serving, protocols)
    application.add_lifetime(hub.life)
    if settings.token_ledger is not None:
        application.add_lifetime(SharedCounts(settings.token_ledger, worker.use_store))
    if policy is not None:
        application.add_lifetime(policy)
    application.add_lifetime(Retention(worker.use_store))
    add_hub_routes(application, hub)
    HubPage(store.another).add_to(application)
    return application


def _policy(
    settings: HubSettings,
    places: Iterable[KeyPlace],
    find_model: Callable[[str, Caller], Awaitable[CataloguedModel]],
) -> HubPolicy | None:
    if settings.policy is None:
        return None
    headers = (place.header for place in places)
    functions = loaded_policy(settings.policy)
    return HubPolicy(functions, settings.policy_seconds, settings.serving.body_bytes, headers, find_model)
