"""What a hub answers beside its models: who a key belongs to and what is left of its budgets; a key for a code."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from partstream.hub.authentication import code_digest, new_key
from partstream.hub.directory import Owner, OwnerKind, RateLimits
from partstream.hub.rate_limits import RateGate, TooFast
from partstream.hub.refusals import budget_document, too_fast
from partstream.hub.store.errors import StoreUnreachableError
from partstream.protocols.failures import FailureKind, ServedFailure
from partstream.serving.failures import RequestFailedError
from partstream.serving.owner_routes import OwnerReply

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.hub.hub import Hub
    from partstream.hub.store.store import HubStore
    from partstream.serving.app import ServingApp
    from partstream.serving.authentication import Caller
    from partstream.serving.owner_routes import OwnerRequest

__all__ = ["JOIN", "ME", "add_hub_routes"]

ME: Final = "/hub/v1/me"
JOIN: Final = "/hub/v1/join"

_NO_STORE: Final = ("cache-control", "no-store")
_JOINING: Final = Owner(OwnerKind.TEAM, "joining")
_JOINS: Final = RateLimits(requests_per_minute=120, concurrent_answers=4)
"""How often strangers may try codes, each of which is asked of the database."""
_MOST_BYTES: Final = 4096
_KNOWN_SECONDS: Final = 5.0
"""How long a new key waits until this worker knows it."""


def add_hub_routes(application: ServingApp, hub: Hub) -> None:
    """Puts the hub's own routes into its application."""
    routes = _HubRoutes(application, hub)
    application.add_route("GET", ME, routes.me)
    application.add_route("POST", JOIN, routes.join, is_open=True, most_bytes=_MOST_BYTES)


class _HubRoutes:
    def __init__(self, application: ServingApp, hub: Hub) -> None:
        self._application = application
        self._hub = hub
        self._gate = RateGate()

    async def me(self, _request: OwnerRequest, caller: Caller) -> OwnerReply:
        """Who asks, which models there are for him, and what is left of his budgets."""
        asking = self._hub.require(caller)
        rules = asking.directory.budgets_of(asking.key)
        windows = await self._store(lambda store: store.open_windows(rules)) if rules else {}
        budgets = [budget_document(rule, windows[rule.id]) for rule in rules]
        said: dict[str, Any] = {
            "person": asking.person.name,
            "team": asking.person.team,
            "is_admin": asking.person.is_admin,
            "key": {"id": asking.key.id, "label": asking.key.label, "expires_at": asking.key.expires_at},
            "models": list(await self._application.models_of(caller)),
            "budgets": budgets,
        }
        return OwnerReply.json(said, 200, _NO_STORE)

    async def join(self, request: OwnerRequest, _caller: Caller) -> OwnerReply:
        """A key for a code, which is worth nothing afterwards. Every code that gives none looks the same."""
        code = request.json().get("code")
        digest = code_digest(code) if isinstance(code, str) else None
        if digest is None:
            raise _no_code()
        found = self._gate.enter([(_JOINING, _JOINS)], 0, 1, asyncio.get_running_loop().time())
        if isinstance(found, TooFast):
            raise too_fast(found, "again later")
        try:
            made = new_key()
            key = await self._store(lambda store: store.join(digest, made.id, made.digest))
        finally:
            found.end(0)
        if key is None:
            raise _no_code()
        await self._until_known(key.id)
        said = {"key": made.secret.reveal(), "key_id": key.id, "person": key.person, "expires_at": key.expires_at}
        return OwnerReply.json(said, 200, _NO_STORE)

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
            return await self._hub.worker.use_store(action)
        except StoreUnreachableError as error:
            failure = ServedFailure(
                FailureKind.OVERLOADED, "the hub's database cannot be reached; ask again", retry_after=error.retry_after
            )
            raise RequestFailedError(failure) from error


def _no_code() -> RequestFailedError:
    said = "got no code that is worth a key: it is wrong, was used already, or has expired; ask for a new one"
    return RequestFailedError(ServedFailure(FailureKind.FORBIDDEN, said))
