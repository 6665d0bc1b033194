"""The ASGI application: serves any provider on the wires that other programs speak.

::

    application = app(provider)  # uvicorn my_module:application
    application = app({"work": upstream, "own": provider}, ServingSettings(token=Secret("...")))
    starlette_app.mount("/llm", application)

:class:`ServingApp` is one object for any number of requests. What belongs to one request lives in a
:class:`~partstream.server.handler.RequestHandler`, and what belongs to a WebSocket in a :class:`SocketExchange`. No
word of a prompt and no key is logged. Nothing is opened before the first request but the lifetimes that the owner has
added. Servers end the lifespan after the last request (docs/wires/serving.md#shutdown-and-drain); a server that drains
refuses new responses, and ends those that run too long with the terminal event of their wire.

The page at the address of a server shows its wires, its models, and how a client is set up. Programs probe this address
too: clients of one wire look for the words that its servers say there
(:attr:`partstream.protocols.protocol.Protocol.greeting`), and a request that does not ask for HTML gets them. The page
needs no key, because a browser has no place for one: without a key it names no model. It repeats nothing of the
request; the address that it shows comes from the browser.

A WebSocket carries requests one after another, and each is a turn, answered by the same handler as over HTTP. A task of
its own reads the socket, also while a response runs: that shows when the client leaves.
"""

from __future__ import annotations
import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from os import urandom
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.codec.checks import refuse
from partstream.codec.json_codec import JSONDecodeError, dumps, loads
from partstream.codec.system import LazyModule
from partstream.errors import PartstreamError
from partstream.lm.provider import LanguageModelChatProvider
from partstream.protocols.failures import FailureKind, ServedFailure
from partstream.protocols.protocol import Protocol, loadable_protocols
from partstream.protocols.serve import ResolvedReferences, SocketConversation, SocketTurn
from partstream.server import requests
from partstream.server import settings as serving
from partstream.server.clients import Caller
from partstream.server.handler import RequestHandler, ServerState
from partstream.server.replies import Head, json_headers

if TYPE_CHECKING:
    from partstream.pages import document as pages
    from partstream.server.tracing import StartTrace
else:
    pages = LazyModule("partstream.pages.document")

_logger = logging.getLogger("partstream.serving")

Providers: TypeAlias = (
    LanguageModelChatProvider | Sequence[LanguageModelChatProvider] | Mapping[str, LanguageModelChatProvider]
)
"""One provider, several, or several by name."""

HEALTH: Final = "/healthz"
READINESS: Final = "/readyz"
FRONT: Final = "/"


def app(providers: Providers, settings: serving.ServingSettings | None = None) -> ServingApp:
    """Makes the ASGI application that serves providers over every wire.

    Args:
        providers: One provider, several, or a mapping of names to providers. Where two offer a model of one id, that of
            the later provider is `name/id`.
        settings: The key, and the limits; without them the server asks for no key.

    Raises:
        InvalidArgumentError: There is no provider, or something else in its place.
    """
    return ServingApp(providers, settings or serving.ServingSettings())


class ServingApp(ServerState):
    """One raw ASGI application; see :func:`app`.

    Args:
        protocols: The protocols that are spoken; None for all that read requests and write responses.
        rules: How this server differs from others.
    """

    def __init__(
        self,
        providers: Providers,
        settings: serving.ServingSettings,
        protocols: Iterable[Protocol] | None = None,
        rules: serving.ServerOverrides = serving.ServerOverrides(),  # noqa: B008 - immutable
    ) -> None:
        spoken = loadable_protocols()[0].values() if protocols is None else protocols
        super().__init__(named_providers(providers), settings, spoken, (HEALTH, READINESS), rules)
        self.add_route("GET", FRONT, serving.OwnerRoute(self._show_front, is_open=True))

    def add_page(self, path: str, page: Callable[[str], tuple[str, bytes]], *, is_open: bool = False) -> None:
        """Puts a page at a path, such as `/metrics`, for owners of the server; it is read with `GET`, and with the key
        unless it is open. `page` makes it, given the header `accept` of the request: its content type and its bytes."""

        async def show(request: requests.RequestHead, _body: bytes, caller: Caller) -> serving.OwnerReply:
            if not caller.is_owner:
                said = "this page shows all users of this server, so only its admins may open it"
                raise requests.RequestFailedError(ServedFailure(FailureKind.FORBIDDEN, said))
            content_type, body = page(request.headers.get("accept", ""))
            return serving.OwnerReply(body, content_type)

        self.add_route("GET", path, serving.OwnerRoute(show, is_open))

    def add_route(self, method: str, path: str, route: serving.OwnerRoute) -> None:
        """Puts a route at a path of the owner's, such as `/hub/v1/me`; no model and no base path is in it."""
        self.owner_routes.setdefault(path, {})[method] = route

    async def stop(self) -> None:
        """Stops the lifetimes, each before those before it; the log says which of them fails."""
        for one in reversed(self.lifetimes):
            try:
                await one.stop()
            except Exception:
                _logger.exception("%s could not be stopped", type(one).__name__)

    def trace_answers(self, start: StartTrace) -> None:
        """Traces every request for a response from now on."""
        self.start_trace = start

    async def __call__(self, scope: requests.Scope, receive: requests.Receive, send: requests.Send) -> None:
        """Serves one connection of ASGI: a request, a WebSocket, or the life of the application.

        Raises:
            ValueError: The server asks for something else.
        """
        kind = scope["type"]
        if kind == "lifespan":
            await self._live(receive, send)
            return
        if kind not in {"http", "websocket"}:
            raise ValueError(f"scope['type']: got {kind!r}, expected 'http', 'websocket' or 'lifespan'")
        request = requests.request_of(scope, f"req_{urandom(12).hex()}")
        if request.method == "HEAD":
            request, send = request._replace(method="GET"), requests.without_body(send)
        if kind == "http" and request.path in (HEALTH, READINESS):
            await self._report_health(request, send)
            return
        if kind == "websocket" or self.rules.corrects_paths:
            path = self.routes.meant_path(request.path)
            request = request if path == request.path else request._replace(path=path)
        self.requests += 1
        try:
            if kind == "http":
                await RequestHandler(self, request, receive, send).serve()
            else:
                await SocketExchange(self, request, scope, receive, send).serve()
        finally:
            self.requests -= 1

    async def _live(self, receive: requests.Receive, send: requests.Send) -> None:
        while (await receive())["type"] == "lifespan.startup":
            try:
                for one in self.lifetimes:  # each after those before it
                    await one.start()
            except Exception as error:
                await send({"type": "lifespan.startup.failed", "message": str(error)})
                raise
            await send({"type": "lifespan.startup.complete"})
        self.is_draining = True
        self.stop_answers()
        await self.stop()
        await send({"type": "lifespan.shutdown.complete"})

    async def _report_health(self, request: requests.RequestHead, send: requests.Send) -> None:
        """`/healthz`: the process lives. `/readyz`: it takes new answers. Neither needs a key."""
        is_well = request.path == HEALTH or self.is_ready
        body = dumps({"status": "ok" if is_well else "draining" if self.is_draining else "starting"})
        headers = requests.encoded_headers((*json_headers(body), *self.reply_headers(request.request_id)))
        await send({"type": "http.response.start", "status": 200 if is_well else 503, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _show_front(self, request: requests.RequestHead, _body: bytes, _nobody: Caller) -> serving.OwnerReply:
        """The page at the address of the server, or the words that programs look for; for everybody."""
        headers = (*pages.HEADERS, pages.FRAMED, ("vary", "accept"))
        if "text/html" not in request.headers.get("accept", ""):
            greeting = next(filter(None, (one.greeting for one in self.protocols.values())), _TITLE).encode()
            return serving.OwnerReply(greeting, "text/plain; charset=utf-8", headers=headers)
        try:
            models = tuple(await self.models_for(self.authenticated(request.headers)))
        except requests.RequestFailedError:  # a stranger, who reads the page all the same
            models = None
        shown = ((self.protocols[name].shown_title, path) for name, path in self.base_paths.items())
        opened = ((path, methods.get("GET")) for path, methods in self.owner_routes.items())
        html = front_html(shown, models, ((path, one.title) for path, one in opened if one is not None and one.title))
        return serving.OwnerReply(html.encode(), pages.HTML, headers=headers)


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


# ---- WebSockets ----

_REFUSES: Final = "websocket.http.response"
"""The extension of ASGI by which a handshake is refused with a status of one's own."""
_NORMAL, _POLICY, _TOO_LARGE = 1000, 1008, 1009
"""Status codes of RFC 6455 section 7.4.1."""


class SocketExchange:
    """One WebSocket; `request` is its handshake, with the path that it means."""

    endpoint: requests.Endpoint
    caller: Caller
    conversation: SocketConversation

    def __init__(
        self,
        state: ServerState,
        request: requests.RequestHead,
        scope: requests.Scope,
        receive: requests.Receive,
        send: requests.Send,
    ) -> None:
        self.state = state
        self.request = request
        self.left = asyncio.Event()
        self._can_refuse = _REFUSES in (scope.get("extensions") or {})
        self._receive = receive
        self._send = requests.leaving(send)
        self._news = asyncio.Event()

    async def serve(self) -> None:
        """Accepts the socket, or refuses it, and answers its requests until it is closed."""
        request, state = self.request, self.state
        with suppress(requests.ClientLeftError):
            await self._receive()
            try:
                self.endpoint = state.routes.socket_at(request.path)
                state.check_room()
                self.caller = state.authenticated(request.headers)
                state.open_socket(self.caller)
            except PartstreamError as error:
                await self._refuse(error)
                return
            try:
                await self._converse()
            finally:
                state.close_socket(self.caller)

    async def _converse(self) -> None:
        request, state, socket = self.request, self.state, self.endpoint.reads.socket
        assert socket is not None  # noqa: S101 - the route has one
        self.conversation = socket(self.endpoint.request(request.path, {}, request.headers, request.query, "GET"))
        self.waiting, self._remembered = state.held_by(self.caller), state.held_by(self.caller)
        headers = state.reply_headers(request.request_id)
        await self._send({"type": "websocket.accept", "headers": requests.encoded_headers(headers)})
        reading = asyncio.get_running_loop().create_task(self._read())
        try:
            await self._answer()
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            self.waiting.hold(0)
            self._remembered.hold(0)

    async def _refuse(self, error: PartstreamError) -> None:
        if not self._can_refuse:
            await self._send({"type": "websocket.close", "code": _POLICY, "reason": ""})
            return
        request_id = self.request.request_id
        said = requests.refusal_of(error, self.state.routes.nearest(self.request.path).writes, request_id)
        body = dumps(said.body)
        headers = (*json_headers(body), *said.headers, *self.state.reply_headers(request_id))
        encoded = requests.encoded_headers(headers)
        await self._send({"type": "websocket.http.response.start", "status": said.status, "headers": encoded})
        await self._send({"type": "websocket.http.response.body", "body": body})

    async def _read(self) -> None:
        try:
            while (message := await self._receive())["type"] == "websocket.receive":
                # Nothing here holds the message while the next one is awaited.
                said = message.pop("text", None) or message.pop("bytes", None) or b""
                said = said.encode(errors="surrogatepass") if isinstance(said, str) else said
                if len(said) > self.state.settings.body_bytes:
                    self.left.set()  # nothing may be sent after the frame that closes
                    await self._send({"type": "websocket.close", "code": _TOO_LARGE, "reason": ""})
                    return
                await self.say(self._heard(said))
                self._news.set()
                del said
        except requests.ClientLeftError:
            return
        finally:
            self.left.set()
            self._news.set()

    def _heard(self, message: bytes) -> Iterable[str]:
        """Takes a message; returns what is said to it at once."""
        is_large = requests.is_large(message)
        try:
            if is_large:  # kept as it came until its turn
                self.waiting.hold(self.waiting.size + len(message))
            answers = self.conversation.receive(message, is_large=is_large)
            if is_large and answers:  # it does not wait
                self.waiting.hold(self.waiting.size - len(message))
        except requests.RequestFailedError as error:
            refused = self.endpoint.writes.failed(error.failure)
            return self.conversation.refused_at_once(refused.status, refused.body)
        return answers

    async def say(self, messages: Iterable[str]) -> None:
        """Sends messages."""
        try:
            for message in messages:
                await self._send({"type": "websocket.send", "text": message})
        except requests.ClientLeftError:
            self.left.set()  # the server reports it here first: requests that wait have no client
            raise

    async def _answer(self) -> None:
        conversation = self.conversation
        ends_at = asyncio.get_running_loop().time() + self.state.settings.socket_seconds
        while not self.left.is_set():
            if (asked := conversation.next_turn()) is not None:
                await _Turn(self, asked).serve()
                try:
                    self._remembered.hold(conversation.remembered_bytes)
                except requests.RequestFailedError:  # what a later request continues is not found then
                    conversation.forget()
                    self._remembered.hold(0)
                continue
            self._news.clear()
            try:
                async with asyncio.timeout_at(ends_at):
                    await self._news.wait()
            except TimeoutError:
                await self.say(conversation.too_old())
                await self._send({"type": "websocket.close", "code": _NORMAL, "reason": ""})
                return


class _Turn(RequestHandler):
    """One request of a socket, whose reply goes out as messages; its head has no meaning there but for its status."""

    _is_answer = True
    _is_refused = False
    _status = 0
    _failure = b""

    def __init__(self, socket: SocketExchange, asked: SocketTurn | bytes) -> None:
        request = socket.request._replace(request_id=f"req_{urandom(12).hex()}")
        super().__init__(socket.state, request, _no_message, _no_message)
        self.endpoint, self.caller, self.recall = socket.endpoint, socket.caller, socket.conversation.recall
        self._socket = socket
        self._conversation = socket.conversation
        self._turn = asked

    async def _dispatch(self) -> None:
        asked, conversation, waiting = self._turn, self._conversation, self._socket.waiting
        try:
            self.begin(self.endpoint.path)
            if isinstance(asked, bytes):
                self.size = len(asked)
                try:
                    await self.enter_admission(self.size)
                    asked = conversation.opened(await self.parsed(asked))
                finally:
                    waiting.hold(waiting.size - self.size)
            self.size = self.size or asked.size
            await self.enter_admission(None)
            await self.answer(asked.request, generates=asked.generates)
        finally:
            self.leave_admission()
        if not self._is_refused:
            ended = conversation.ended, self.earlier or ResolvedReferences(), self.stored
            await self._socket.say(await self.apart(*ended))

    async def _refuse(self, error: Exception) -> None:
        said = requests.refusal_of(error, self.endpoint.writes, self._request.request_id)
        self.observe_unanswered(error, said.status)
        await self._socket.say(self._conversation.refused(said.status, said.body))

    async def client_leaves(self) -> None:
        """Returns when the socket is closed."""
        await self._socket.left.wait()

    async def deliver(self, head: Head | None, data: bytes, last: bool) -> None:
        """Sends the next bytes as messages."""
        if head is not None:
            self._status = head.status
        if self._socket.left.is_set():
            raise requests.ClientLeftError("the client left before its reply was whole")
        await self._socket.say(self._replies(data, last=last))

    def _replies(self, data: bytes, *, last: bool) -> Iterable[str]:
        if self._status < 400:
            return self._conversation.messages(data)
        self._failure += data
        if not last:
            return ()
        self._is_refused = True
        with suppress(JSONDecodeError):
            if isinstance(document := loads(self._failure), dict) and isinstance(document.get("error"), dict):
                return self._conversation.refused(self._status, document)
        # An upstream may say it in another form.
        said = {"message": self._failure.decode(errors="replace")}
        return self._conversation.refused(self._status, {"error": said})


async def _no_message(*_: object) -> Any:
    raise AssertionError("the messages of a socket are read and sent by its exchange")


# ---- The page at the address of a server ----

SHOWN_CLIENTS: Final = ("codex", "claude", "opencode", "copilot-cli", "qwen-code")
_MOST_MODELS: Final = 100
_TITLE: Final = "Partstream is running"
_ROOT: Final = "<span data-root></span>"


def front_html(
    wires: Iterable[tuple[str, str]], models: Sequence[str] | None, links: Iterable[tuple[str, str]] = ()
) -> str:
    """The page: of each wire the title for people and the path of a client's base URL, the ids of the models that the
    reader may use, None for one without a key, and the paths and titles of further pages."""
    text, titles = pages.text, dict[str, list[str]]()
    for title, path in wires:
        titles.setdefault(path, []).append(title)
    urls = "".join(
        f"<dt><code>{_ROOT}{text(path)}</code></dt><dd>{text(', '.join(names))}</dd>" for path, names in titles.items()
    )
    commands = "".join(f"<li><code>partstream connect {name} --url {_ROOT}</code></li>" for name in SHOWN_CLIENTS)
    if models is None:
        shown = "<p>Only clients with a key of this server see its models.</p>"
    elif not models:
        shown = "<p>None.</p>"
    else:
        more = f"<p>and {len(models) - _MOST_MODELS:,} more</p>" if len(models) > _MOST_MODELS else ""
        items = "".join(f"<li><code>{text(one)}</code></li>" for one in models[:_MOST_MODELS])
        shown = f'<ul class="models">{items}</ul>{more}'
    ways = "".join(f'<li><a href="{text(path.removeprefix("/"))}">{text(title)}</a></li>' for path, title in links)
    body = (
        f"<main><h1>This server is running</h1>\n"
        "<p>This server answers the clients of each protocol below with the models that it serves.</p>\n"
        "<noscript><p>The addresses follow that of this page.</p></noscript>\n"
        f"<h2>Models</h2>\n{shown}\n"
        f"<h2>Base URLs of clients</h2>\n<dl>{urls}</dl>\n"
        f'<h2>Set up a client</h2>\n<ul class="commands">{commands}</ul>\n'
        "<p><code>partstream connect --list</code> names all clients. With <code>--write</code>, a command writes the "
        "settings into the client's own file.</p>\n"
        f"{f'<h2>Pages</h2><ul>{ways}</ul>' if ways else ''}</main>"
    )
    style, script = (pages.resource("partstream.server", f"front.{kind}") for kind in ("css", "js"))
    return pages.document(_TITLE, body, pages.Hashes(), styles=(style,), scripts=(script,))
