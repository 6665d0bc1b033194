"""What all requests of one server share: routes, models, who may ask, and the answers that run."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from partstream.conversation.provider_state import ThinkingMemory
from partstream.lm.cancellation import EventEmitter
from partstream.protocols.failures import FailureKind, ServedFailure
from partstream.serving.authentication import TokenAuthenticator, key_places, nobody_in_particular
from partstream.serving.endpoints import endpoints_of
from partstream.serving.failures import RequestFailedError
from partstream.serving.lifetimes import Lifetimes
from partstream.serving.memory import AnswerMemory, installation_secret
from partstream.serving.models import ModelCatalogue
from partstream.serving.owner_routes import OwnerRoutes
from partstream.serving.routes import Routes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from partstream.capturing.last_answers import LastAnswers
    from partstream.lm.cancellation import Disposable
    from partstream.lm.provider import LanguageModelChatProvider
    from partstream.protocols.protocol import Protocol
    from partstream.protocols.serve import ServedState
    from partstream.serving.answer import ProviderCall
    from partstream.serving.authentication import Authenticator, Caller
    from partstream.serving.endpoints import Endpoint
    from partstream.serving.models import CataloguedModel
    from partstream.serving.observation import AnswerObservation, AnswerTrace, StartTrace
    from partstream.serving.rules import ServerOverrides
    from partstream.serving.settings import ServingSettings

__all__ = ["ServerState"]


_logger = logging.getLogger("partstream.serving")

_RETRY_SECONDS: Final = 1.0
_CLOSE: Final = ("connection", "close")
_CHALLENGE: Final = ("www-authenticate", "Bearer")


class ServerState:
    """What all requests of one server share.

    Args:
        providers: The providers by name.
        settings: The settings.
        protocols: The protocols that are spoken.
        pages: The paths that the server has beside those of the protocols.
        rules: What it does otherwise than others.

    Attributes:
        settings: The settings.
        rules: What it does otherwise than others.
        routes: What stands at which path.
        base_paths: The path of a client's base URL for each protocol; the first, where it has several.
        catalogue: The models.
        memory: What it remembers of its answers.
        thinking: The state of thinking that clients of some wires cannot give back.
        requests: How many requests are being read or answered.
        is_draining: Whether new answers are refused.
        owner_routes: What the owner has put at further paths.
        lifetimes: What the owner runs beside the requests.
        start_trace: Starts the trace of a request for an answer, or None.
        last_answers: Keeps what goes by of the answers, or None.
    """

    def __init__(
        self,
        providers: Mapping[str, LanguageModelChatProvider],
        settings: ServingSettings,
        protocols: Iterable[Protocol],
        pages: Iterable[str],
        rules: ServerOverrides,
    ) -> None:
        endpoints = endpoints_of(protocols)
        corners = [one.writes for one in endpoints.values()]
        self.settings = settings
        self.rules = rules
        self.routes = Routes(endpoints, pages)
        self.base_paths: dict[str, str] = {}
        for one in endpoints.values():
            self.base_paths.setdefault(one.protocol.name, one.base_path)
        aliases = (alias for one in corners for alias in one.aliases)
        self.catalogue = ModelCatalogue(providers, aliases, settings.models_seconds)
        self.memory = AnswerMemory(settings.store, installation_secret(settings.state_folder))
        self.thinking = ThinkingMemory(settings.thinking_bytes)
        self._authenticate = _authenticator(settings, endpoints.values())
        self._finished: EventEmitter[AnswerObservation] = EventEmitter()
        self.requests = 0
        self.is_draining = False
        self.owner_routes = OwnerRoutes()
        self.lifetimes = Lifetimes()
        self.start_trace: StartTrace | None = None
        self.last_answers: LastAnswers | None = None
        self._id_headers = tuple(dict.fromkeys(("x-request-id", *(one.request_id_header for one in corners))))
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

    def remembering(self, endpoint: Endpoint) -> ServedState | None:
        """What is remembered of the answers of an endpoint; None for nothing."""
        return endpoint.writes.state if self.rules.remembers else None

    def authenticated(self, headers: Mapping[str, str]) -> Caller:
        """Who asks, by the headers of a request.

        Raises:
            RequestFailedError: Nobody who may.
        """
        caller = self._authenticate(headers)
        if caller is None:
            said = (
                "got no key that this server knows, expected it as `Authorization: Bearer KEY` or as `x-api-key: KEY`"
            )
            raise RequestFailedError(ServedFailure(FailureKind.UNAUTHENTICATED, said), _CHALLENGE)
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

    def request_id_headers(self, request_id: str) -> tuple[tuple[str, str], ...]:
        """The headers in which clients look for the id of their request: those of every wire."""
        return tuple((name, request_id) for name in self._id_headers)

    def check_room(self) -> None:
        """Refuses a further answer while the server is stopped, or has as many as it may.

        Raises:
            RequestFailedError: There is no room.
        """
        if self.is_draining:
            failure = ServedFailure(
                FailureKind.OVERLOADED, "the server is being stopped; ask again", retry_after=_RETRY_SECONDS
            )
            raise RequestFailedError(failure, _CLOSE)
        if self.open_answers >= self.settings.concurrent_answers:
            raise self._crowded(f"{self.settings.concurrent_answers:,} answers run, the most; ask again")
        if self.requests > self.settings.concurrent_requests:
            raise self._crowded(f"{self.settings.concurrent_requests:,} requests are open, the most; ask again")

    @staticmethod
    def _crowded(message: str) -> RequestFailedError:
        return RequestFailedError(ServedFailure(FailureKind.OVERLOADED, message, retry_after=_RETRY_SECONDS))

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
        """Tells a listener once of each request that asked for an answer; if one fails, the others are told."""
        return self._finished.event(_unfailing(listener))

    def observe(self, observation: AnswerObservation, trace: AnswerTrace | None) -> None:
        """Tells everybody who counts answers of one that is over, and ends its trace."""
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


def _authenticator(settings: ServingSettings, endpoints: Iterable[Endpoint]) -> Authenticator:
    if settings.authenticate is not None:
        return settings.authenticate
    return nobody_in_particular if settings.token is None else TokenAuthenticator(settings.token, key_places(endpoints))
