"""The one builder of a hub's application, for uvicorn, Ray and tests alike; and what a hub answers besides its models.

The routes say who a key belongs to and what is left of its budgets, and give a key for a code. Once an hour, kept
requests and answers are deleted that are older than the policy of their team wants.

What an upstream tells one worker of tokens, all workers know a few seconds later: a worker exchanges new facts for
those of others through the database, in batches, beside the answers. While it is away, facts wait in bounded memory;
then the oldest are forgotten, which costs accuracy of estimates and nothing else.
"""

from __future__ import annotations
import asyncio
import logging
import math
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from msgspec import MsgspecError, convert, json

from partstream.codec.checks import refuse
from partstream.codec.json_codec import dumps
from partstream.protocols.failures import FailureKind, ServedFailure
from partstream.protocols.protocol import loadable_protocols
from partstream.server.application import Providers, ServingApp, named_providers
from partstream.server.clients import Caller, key_places
from partstream.server.requests import RequestFailedError, endpoints_of
from partstream.server.settings import OwnerReply, OwnerRequest
from partstream.tokens import records
from partstream_hub.admission import HubAdmission, budget_document
from partstream_hub.budgets import HubWorker
from partstream_hub.directory import Directory, Policy
from partstream_hub.hub import Background, Hub, HubAuthenticator, HubSettings, code_digest, new_key, unreachable
from partstream_hub.page import HubPage
from partstream_hub.policy import HubPolicy, loaded_policy
from partstream_hub.routing import ROUTES, RoutedProvider
from partstream_hub.store.rows import SERIES
from partstream_hub.store.values import LearnedBatch, LearnedRow, StoreError, StoreUnreachableError

if TYPE_CHECKING:
    from partstream.tokens.ledger import Ledger
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
            (place.header for place in places),
            lambda model_id, caller: application.find_model(model_id, caller),  # noqa: PLW0108 - it is made below
        )
    serving = replace(
        settings.serving,
        token=None,
        authenticate=HubAuthenticator(hub.directory, settings.clock, places),
        admission=HubAdmission(hub, policy),
    )
    application = ServingApp({ROUTES: routed, **named}, serving, protocols)
    application.add_lifetime(worker)
    if settings.token_ledger is not None:
        application.add_lifetime(SharedCounts(settings.token_ledger, worker.use_store))
    if policy is not None:
        application.add_lifetime(policy)
    application.add_lifetime(Retention(worker.use_store))
    routes = _HubRoutes(application, hub)
    application.add_route("GET", ME, routes.me)
    application.add_route("POST", JOIN, routes.join, is_open=True, most_bytes=_MOST_BYTES)
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

    async def me(self, _request: OwnerRequest, caller: Caller) -> OwnerReply:
        """Who asks, which models there are for him, and what is left of his budgets."""
        asking = self._hub.require(caller)
        person, key, rules = asking.person, asking.key, asking.directory.budgets_of(asking.key)
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

    async def join(self, request: OwnerRequest, _caller: Caller) -> OwnerReply:
        """A key for a code, which is worth nothing afterwards. Every code that gives none looks the same."""
        code = request.json().get("code")
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


# ---- What workers learn of tokens, as rows ----

FactKey: TypeAlias = tuple[str | bytes | int, ...]
"""What a fact is about: a later fact with the same key takes its place."""
_KINDS: Final[Mapping[str, type[Any]]] = {
    "count": records.CountFact,
    "total": records.TotalFact,
    SERIES: records.SampleFact,
    "limit": records.LimitFact,
    "refusal": records.RefusalFact,
}
_MOST: Final = 2.0**53  # the most of any number: beyond it a JSON number is not exact


def key_of(fact: records.Fact, place: int) -> FactKey:
    """What a fact is about; of a sample, its place among all samples of this worker, greater for a later one."""
    kind = next(kind for kind, made in _KINDS.items() if isinstance(fact, made))
    if isinstance(fact, records.SampleFact):
        return (kind, fact.family, place)
    tools = (fact.row.tools,) if isinstance(fact, records.TotalFact) else ()
    return (kind, *fact[:-1], *tools)  # the last is what is said of it


def row_of(fact: records.Fact, key: FactKey, worker: str) -> LearnedRow:
    """A fact as a row."""
    if isinstance(fact, records.SampleFact):
        text = f"{key[-1]!s:0>12}-{worker}"
    else:
        text = sha256(dumps([part.hex() if isinstance(part, bytes) else part for part in key])).hexdigest()[:32]
    return LearnedRow(text, str(key[0]), fact[0], json.encode(fact[1:]).decode())


def fact_of(row: LearnedRow) -> records.Fact | None:
    """The fact of a row; None for one that this version does not know, or that holds what cannot be."""
    try:
        said = [row.owner, *json.decode(row.value)]
        fact: records.Fact = convert(said, _KINDS[row.kind])
    except (KeyError, TypeError, MsgspecError):
        return None
    is_possible = all(0 <= one <= _MOST for one in _numbers(said))
    if isinstance(fact, records.SampleFact):
        is_possible = is_possible and fact.sample.ratio <= records.HIGHEST_FACTOR
    return fact if is_possible else None


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, float | int):
        yield value
    elif isinstance(value, list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _numbers(one)


# ---- The exchange of what they learn ----

_SECONDS: Final = 3.0  # between two exchanges
_MOST_WAITING: Final = 10_000
_MOST_AT_ONCE: Final = 1_000
_TAKEN_AT_ONCE: Final = 200  # the facts that are taken in one turn of the event loop: less than a millisecond of work
UseStore: TypeAlias = Callable[[Callable[["HubStore"], "_Exchanged"]], Awaitable["_Exchanged"]]
"""Runs something on the database in a thread."""
_Exchanged: TypeAlias = "tuple[LearnedBatch, list[records.Fact], dict[str, list[records.Fact]]]"


class SharedCounts(Background):
    """Keeps a ledger and those of the other workers alike, from :meth:`start` to :meth:`stop`, every few seconds."""

    def __init__(self, ledger: Ledger, use_store: UseStore, seconds: float = _SECONDS) -> None:
        self._ledger = ledger
        self._use_store = use_store
        self._seconds = seconds
        self._name = secrets.token_hex(8)
        self._place = 0
        self._since = 0
        self._waiting: OrderedDict[FactKey, records.Fact] = OrderedDict()

    async def start(self) -> None:
        """Listens to the ledger, and begins to exchange in the background."""
        self._ledger.tell = self.note
        await super().start()

    async def stop(self) -> None:
        """Ends the exchange; what was not exchanged stays in this worker's own ledger."""
        self._ledger.tell = None
        await super().stop()

    def note(self, fact: records.Fact) -> None:
        """Keeps a fact for the next exchange, instead of an older one about the same thing."""
        self._place += 1
        key = key_of(fact, self._place)
        self._waiting[key] = fact
        self._waiting.move_to_end(key)
        if len(self._waiting) > _MOST_WAITING:
            self._waiting.popitem(last=False)

    async def exchange(self) -> bool:
        """Sends what is new and takes what others have sent; whether there is more of it now. After a `StoreError`,
        what was to be sent waits for the next time."""
        told = [self._waiting.popitem(last=False) for _ in range(min(len(self._waiting), _MOST_AT_ONCE))]
        since, name = self._since, self._name

        def in_thread(store: HubStore) -> _Exchanged:
            batch = store.exchange_learned(name, [row_of(fact, key, name) for key, fact in told], since)
            facts = [fact for row in batch.rows if (fact := fact_of(row)) is not None]
            series = {owner: [one for row in rows if (one := fact_of(row))] for owner, rows in batch.series.items()}
            return batch, facts, series

        try:
            batch, facts, series = await self._use_store(in_thread)
        except BaseException:
            # What could not be sent waits before what is newer.
            newer, self._waiting = self._waiting, OrderedDict(told)
            self._waiting.update(newer)
            while len(self._waiting) > _MOST_WAITING:
                self._waiting.popitem(last=False)
            raise
        await self._take(facts, series)
        self._since = batch.batch
        return batch.has_more or bool(self._waiting)

    async def _take(self, facts: list[records.Fact], series: dict[str, list[records.Fact]]) -> None:
        for start in range(0, len(facts), _TAKEN_AT_ONCE):
            for fact in facts[start : start + _TAKEN_AT_ONCE]:
                if key_of(fact, 0) not in self._waiting:  # what was learned here since will be sent next
                    self._ledger.take(fact)
            await asyncio.sleep(0)
        for owner, samples in series.items():
            known = [one.sample for one in samples if isinstance(one, records.SampleFact)]
            waiting = [one for one in self._waiting.values() if isinstance(one, records.SampleFact)]
            own = [one.sample for one in waiting if one.family == owner]
            self._ledger.take_samples(owner, (*known, *own))
        if facts:
            self._ledger.flush()

    async def _run(self) -> None:
        said = ""
        while True:
            try:
                if await self.exchange():
                    continue
            except StoreUnreachableError:
                pass  # the worker's own heartbeat says so
            except StoreError as error:
                if said != str(error):  # once: it would be said every few seconds
                    said = str(error)
                    _logger.warning("what is learned of tokens is not shared: %s", error)
            await asyncio.sleep(self._seconds)


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


class Retention(Background):
    """Deletes what is old, once an hour, as long as a worker runs; the first time after one pause."""

    def __init__(self, use_store: Callable[[Callable[[HubStore], int]], Awaitable[int]], pause: float = _PAUSE) -> None:
        self._use_store = use_store
        self._pause = pause

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._pause)
            try:
                await self._use_store(forget_old)
            except StoreError as error:
                _logger.warning("what is kept of answers was not looked through: %s", error)
