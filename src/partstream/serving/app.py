"""The ASGI application: any provider behind the wires that other programs speak.

::

    application = app(provider)  # uvicorn my_module:application
    application = app({"work": upstream, "own": provider}, ServingSettings(token=Secret("...")))
    starlette_app.mount("/llm", application)

One object serves any number of requests; what belongs to one request lives in one object of its own. Nothing of a
prompt and no key is logged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from secrets import token_hex
from typing import TYPE_CHECKING, Final, TypeAlias

from partstream.codec.checks import refuse
from partstream.codec.json_codec import dumps
from partstream.lm.provider import LanguageModelChatProvider
from partstream.protocols.protocol import loadable_protocols
from partstream.server.replies import json_headers
from partstream.serving.exchange import RequestHandler
from partstream.serving.owner_routes import MOST_BYTES, OwnerRoute, page_handler
from partstream.serving.requests import request_of
from partstream.serving.rules import ServerOverrides
from partstream.serving.settings import ServingSettings
from partstream.serving.sockets import SocketExchange
from partstream.serving.state import ServerState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from partstream.asgi import Receive, Scope, Send
    from partstream.capturing.last_answers import LastAnswers
    from partstream.lm.cancellation import Event
    from partstream.protocols.protocol import Protocol
    from partstream.serving.authentication import Caller
    from partstream.serving.lifetimes import Lifetime
    from partstream.serving.models import CataloguedModel
    from partstream.serving.observation import AnswerObservation, StartTrace
    from partstream.serving.owner_routes import OwnerHandler
    from partstream.serving.requests import RequestHead

__all__ = ["HEALTH", "READINESS", "Providers", "ServingApp", "app", "named_providers"]

Providers: TypeAlias = (
    LanguageModelChatProvider | Sequence[LanguageModelChatProvider] | Mapping[str, LanguageModelChatProvider]
)
"""One provider, several, or several by name."""

HEALTH: Final = "/healthz"
READINESS: Final = "/readyz"


def app(providers: Providers, settings: ServingSettings | None = None) -> ServingApp:
    """Makes the ASGI application that serves providers over every wire.

    Args:
        providers: One provider, several, or a mapping of names to providers. Where two offer a model of one id, that of
            the later provider is `name/id`.
        settings: The key, and the limits; without them nobody is asked for a key.

    Raises:
        InvalidArgumentError: There is no provider, or something else in its place.
    """
    return ServingApp(providers, settings or ServingSettings())


class ServingApp:
    """One raw ASGI application; see :func:`app`.

    Args:
        providers: As of :func:`app`.
        settings: The settings.
        protocols: The protocols that are spoken; None for all that read requests and write responses.
        rules: What this server does otherwise than others.

    Raises:
        InvalidArgumentError: There is no provider, or something else in its place.
    """

    def __init__(
        self,
        providers: Providers,
        settings: ServingSettings,
        protocols: Iterable[Protocol] | None = None,
        rules: ServerOverrides = ServerOverrides(),  # noqa: B008 - immutable
    ) -> None:
        spoken = loadable_protocols()[0].values() if protocols is None else protocols
        self._state = ServerState(named_providers(providers), settings, spoken, (HEALTH, READINESS), rules)

    @property
    def settings(self) -> ServingSettings:
        """The settings."""
        return self._state.settings

    @property
    def base_paths(self) -> dict[str, str]:
        """The path of a client's base URL for each protocol that is spoken."""
        return self._state.base_paths

    async def models(self) -> tuple[str, ...]:
        """The ids of the models that requests may name; those of a provider that fails are missing."""
        return tuple(await self._state.catalogue.models())

    async def models_of(self, caller: Caller) -> tuple[str, ...]:
        """The ids of the models that a caller may use."""
        return tuple(await self._state.models_of(caller))

    async def find_model(self, model_id: str, caller: Caller) -> CataloguedModel:
        """The model of an id that a caller may use.

        Raises:
            UnknownModelError: There is none.
            LanguageModelError: A provider that may offer it could not list its models.
        """
        return await self._state.find_model(model_id, caller)

    @property
    def open_answers(self) -> int:
        """How many answers run."""
        return self._state.open_answers

    @property
    def is_draining(self) -> bool:
        """Whether new answers are refused."""
        return self._state.is_draining

    @property
    def on_did_finish_answer(self) -> Event[AnswerObservation]:
        """Fires once for each request that asked for an answer, when its reply is over."""
        return self._state.on_did_finish_answer

    def add_page(self, path: str, page: Callable[[str], tuple[str, bytes]], *, is_open: bool = False) -> None:
        """Puts a page at a path, such as `/metrics`; it is read with `GET`, and with the key unless it is open.

        Args:
            path: The path, from its slash.
            page: Makes the page, given the header `accept` of the request: its content type and its bytes.
            is_open: Whether it is read without the key.
        """
        self.add_route("GET", path, page_handler(page), is_open=is_open)

    def add_route(
        self, method: str, path: str, handler: OwnerHandler, *, is_open: bool = False, most_bytes: int = MOST_BYTES
    ) -> None:
        """Puts a function at a path of the owner's, such as `/hub/v1/me`.

        Args:
            method: The HTTP method.
            path: The path, from its slash; it names nothing, and has no base path of a client before it.
            handler: Answers a request of a caller, whose key was checked.
            is_open: Whether it is called without a key; the caller is :data:`partstream.serving.authentication.NOBODY`.
            most_bytes: The largest body that it takes; a larger one is refused with 413.
        """
        self._state.owner_routes.add(method, path, OwnerRoute(handler, is_open, most_bytes))

    def add_lifetime(self, lifetime: Lifetime) -> None:
        """Starts something before the first request, and stops it after the last answer.

        Args:
            lifetime: It is started and stopped by the lifespan of ASGI.
        """
        self._state.lifetimes.add(lifetime)

    def trace_answers(self, start: StartTrace) -> None:
        """Traces every request for an answer from now on.

        Args:
            start: Starts the trace of a request.
        """
        self._state.start_trace = start

    def capture_answers(self, answers: LastAnswers) -> None:
        """Keeps what goes by of every answer from now on.

        Args:
            answers: Keeps it.
        """
        self._state.last_answers = answers

    def begin_drain(self) -> None:
        """Refuses new answers from now on, with 503 and `connection: close`; `/readyz` answers 503."""
        self._state.is_draining = True

    async def drain(self, seconds: float | None = None) -> None:
        """Refuses new answers, waits for those that run, then ends each of the rest with its wire's terminal event.

        Args:
            seconds: How long to wait; None for `drain_seconds` of the settings.
        """
        await self._state.drain(self.settings.drain_seconds if seconds is None else seconds)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one connection of ASGI: a request, a WebSocket, or the life of the application.

        Raises:
            ValueError: The server asks for something else.
        """
        kind = scope["type"]
        if kind == "http":
            await self._serve(request_of(scope, f"req_{token_hex(12)}"), receive, send)
        elif kind == "websocket":
            await self._serve_socket(scope, receive, send)
        elif kind == "lifespan":
            await self._live(receive, send)
        else:
            raise ValueError(f"scope['type']: got {kind!r}, expected 'http', 'websocket' or 'lifespan'")

    async def _live(self, receive: Receive, send: Send) -> None:
        """The life of the application: nothing is opened before the first request but what its owner has added.

        Servers end it after the last request (docs/wires/serving.md#shutdown-and-drain), so no answer is left to stop.
        """
        lifetimes = self._state.lifetimes
        while (await receive())["type"] == "lifespan.startup":
            try:
                await lifetimes.start()
            except Exception as error:
                await send({"type": "lifespan.startup.failed", "message": str(error)})
                raise
            await send({"type": "lifespan.startup.complete"})
        self.begin_drain()
        self._state.stop_answers()
        await lifetimes.stop()
        await send({"type": "lifespan.shutdown.complete"})

    async def _serve(self, request: RequestHead, receive: Receive, send: Send) -> None:
        if request.path in (HEALTH, READINESS):
            await self._tell_health(request, send)
            return
        state = self._state
        path = state.routes.meant_path(request.path) if state.rules.corrects_paths else request.path
        meant = replace(request, path=path)
        state.requests += 1
        try:
            await RequestHandler(state, meant, receive, send).serve()
        finally:
            state.requests -= 1

    async def _serve_socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        state, request = self._state, request_of(scope, f"req_{token_hex(12)}")
        meant = replace(request, path=state.routes.meant_path(request.path))
        state.requests += 1
        try:
            await SocketExchange(state, meant, scope, receive, send).serve()
        finally:
            state.requests -= 1

    async def _tell_health(self, request: RequestHead, send: Send) -> None:
        """`/healthz`: the process lives. `/readyz`: it takes new answers. Neither needs a key."""
        is_well = request.path == HEALTH or self._state.is_ready
        body = dumps({"status": "ok" if is_well else "draining" if self.is_draining else "starting"})
        said = (*json_headers(body), *self._state.request_id_headers(request.request_id))
        headers = [(name.encode(), value.encode()) for name, value in said]
        await send({"type": "http.response.start", "status": 200 if is_well else 503, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if request.method == "HEAD" else body})


def named_providers(providers: Providers) -> dict[str, LanguageModelChatProvider]:
    """The providers by name: of those without one, `provider`, then `provider-2`, ...

    Raises:
        InvalidArgumentError: There is no provider, or something else in its place.
    """
    if isinstance(providers, LanguageModelChatProvider):
        named = {"provider": providers}
    elif isinstance(providers, Mapping):
        named = dict(providers)
    elif isinstance(providers, Sequence):
        named = {"provider" if place == 1 else f"provider-{place}": one for place, one in enumerate(providers, 1)}
    else:
        refuse("providers", providers, "a provider, a sequence of providers, or a mapping of names to providers")
    for name, one in named.items():
        if not isinstance(one, LanguageModelChatProvider):
            refuse(f"providers[{name!r}]", one, "a LanguageModelChatProvider")
    if not named:
        refuse("providers", providers, "one provider at least")
    return named
