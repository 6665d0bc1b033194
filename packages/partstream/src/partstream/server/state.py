"""What all requests of one server share: routes, models, callers, and the responses that run.

:class:`ServerState` is made once for each application. It finds the caller by the headers, refuses a request while the
server drains or is full, counts the responses that run, and reports each one to all who count responses.

:class:`AnswerMemory` is what the server remembers of its responses. A request may refer to an earlier response, or to
items of it: what a socket itself remembers comes first, then the store. A response that is stored is sent with its end
held back until the store has it, because the next request may name it and another process may get that request. A
response that cannot be stored reaches its client all the same.

:class:`OwnerRoutes` are the paths that the owner of a server adds to those of the protocols: pages, and functions.
"""

from __future__ import annotations
import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from partstream.codec.json_codec import dumps
from partstream.codec.values import dataclass, field, replace
from partstream.conversation.provider_state import ThinkingMemory
from partstream.lm.cancellation import Disposable, EventEmitter
from partstream.protocols.failures import FailureKind, ServedFailure
from partstream.protocols.serve import RequestReferences, ResolvedReferences, ServedState, StoredAnswer, WireRequest
from partstream.server import requests
from partstream.server.clients import Caller, TokenAuthenticator, key_places, machine_token, nobody_in_particular
from partstream.server.dropped import UNSAID_HEADER, DroppedLog
from partstream.server.models import CataloguedModel, ModelCatalogue
from partstream.server.origins import AllowedOrigins
from partstream.server.replies import RecordingReplySink, ReplySink
from partstream.server.settings import Lifetimes
from partstream.upstream.forwarding import SEALING_HEADER

if TYPE_CHECKING:
    from pathlib import Path

    from partstream.lm.provider import LanguageModelChatProvider
    from partstream.protocols.protocol import Protocol
    from partstream.server.answer import ProviderCall
    from partstream.server.settings import AnswerObservation, AnswerTrace, ServerOverrides, ServingSettings, StartTrace
    from partstream.server.stored_answers import SQLiteAnswers
    from partstream.upstream.context import TapSource

_logger = logging.getLogger("partstream.serving")

_RETRY_SECONDS: Final = 1.0
_CHALLENGE: Final = ("www-authenticate", "Bearer")


class ServerState:
    """What all requests of one server share.

    Args:
        providers: The providers by name.
        settings: The settings.
        protocols: The protocols that are spoken.
        pages: The paths that the server has beside those of the protocols.
        rules: How it differs from others.

    Attributes:
        base_paths: The path of a client's base URL for each protocol; the first, where it has several.
        memory: What it remembers of its responses.
        thinking: The state of thinking that clients of some wires cannot return.
        dropped: Logs the fields of requests that reach no model.
        unsaid: Logs the fields of answers that no client gets.
        origins: The origins whose pages may read replies; None for none.
        requests: How many requests are being read or answered.
        is_draining: Whether new responses are refused.
        owner_routes: The owner's own routes.
        lifetimes: What the owner runs beside the requests.
    """

    def __init__(
        self,
        providers: Mapping[str, LanguageModelChatProvider],
        settings: ServingSettings,
        protocols: Iterable[Protocol],
        pages: Iterable[str],
        rules: ServerOverrides,
    ) -> None:
        endpoints = requests.endpoints_of(protocols)
        writers = [one.writes for one in endpoints.values()]
        self.settings = settings
        self.rules = rules
        self.routes = requests.Routes(endpoints, pages)
        self.base_paths: dict[str, str] = {}
        for one in endpoints.values():
            self.base_paths.setdefault(one.protocol.name, one.base_path)
        aliases = (alias for one in writers for alias in one.aliases)
        self.catalogue = ModelCatalogue(providers, aliases, settings.models_seconds)
        self.memory = AnswerMemory(settings.store, installation_secret(settings.state_folder))
        self.thinking = ThinkingMemory(settings.thinking_bytes)
        self.dropped, self.unsaid = DroppedLog(), DroppedLog(UNSAID_HEADER)
        self.origins = AllowedOrigins(settings.allow_origins) if settings.allow_origins else None
        self._authenticate = settings.authenticate or nobody_in_particular
        if settings.authenticate is None and settings.token is not None:
            self._authenticate = TokenAuthenticator(settings.token, key_places(endpoints.values()))
        self._finished: EventEmitter[AnswerObservation] = EventEmitter()
        self.requests = 0
        self.is_draining = False
        self.owner_routes = OwnerRoutes()
        self.lifetimes = Lifetimes()
        self.start_trace: StartTrace | None = None
        self.taps: TapSource | None = None
        self._id_headers = tuple(dict.fromkeys(("x-request-id", *(one.request_id_header for one in writers))))
        self._answers: set[ProviderCall] = set()
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def is_ready(self) -> bool:
        """Whether new answers are taken: the server is not stopped, and it can decide who may have them."""
        admission = self.settings.admission
        return not self.is_draining and (admission is None or admission.is_ready)

    @property
    def open_answers(self) -> int:
        """How many answers run."""
        return len(self._answers)

    def remembering(self, endpoint: requests.Endpoint) -> ServedState | None:
        """What is remembered of the answers of an endpoint; None for nothing."""
        return endpoint.writes.state if self.rules.remembers else None

    def authenticated(self, headers: Mapping[str, str]) -> Caller:
        """The caller, by the headers of a request.

        Raises:
            RequestFailedError: No caller has such a key.
        """
        caller = self._authenticate(headers)
        if caller is None:
            said = (
                "got no key that this server knows, expected it as `Authorization: Bearer KEY` or as `x-api-key: KEY`"
            )
            raise requests.RequestFailedError(ServedFailure(FailureKind.UNAUTHENTICATED, said), _CHALLENGE)
        return caller

    async def models_of(self, caller: Caller) -> Mapping[str, CataloguedModel]:
        """The models by id that a caller may use."""
        models, admission = await self.catalogue.models(), self.settings.admission
        return models if admission is None else admission.models_of(caller, models)

    async def find_model(self, model_id: str, caller: Caller) -> CataloguedModel:
        """The model that a request of a caller names.

        Raises:
            UnknownModelError: No provider offers it, or the caller may not use it.
            LanguageModelError: A provider that may offer it could not list its models.
        """
        admission = self.settings.admission
        visible = None if admission is None else lambda models: admission.models_of(caller, models)
        return await self.catalogue.find(model_id, visible)

    def reply_headers(self, request_id: str) -> tuple[tuple[str, str], ...]:
        """The headers of every reply: in which clients look for the id of their request, those of every wire, and that
        this server seals state."""
        return (*((name, request_id) for name in self._id_headers), (SEALING_HEADER, "1"))

    def check_room(self) -> None:
        """Refuses a further response while the server is stopped or full.

        Raises:
            RequestFailedError: There is no room.
        """
        if self.is_draining:
            failure = ServedFailure(
                FailureKind.OVERLOADED, "the server is being stopped; ask again", retry_after=_RETRY_SECONDS
            )
            raise requests.RequestFailedError(failure, requests.CLOSE)
        if self.open_answers >= self.settings.concurrent_answers:
            raise self._crowded(f"{self.settings.concurrent_answers:,} answers run, the most; ask again")
        if self.requests > self.settings.concurrent_requests:
            raise self._crowded(f"{self.settings.concurrent_requests:,} requests are open, the most; ask again")

    @staticmethod
    def _crowded(message: str) -> requests.RequestFailedError:
        return requests.RequestFailedError(ServedFailure(FailureKind.OVERLOADED, message, retry_after=_RETRY_SECONDS))

    def admit(self, answer: ProviderCall) -> None:
        """Counts an answer among those that run.

        Raises:
            RequestFailedError: There is no room.
        """
        self.check_room()
        self._answers.add(answer)
        self._idle.clear()

    def dismiss(self, answer: ProviderCall) -> None:
        """Counts it no longer."""
        self._answers.discard(answer)
        if not self._answers:
            self._idle.set()

    def on_did_finish_answer(self, listener: Callable[[AnswerObservation], object], /) -> Disposable:
        """Calls a listener once for each request for a response; if one fails, the others are called still."""
        return self._finished.event(_unfailing(listener))

    def observe(self, observation: AnswerObservation, trace: AnswerTrace | None) -> None:
        """Reports a response that is over to all who count responses, and ends its trace."""
        self._finished.fire(observation)
        if trace is not None:
            _unfailing(trace.finish)(observation)

    async def drain(self, seconds: float) -> None:
        """Refuses new answers, waits for those that run, then ends each of the rest with its wire's terminal event."""
        self.is_draining = True
        try:
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        except TimeoutError:
            self.stop_answers()
            try:
                async with asyncio.timeout(self.settings.stop_seconds):  # for the last bytes to reach their clients
                    await self._idle.wait()
            except TimeoutError:
                _logger.warning("%d answers have not ended although the server is stopped", self.open_answers)

    def stop_answers(self) -> None:
        """Ends each answer that runs with its wire's terminal event."""
        for answer in tuple(self._answers):
            answer.stop()


def _unfailing(listener: Callable[[AnswerObservation], object]) -> Callable[[AnswerObservation], None]:
    """The same listener; the log says when it fails."""

    def tell(observation: AnswerObservation) -> None:
        try:
            listener(observation)
        except Exception:
            _logger.exception("a listener of finished answers failed")

    return tell


# ---- Earlier responses ----

T = TypeVar("T")

_SECRET_FILE: Final = "serve-signing-key"  # noqa: S105 - the name of a file
_SAVE_SECONDS: Final = 10.0
_FRAME_BYTES: Final = 16 * 1024 * 1024
"""The most bytes of a stream that are kept, in memory while the answer runs and in the store after it."""


def installation_secret(folder: Path | None) -> bytes:
    """The secret with which a server signs: one for all processes with the same folder, made when there is none yet.

    Without a folder, it is one of this process alone.

    Raises:
        UnusableTokenError: The file of the secret cannot be written or read.
    """
    if folder is None:
        return secrets.token_bytes(32)
    return machine_token(folder / _SECRET_FILE).secret.reveal().encode()


@dataclass(frozen=True, slots=True)
class Remembered:
    """A request with the earlier responses that it refers to.

    Attributes:
        asks: The request to the model.
        own: The request as it is stored.
        is_kept: Whether its response goes into the store.
        is_local: Whether its socket alone remembers what it continues.
    """

    asks: WireRequest
    own: WireRequest
    earlier: ResolvedReferences = field(default_factory=ResolvedReferences)
    is_kept: bool = False
    is_local: bool = False


class AnswerMemory:
    """What one server remembers of its responses.

    Attributes:
        store: The store; None to keep no response.
        secret: What the server signs with.
        running: The responses that run and will be stored, by their owner and id.
    """

    def __init__(self, store: SQLiteAnswers | None, secret: bytes) -> None:
        self.store = store
        self.secret = secret
        self.running: dict[tuple[str, str], RecordingReplySink] = {}

    async def remembered(
        self,
        state: ServedState | None,
        request: WireRequest,
        owner: str,
        recall: Callable[[RequestReferences], ResolvedReferences] | None = None,
    ) -> Remembered:
        """A request with what it refers to.

        Args:
            state: What the protocol remembers, or None.
            request: The request as it came.
            owner: The caller, whose responses alone are found.
            recall: What a socket itself remembers, which comes first.

        Raises:
            RequestFailedError: The store cannot be asked.
            PartstreamError: What the protocol raises for what is not known.
        """
        if state is None:
            return Remembered(request, request)
        state.refuse(request)
        wanted = state.wanted(request)
        earlier = ResolvedReferences() if recall is None else recall(wanted)
        is_local = bool(earlier.chain)
        if self.store is not None:
            earlier = await self._found(self.store, state, wanted, earlier, owner)
        is_kept = state.keeps(request) and self.store is not None
        joined = state.join(request if is_kept else state.unkept(request), earlier, self.secret)
        return Remembered(joined.asks, joined.own, earlier, is_kept, is_local)

    async def _found(
        self,
        store: SQLiteAnswers,
        state: ServedState,
        wanted: RequestReferences,
        earlier: ResolvedReferences,
        owner: str,
    ) -> ResolvedReferences:
        """Adds what the store has of the references that are missing."""
        if wanted.answer_id is not None and not earlier.chain:
            chain = await asked_of_store(store.chain(owner, wanted.answer_id))
            if chain and chain[0].previous_id is None:  # otherwise the beginning was deleted
                earlier = replace(earlier, chain=chain)
        missing = [one for one in wanted.item_ids if one not in earlier.items]
        if missing:
            items: dict[str, Mapping[str, Any]] = {}
            for answer in await asked_of_store(store.answers_with(owner, missing), "input"):
                items |= state.items(answer)
            found = {one: items[one] for one in missing if one in items}
            earlier = replace(earlier, items={**earlier.items, **found})
        return earlier

    def recorded(
        self, state: ServedState, remembered: Remembered, owner: str, sink: ReplySink, *, is_stream: bool
    ) -> RecordingReplySink:
        """A sink that keeps the response to a request."""

        async def keep(answer: StoredAnswer | None) -> None:
            if answer is None:
                return
            try:
                if remembered.is_kept and self.store is not None:
                    whole = state.whole(remembered.earlier.chain, answer) if remembered.is_local else answer
                    async with asyncio.timeout(_SAVE_SECONDS):
                        await self.store.save(owner, whole, list(state.items(whole)))
            except Exception as error:
                why = (
                    str(error) if isinstance(error, requests.StoreFailedError) else type(error).__name__
                )  # no word of a prompt
                _logger.error("an answer could not be stored: %s", why)  # noqa: TRY400 - a traceback may hold such words
            finally:
                self.running.pop((owner, answer.id), None)

        def begin(answer_id: str) -> None:
            if remembered.is_kept:
                self.running[owner, answer_id] = recorded

        recorded = RecordingReplySink(
            sink,
            state.record(_FRAME_BYTES),
            remembered.own,
            is_stream=is_stream,
            is_kept=remembered.is_kept,
            on_begin=begin,
            on_end=keep,
        )
        return recorded


async def asked_of_store(question: Awaitable[T], param: str = "previous_response_id") -> T:
    """The result of the store.

    Args:
        question: The call of the store.
        param: The field of the request that names what is looked for.

    Raises:
        RequestFailedError: It has too much to do, its file cannot be read, or a conversation is too long.
    """
    try:
        return await question
    except requests.ChainTooLargeError as error:
        raise requests.RequestFailedError(ServedFailure(FailureKind.CONTEXT_LENGTH, str(error), param)) from error
    except requests.StoreFailedError as error:
        _logger.error("the stored answers could not be asked: %s", error)  # noqa: TRY400
        said = "stored answers cannot be found now; ask again"
        raise requests.RequestFailedError(
            ServedFailure(FailureKind.OVERLOADED, said, retry_after=_RETRY_SECONDS)
        ) from error


# ---- The owner's routes ----

MOST_BYTES: Final = 64 * 1024
"""The largest body that a route of an owner takes by default."""


@dataclass(frozen=True, slots=True)
class OwnerRequest:
    """A request at a path of the owner's; the names of its headers are in lower case, and the key is in them."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    request_id: str

    def json(self) -> dict[str, Any]:
        """The JSON object of the body.

        Raises:
            RequestFailedError: It is none.
        """
        return requests.json_object(self.body)


@dataclass(frozen=True, slots=True)
class OwnerReply:
    """A reply to a request at a path of the owner's."""

    body: bytes
    content_type: str = "application/json"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()

    @classmethod
    def json(cls, value: Any, status: int = 200, *headers: tuple[str, str]) -> OwnerReply:
        """A JSON document."""
        return cls(dumps(value), status=status, headers=headers)


OwnerHandler: TypeAlias = "Callable[[OwnerRequest, Caller], Awaitable[OwnerReply]]"
"""Answers a request of a caller; raises :class:`partstream.server.requests.RequestFailedError` to refuse it."""


@dataclass(frozen=True, slots=True)
class OwnerRoute:
    """The route of one method at a path of the owner's: its handler, whether it needs no key (the caller is
    :data:`~partstream.server.clients.NOBODY` then), the largest body that it takes, and the words of the link to it on
    the page at the address of the server, "" for no link.
    """

    handler: OwnerHandler
    is_open: bool = False
    most_bytes: int = MOST_BYTES
    title: str = ""


class OwnerRoutes:
    """The routes that the owner of one server has added."""

    def __init__(self) -> None:
        self._routes: dict[str, dict[str, OwnerRoute]] = {}

    def add(self, method: str, path: str, route: OwnerRoute) -> None:
        """Puts a route at a path, in place of an earlier one for the same method."""
        self._routes.setdefault(path, {})[method] = route

    def links(self) -> Iterator[tuple[str, str]]:
        """The path and the title of each page that people find by a link."""
        for path, methods in self._routes.items():
            if "GET" in methods and methods["GET"].title:
                yield path, methods["GET"].title

    def find(self, method: str, path: str) -> OwnerRoute | None:
        """The route of a request; None where the owner has none at its path.

        Raises:
            NoRouteError: There is one, but not for this method.
        """
        there = self._routes.get(path) or self._routes.get(path.rstrip("/"))
        if there is None:
            return None
        if method not in there:
            raise requests.NoRouteError(f"got method {method}, expected {', '.join(there)}", tuple(there))
        return there[method]


def page_handler(make: Callable[[str], tuple[str, bytes]]) -> OwnerHandler:
    """Answers with a page, which is for owners of the server, and for every caller where no key is needed.

    `make` gets the header `accept` of the request and returns the content type and the bytes.
    """

    async def show(request: OwnerRequest, caller: Caller) -> OwnerReply:
        if not caller.is_owner:
            said = "this page is about all who ask this server, so it is for its admins"
            raise requests.RequestFailedError(ServedFailure(FailureKind.FORBIDDEN, said))
        content_type, body = make(request.headers.get("accept", ""))
        return OwnerReply(body, content_type)

    return show
