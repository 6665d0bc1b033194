"""One connection with one extension: which requests are allowed when, cancellation, and the end; knows no provider.

Requests run at the same time, each in its own task, and each gets exactly one response. The parts of an answer go
through :class:`StreamProgress` into the request's own stream of the outbox. A cancelled request gets its response at
once; its provider then has :data:`GRACE_SECONDS` to return before its task is cancelled too.
"""

from __future__ import annotations
import asyncio
import logging
import sys
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cached_property, partial
from inspect import isawaitable
from threading import get_ident
from typing import TYPE_CHECKING, Any, Final

from partstream._version import __version__
from partstream.codec.json_codec import dumps
from partstream.errors import CallerError, UnexpectedValueError
from partstream.lm.cancellation import CancellationTokenSource
from partstream.plugins import MissingPackageError
from partstream.runtime.progress import said_by
from partstream.upstream.context import LogLevel, logging_from
from partstream.vscode import methods, rpc
from partstream.vscode.failures import GroupSecrets, ProviderFailedError, end_forked, error_data, is_forked
from partstream.vscode.gateway import GatewaySurroundings, editor_settings
from partstream.vscode.host import ProviderHost
from partstream.vscode.recordings import Recordings, open_recordings

if TYPE_CHECKING:
    from partstream.lm.parts import ResponsePart
    from partstream.pages.document import Nonces
    from partstream.vscode import rpc_types as wire
    from partstream.vscode.rpc import ItemStream, Outbox, RequestId
    from partstream.vscode.window import Window


class StreamProgress:
    """A progress over one stream, for parts that keep the contract.

    It is a :class:`~partstream.lm.provider.DrainingProgress` and a :class:`~partstream.lm.provider.WaitingProgress`.

    Args:
        on_wait: Takes why the answer does not begin yet, and for how many seconds.
    """

    def __init__(self, stream: ItemStream, on_wait: Callable[[str, float], None]) -> None:
        self._stream = stream
        self._on_wait = on_wait
        self._loop = asyncio.get_running_loop()
        self._thread = get_ident()

    def report(self, part: ResponsePart) -> None:
        """Puts a part into the stream; a thread of the provider's own hands it to the event loop.

        Raises:
            TypeError: `part` is not a part, is a part for messages only, or holds a value that JSON cannot represent.
            BacklogError: The provider never waits for a slow reader.
        """
        item = dumps(methods.encode_response_part(part))
        if get_ident() != self._thread:
            self._loop.call_soon_threadsafe(self._put, item)
        # The parts of a request that was cancelled while its usage was counted have no reader.
        elif not self._stream.closed:
            self._stream.put(item)

    def _put(self, item: bytes) -> None:
        if not self._stream.closed:
            self._stream.put(item)

    def wait(self, reason: str, seconds: float) -> None:
        """Tells why the answer does not begin yet."""
        if not self._stream.closed:
            self._on_wait(reason, seconds)

    async def drain(self) -> None:
        """Waits until the reader has caught up; returns at once if it keeps up."""
        if not self._stream.is_full:
            return
        low: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def resume() -> None:
            if not low.done():
                low.set_result(None)

        self._stream.when_low(resume)
        await low


GRACE_SECONDS: Final = 1.0
"""The seconds that a provider has to return after its token was cancelled; then its task is cancelled too."""

RELEASE_SECONDS: Final = 3.0
"""The seconds that all requests and providers together have to end when the connection ends."""

RECORDINGS_SECONDS: Final = 0.1
"""The seconds after which other programs can ask for recordings: the window waits for its first response meanwhile."""

_logger = logging.getLogger("partstream.hosts.vscode")


class _State(StrEnum):
    NEW = "new"
    READY = "ready"
    SHUT_DOWN = "shut down"


_REFUSALS: Mapping[tuple[_State, bool], tuple[rpc.ErrorCode, str]] = {
    (_State.NEW, False): (rpc.ErrorCode.SERVER_NOT_INITIALIZED, "expected `initialize` first"),
    (_State.READY, True): (rpc.ErrorCode.INVALID_REQUEST, "expected `initialize` only once"),
    (_State.SHUT_DOWN, True): (rpc.ErrorCode.INVALID_REQUEST, "expected only `exit` after `shutdown`"),
    (_State.SHUT_DOWN, False): (rpc.ErrorCode.INVALID_REQUEST, "expected only `exit` after `shutdown`"),
}
"""The refusal of a request, by the state and by whether it is `initialize`; a request without a row is served."""


_NO_ANSWER: Final = (
    "There is no answer to inspect yet: Partstream has answered nothing since its Python process started."
)
_NOTHING_KEPT: Final = (
    'Partstream keeps no answers, because the setting "capture" is off. Run "Partstream: Record Next Answer" before '
    "the next one."
)


class RefusedError(CallerError):
    """The session refuses a request."""

    def __init__(self, code: rpc.ErrorCode, message: str, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code  # the code of the error response
        self.data = data  # the data of the error response, or None


class _Running:
    """A request without a response so far."""

    def __init__(self, request_id: RequestId) -> None:
        self.id = request_id
        self.source = CancellationTokenSource()
        self.stream: ItemStream | None = None
        self.task: asyncio.Task[None] | None = None


class Session:
    """Serves one peer on the running event loop.

    Args:
        redactor: Learns the secrets that come in, and removes them from every error.
        on_ready: Called once when the connection is open.
        on_log_level: Called with the least level of messages that the peer shows, whenever it says one.
    """

    def __init__(
        self,
        outbox: Outbox,
        redactor: GroupSecrets,
        *,
        on_ready: Callable[[], None],
        on_exit: Callable[[int], None],
        on_log_level: Callable[[LogLevel], None] = lambda level: None,
        connection: rpc.Connection | None = None,
    ) -> None:
        self._outbox = outbox
        self._redactor = redactor
        self._on_ready = on_ready
        self._on_exit = on_exit
        self._on_log_level = on_log_level
        self._log_level = LogLevel.INFO
        self._connection = connection or rpc.Connection()
        self._loop = asyncio.get_running_loop()
        self._state = _State.NEW
        self._announcements = methods.Announcements(self._loop, outbox, redactor)
        self._host = ProviderHost((), self._announcements, lambda: self._recordings)
        self._vscode_version = ""
        self._timer: asyncio.TimerHandle | None = None
        self._running: dict[RequestId, _Running] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._receivers: Mapping[type, Callable[[Any], None]] = {
            rpc.Request: self._on_request,
            rpc.Notification: self._on_notification,
            rpc.Response: self._on_response,
            rpc.Malformed: self._on_malformed,
        }
        self._handlers: Mapping[str, Callable[[Any, _Running], object]] = {
            "languageModels/information": self._information,
            "languageModels/response": self._response,
            "languageModels/complete": lambda params, running: self._host.complete(params, running.source.token),
            "languageModels/countCompletions": lambda params, _: self._host.count_completions(params),
            "languageModels/tokenCount": lambda params, running: self._host.count(params, running.source.token),
            "languageModels/page": self._page,
            "languageModels/counting": lambda _, running: self._host.counting(),
            "languageModels/diagnostics": lambda _, running: self._redactor.redact_values(self._host.diagnostics()),
            "languageModels/recordNext": lambda params, running: self._recordings.record_next(is_on=params["isOn"]),
            "ui/run": self._run,
            "ui/check": lambda params, _: {"refusal": self._window.refusal(params["box"], params["text"])},
            "shutdown": self._shutdown,
        }
        self._notification_handlers: Mapping[str, Callable[[Any], None]] = {
            "$/cancelRequest": self._cancel_request,
            "languageModels/forgetGroup": lambda params: self._host.forget_group(params["group"]),
            "setLogLevel": self._set_log_level,
            "ui/focus": lambda params: self._host.focused(params["isFocused"]),
            "exit": self._exit,
        }

    @cached_property
    def _window(self) -> Window:
        """The window of the connection, which a dialog needs."""
        from partstream.vscode.window import Window  # noqa: PLC0415 - not before the first dialog

        return Window(self._outbox, self._redactor, self._host, lambda: self._recordings)

    @cached_property
    def _recordings(self) -> Recordings:
        """The recordings of the connection, which begin when they are first needed."""
        recordings = open_recordings(
            self._redactor.redact, partial(self._announcements.post, "languageModels/didRecord")
        )
        recordings.begin(self._vscode_version)
        return recordings

    def receive(self, data: bytes) -> None:
        """Takes more bytes from the peer."""
        for message in self._connection.receive(data):
            self._receivers[type(message)](message)

    def end_of_input(self) -> None:
        """Records that the peer has gone."""
        self._exit(None)

    async def aclose(self) -> None:
        """Cancels all requests and closes the providers; takes at most :data:`RELEASE_SECONDS`."""
        for running in list(self._running.values()):
            self._cancel(running)
        if "_window" in vars(self):
            self._window.close()
        ending = [task for task in self._tasks if task is not asyncio.current_task()]
        # Half of the time each: a request that does not end must not keep providers and files from being closed.
        seconds = RELEASE_SECONDS / 2
        if ending and (await asyncio.wait(ending, timeout=seconds))[1]:
            _logger.warning("a provider did not end its answer within %g s", seconds)
        if self._timer is not None:
            self._timer.cancel()
        if "_recordings" in vars(self):
            await self._recordings.aclose()
        await self._host.aclose(seconds)

    def _on_request(self, request: rpc.Request) -> None:
        try:
            self._begin(request)
        except Exception as error:
            self._outbox.post(self._failure(request.id, error))

    def _begin(self, request: rpc.Request) -> None:
        refusal = _REFUSALS.get((self._state, request.method == "initialize"))
        if refusal is not None:
            raise RefusedError(refusal[0], f"got {request.method!r}, {refusal[1]}")
        method = methods.METHODS.get(request.method)
        if method is None or not method.is_request or method.direction is not methods.Direction.TO_SIDECAR:
            raise RefusedError(rpc.ErrorCode.METHOD_NOT_FOUND, f"unknown request {request.method!r}")
        if request.id in self._running:
            raise RefusedError(rpc.ErrorCode.INVALID_REQUEST, f"got the id {request.id!r} of a running request")
        if method.params is not None:
            methods.check(request.params, method.params, "params")
        if request.method == "initialize":
            # At once and not in a task: further requests may follow in the same bytes.
            self._outbox.post(rpc.encode_result(request.id, self._initialize(request.params)))
            return
        if request.method == "shutdown":
            self._state = _State.SHUT_DOWN
        running = _Running(request.id)
        self._running[request.id] = running
        with logging_from(self._log_level):
            # The name of a task: the method, and the model that it is about.
            model = request.params.get("model") if isinstance(request.params, dict) else None
            name = request.method if model is None else f"{request.method} of {model:.100}"
            running.task = asyncio.create_task(self._serve(running, request), name=name)
        self._tasks.add(running.task)
        running.task.add_done_callback(self._tasks.discard)

    async def _serve(self, running: _Running, request: rpc.Request) -> None:
        try:
            if isinstance(request.params, dict):
                self._redactor.learn(request.params.get("group"))
            result = self._handlers[request.method](request.params, running)
            answer = rpc.encode_result(request.id, await result if isawaitable(result) else result)
        except BaseException as error:  # a task that raises SystemExit ends the loop, and one without answer a request
            if is_forked() and isinstance(error, SystemExit):
                end_forked(error)
            if self._running.get(running.id) is not running:  # answered when it was cancelled
                return
            answer = self._failure(request.id, error)
        if self._running.get(running.id) is running:
            del self._running[running.id]
            if running.stream is not None:
                running.stream.finish(answer)
            else:
                self._outbox.post(answer)

    def _failure(self, request_id: RequestId, error: BaseException) -> bytes:
        """The error response to a request, without secrets."""
        try:
            message = self._redactor.redact(said_by(error))
            if isinstance(error, ProviderFailedError):
                data = self._redactor.redact_values(error_data(error))
                return rpc.encode_error(request_id, rpc.ErrorCode.LANGUAGE_MODEL_FAILED, message, data)
            if isinstance(error, MissingPackageError):
                return rpc.encode_error(request_id, rpc.ErrorCode.METHOD_NOT_FOUND, message)
            if isinstance(error, RefusedError):
                return rpc.encode_error(request_id, error.code, message, error.data)
            if isinstance(error, methods.InvalidParamsError):
                return rpc.encode_error(request_id, rpc.ErrorCode.INVALID_PARAMS, message)
            _logger.error("a request failed in the sidecar itself", exc_info=error)
            return rpc.encode_error(request_id, rpc.ErrorCode.INTERNAL_ERROR, f"{type(error).__name__}: {message}")
        except BaseException as failure:
            _logger.exception("an error of the class %s could not be described", type(error).__name__)
            message = f"{type(error).__name__}, and describing it failed with {type(failure).__name__}"
            return rpc.encode_error(request_id, rpc.ErrorCode.INTERNAL_ERROR, message)

    def _initialize(self, params: wire.InitializeParams) -> wire.InitializeResult:
        if params["protocolVersion"] != methods.PROTOCOL_VERSION:
            versions: wire.VersionMismatchData = {
                "clientProtocolVersion": params["protocolVersion"],
                "serverProtocolVersion": methods.PROTOCOL_VERSION,
            }
            raise RefusedError(
                rpc.ErrorCode.PROTOCOL_VERSION_MISMATCH,
                f"got protocol version {params['protocolVersion']}, expected {methods.PROTOCOL_VERSION} "
                f"(this is partstream {__version__})",
                versions,
            )
        configuration = params["configuration"]
        for source in configuration["providers"]:
            self._redactor.learn_secret(source.get("apiKey", ""))
        surroundings = GatewaySurroundings(editor_settings(configuration), self._redactor.learn_secret)
        self._host = ProviderHost(
            configuration["providers"], self._announcements, lambda: self._recordings, surroundings
        )
        self._vscode_version = params["vscodeVersion"]
        self._timer = self._loop.call_later(RECORDINGS_SECONDS, lambda: self._recordings)
        self._state = _State.READY
        self._on_ready()
        return {
            "protocolVersion": methods.PROTOCOL_VERSION,
            "serverInfo": {
                "name": "partstream",
                "version": __version__,
                "python": sys.version.split()[0],
                "executable": sys.executable,
            },
        }

    async def _information(self, params: wire.InformationParams, running: _Running) -> wire.InformationResult:
        result = await self._host.information(params, running.source.token)
        for error in result["errors"]:
            error["message"] = self._redactor.redact(error["message"])
        for model in result["models"]:  # notes about settings quote values of the group
            shown = {"tooltip": model["tooltip"], "warningText": model["extra"].get("warningText")}
            redacted = self._redactor.redact_values(shown)
            model["tooltip"] = redacted["tooltip"]
            if shown["warningText"] is not None:
                model["extra"] = {**model["extra"], "warningText": redacted["warningText"]}
        return result

    async def _response(self, params: wire.ResponseParams, running: _Running) -> None:
        token = params["progressToken"]
        head = b'{"jsonrpc":"2.0","method":"$/progress","params":{"token":%s,"value":{"parts":[' % dumps(token)
        running.stream = self._outbox.open(head, b"]}}}")
        progress = StreamProgress(running.stream, partial(self._announcements.waits, token))
        await self._host.respond(params, progress, running.source.token)

    async def _page(self, params: wire.PageParams, running: _Running) -> wire.PageResult:
        policy = _policy_of(params)
        if params["page"] == "usage":
            return {"html": await self._host.usage_page(policy)}
        if params["page"] == "inspector":
            html = await self._recordings.page(params.get("path"), policy)
            if html is None:
                why = _NOTHING_KEPT if self._recordings.is_off else _NO_ANSWER
                raise RefusedError(rpc.ErrorCode.INVALID_PARAMS, why)
            return {"html": html}
        from partstream.vscode.examining import findings_html  # noqa: PLC0415 - few windows show a page

        tested = self._window.tested
        if tested is None:
            raise RefusedError(rpc.ErrorCode.INVALID_PARAMS, "nothing was tested in this process")
        return {"html": findings_html(tested.target.name, tested.findings, policy)}

    async def _run(self, params: wire.RunParams, running: _Running) -> wire.RunResult:
        from partstream.vscode.dialogs import run  # noqa: PLC0415 - not before the first dialog

        return await run(self._window, params)

    async def _shutdown(self, _: None, running: _Running) -> None:
        del self._running[running.id]  # so that it does not cancel itself
        try:
            await self.aclose()
        finally:
            self._running[running.id] = running

    def _on_notification(self, notification: rpc.Notification) -> None:
        handler = self._notification_handlers.get(notification.method)
        if handler is None:
            # LSP: `$/` marks what a peer may ignore.
            if not notification.method.startswith("$/"):
                _logger.warning("ignored the unknown notification %r", notification.method[:80])
            return
        shape = methods.METHODS[notification.method].params
        try:
            if shape is not None:
                methods.check(notification.params, shape, "params")
        except methods.InvalidParamsError as error:
            _logger.warning("ignored the notification %r: %s", notification.method, error)
            return
        handler(notification.params)

    def _set_log_level(self, params: wire.SetLogLevelParams) -> None:
        self._log_level = LogLevel(params["level"])
        self._on_log_level(self._log_level)

    def _cancel_request(self, params: wire.CancelParams) -> None:
        running = self._running.get(params["id"])
        if running is not None:  # otherwise its response is on its way
            self._cancel(running)

    def _cancel(self, running: _Running) -> None:
        """Sends the response at once, cancels the provider's token, and later cancels a task that has not returned."""
        del self._running[running.id]
        if running.stream is not None:
            running.stream.discard(_cancelled(running.id))
        else:
            self._outbox.post(_cancelled(running.id))
        try:
            running.source.cancel()
        except BaseException:
            _logger.exception("a provider's listener failed when its request was cancelled")
        task = running.task
        if task is not None:
            timer = self._loop.call_later(GRACE_SECONDS, task.cancel)
            task.add_done_callback(lambda _: timer.cancel())

    def _exit(self, _: None) -> None:
        self._on_exit(0 if self._state is _State.SHUT_DOWN else 1)

    def _on_response(self, response: rpc.Response) -> None:
        if "_window" not in vars(self) or not self._window.answered(response):
            _logger.warning("ignored a response with the id %r: no request waits for it", response.id)

    def _on_malformed(self, malformed: rpc.Malformed) -> None:
        message = self._redactor.redact(malformed.message)
        self._outbox.post(rpc.encode_error(malformed.id, malformed.code, message))
        if malformed.is_fatal:
            _logger.error("the connection cannot continue: %s", message)
            self._on_exit(1)


def _cancelled(request_id: RequestId) -> bytes:
    return rpc.encode_error(request_id, rpc.ErrorCode.REQUEST_CANCELLED, "the request was cancelled")


def _policy_of(params: wire.PageParams) -> Nonces:
    """The policy of a page for the webview that asks for it.

    Raises:
        InvalidParamsError: The nonce or the source does not fit into a policy.
    """
    from partstream.pages.document import Nonces  # noqa: PLC0415 - comes with the first page

    try:
        return Nonces(params["nonce"], params["source"])
    except UnexpectedValueError as error:
        raise methods.InvalidParamsError(f"params.{error.where}", error.got, error.expected) from error
