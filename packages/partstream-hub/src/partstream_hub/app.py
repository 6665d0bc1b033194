"""The one builder of a hub's application, for uvicorn, Ray and tests alike; and what a hub answers besides its models.

The routes say who a key belongs to and what is left of its budgets, and give a key for a code. Once an hour, kept
requests and answers are deleted that are older than the policy of their team wants.
"""

from __future__ import annotations
import asyncio
import logging
import math
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import refuse
from partstream.protocols.failures import FailureKind, ServedFailure
from partstream.protocols.protocol import loadable_protocols
from partstream.server.application import Providers, ServingApp, named_providers
from partstream.server.clients import Caller, key_places
from partstream.server.requests import RequestFailedError, RequestHead, endpoints_of, json_object
from partstream.server.settings import OwnerReply, OwnerRoute
from partstream_hub.admission import HubAdmission, budget_document
from partstream_hub.budgets import HubWorker
from partstream_hub.directory import Directory, Policy
from partstream_hub.hub import Hub, HubAuthenticator, HubSettings, code_digest, new_key, unreachable
from partstream_hub.page import HubPage
from partstream_hub.policy import HubPolicy, loaded_policy
from partstream_hub.routing import ROUTES, RoutedProvider
from partstream_hub.store.values import StoreError, StoreUnreachableError

if TYPE_CHECKING:
    from partstream_hub.store.store import HubStore

_logger = logging.getLogger("partstream.hub")

# ---- The application ----


def hub_app(providers: Providers, store: HubStore, settings: HubSettings | None = None) -> ServingApp:
    """Makes the application of one worker of a hub.

    Its worker starts with the server, or with the first request where the server has no lifespan, and ends with it.
    It alone uses the store from now on. Routes name the worker's own providers.

    Raises:
        InvalidArgumentError: There is no provider, or something else in its place.
        PolicyUnusableError: The policy of the settings cannot be loaded.
    """
    settings = settings or HubSettings()
    worker = HubWorker(store, settings.locks, settings.worker)
    hub = Hub(worker, settings)
    named = named_providers(providers)
    if ROUTES in named:
        refuse("providers", ROUTES, f"names other than {ROUTES}, which is that of the routed models")
    routed = RoutedProvider(named, {}, may_use=hub.may_use)
    worker.on_did_change_directory(lambda directory: routed.set_routes(directory.routes))
    protocols = tuple(loadable_protocols()[0].values())
    places = key_places(endpoints_of(protocols).values())

    policy = None
    if settings.policy is not None:
        policy = HubPolicy(
            loaded_policy(settings.policy),
            settings.policy_seconds,
            settings.serving.body_bytes,
            places,
            lambda model_id, caller: application.find_model(model_id, caller),  # noqa: PLW0108 - it is made below
        )
    serving = replace(
        settings.serving,
        token=None,
        authenticate=HubAuthenticator(hub.directory, settings.clock, places),
        admission=HubAdmission(hub, policy),
    )
    application = ServingApp({ROUTES: routed, **named}, serving, protocols)
    application.lifetimes.append(worker)
    if policy is not None:
        application.lifetimes.append(policy)
    application.lifetimes.append(Retention(worker.use_store))
    routes = _HubRoutes(application, hub)
    application.add_route("GET", ME, OwnerRoute(routes.me))
    application.add_route("POST", JOIN, OwnerRoute(routes.join, is_open=True, most_bytes=_MOST_BYTES))
    HubPage(store.another, read_seconds=settings.worker.read_seconds).add_to(application)
    return application


# ---- Routes ----

ME: Final = "/hub/v1/me"
JOIN: Final = "/hub/v1/join"
_NO_STORE: Final = ("cache-control", "no-store")
_LOOK_SECONDS: Final = 0.5  # how often the database is asked at most which codes there are
_MOST_JOINING: Final = 64  # the most tries of unknown codes that wait for that
_MOST_BYTES: Final = 4096
_KNOWN_SECONDS: Final = 5.0  # how long a new key waits until this worker knows it


class _HubRoutes:
    def __init__(self, application: ServingApp, hub: Hub) -> None:
        self._application = application
        self._hub = hub
        self._codes: set[bytes] = set()
        self._looked_at = -math.inf
        self._looking = asyncio.Lock()
        self._waiting = 0

    async def me(self, _request: RequestHead, _body: bytes, caller: Caller) -> OwnerReply:
        """Who asks, which models there are for him, and what is left of his budgets."""
        asking = self._hub.require(caller)
        person, key, rules = asking.person, asking.key, asking.rules
        windows = await self._store(lambda store: store.open_windows(rules)) if rules else {}
        said: dict[str, Any] = {
            "person": person.name,
            "team": person.team,
            "is_admin": person.is_admin,
            "key": {"id": key.id, "label": key.label, "expires_at": key.expires_at},
            "models": list(await self._application.models_for(caller)),
            "budgets": [budget_document(rule, windows[rule.id]) for rule in rules],
        }
        return OwnerReply.json(said, 200, _NO_STORE)

    async def join(self, _request: RequestHead, body: bytes, _caller: Caller) -> OwnerReply:
        """A key for a code, which is worth nothing afterwards. Every code that gives none looks the same."""
        code = json_object(body).get("code")
        digest = code_digest(code) if isinstance(code, str) else None
        if digest is None or not await self._takes(digest):
            raise _no_code()
        made = new_key()
        key = await self._store(lambda store: store.join(digest, made.id, made.digest))
        if key is None:
            raise _no_code()
        await self._until_known(key.id)
        said = {"key": made.secret.reveal(), "key_id": key.id, "person": key.person, "expires_at": key.expires_at}
        return OwnerReply.json(said, 200, _NO_STORE)

    async def _takes(self, digest: bytes) -> bool:
        """Whether there is a code now. It is forgotten by that: a second try of it waits for the next look.

        All unknown codes together cost a look now and then: no rate of strangers, which the person
        with the right link would have to share with them, guards the database.
        """
        loop = asyncio.get_running_loop()
        if digest not in self._codes:
            if self._waiting >= _MOST_JOINING:
                said = "too many join attempts now; try again"
                raise RequestFailedError(ServedFailure(FailureKind.OVERLOADED, said, retry_after=1.0))
            came = loop.time()
            self._waiting += 1
            try:
                async with self._looking:
                    if self._looked_at <= came:
                        await asyncio.sleep(self._looked_at + _LOOK_SECONDS - came)
                        begins = loop.time()
                        self._codes = await self._store(lambda store: store.join_codes())
                        self._looked_at = begins
            finally:
                self._waiting -= 1
        is_there = digest in self._codes
        self._codes.discard(digest)
        return is_there

    async def _until_known(self, key_id: str) -> None:
        """Waits until this worker knows a new key, and the others too: who gets a key uses it at once."""
        worker, known = self._hub.worker, asyncio.Event()
        listening = worker.on_did_change_directory(lambda _: known.set())
        try:
            async with asyncio.timeout(_KNOWN_SECONDS):
                while worker.directory is None or key_id not in worker.directory.keys:
                    await known.wait()
                    known.clear()
        except TimeoutError:
            return
        finally:
            listening.dispose()
        if worker.live_workers > 1:
            await asyncio.sleep(self._hub.settings.worker.heartbeat_seconds)

    async def _store(self, action: Callable[[HubStore], Any]) -> Any:
        try:
            return await self._hub.worker.use_store(action, self._hub.settings.worker.wait_seconds)
        except StoreUnreachableError as error:
            raise unreachable(error) from error


def _no_code() -> RequestFailedError:
    said = "the join code is wrong, was already used, or has expired; ask for a new one"
    return RequestFailedError(ServedFailure(FailureKind.FORBIDDEN, said))


# ---- Retention ----

_DAY: Final = 86_400.0
_PAUSE: Final = 3600.0
_WITHOUT_TEAM: Final = Policy()  # what holds for what was kept of people who have left their team


def forget_old(store: HubStore) -> int:
    """Deletes what has been kept for as long as each team wants; how many requests and answers that were."""
    directory, now = store.directory() or Directory(), store.time()
    forgotten = store.forget_contents_of(now - _WITHOUT_TEAM.content_days * _DAY, ())
    for team in directory.teams.values():
        forgotten += store.forget_contents_of(now - team.policy.content_days * _DAY, [team.name])
    return forgotten


class Retention:
    """Deletes what is old, once an hour, as long as a worker runs; the first time after one pause."""

    def __init__(self, use_store: Callable[[Callable[[HubStore], int]], Awaitable[int]], pause: float = _PAUSE) -> None:
        self._use_store = use_store
        self._pause = pause
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begins, with the application."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Ends; does nothing where no server has started it."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._pause)
            try:
                await self._use_store(forget_old)
            except StoreError as error:
                _logger.warning("what is kept of answers was not looked through: %s", error)
