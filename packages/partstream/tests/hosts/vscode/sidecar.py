"""The extension's end of a connection with a sidecar; every wait is bounded.

`running` serves it in a thread of the test's own process, with all but the pipes. `running_process` takes half a second
more, and is for what a process alone has: standard error, signals, an exit status and a pipe that is full.
"""

from __future__ import annotations
import asyncio
import logging
import re
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from base64 import b64decode
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from partstream.codec.json_codec import dumps, loads
from partstream.lm.parts import USAGE_MIME_TYPE
from partstream.vscode.failures import GroupSecrets
from partstream.vscode.methods import PROTOCOL_VERSION
from partstream.vscode.process import ChannelHandler, _route_logs
from partstream.vscode.rpc import Connection, Notification, Outbox, Response, encode_frame
from partstream.vscode.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from partstream.upstream.context import LogLevel

PATIENCE = 20.0
"""Seconds that a test waits for anything."""


class Peer(ABC):
    """Sends messages, and collects what comes back in the order in which it came."""

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.hearers: list[Callable[[Any], None]] = []  # hear each message when it comes
        self._news = threading.Condition()
        self._next_id = 0

    @abstractmethod
    def write(self, data: bytes) -> None: ...

    @abstractmethod
    def close(self) -> None: ...

    def send(self, method: str, params: object = None) -> int:
        """Sends a request and returns its id."""
        self._next_id += 1
        self.write(frame({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params}))
        return self._next_id

    def notify(self, method: str, params: object = None) -> None:
        self.write(frame({"jsonrpc": "2.0", "method": method, "params": params}))

    def wait(self, request_id: int | None) -> Response:
        """The answer to a request."""
        return self.until(lambda message: _answers(message, request_id))

    def call(self, method: str, params: object = None) -> Any:
        """The result of a request that must succeed."""
        reply = self.wait(self.send(method, params))
        assert reply.error is None, reply.error
        return reply.result

    def until(self, fits: Callable[[Any], bool]) -> Any:
        """The first message that fits, now or later."""
        return self._wait_for(lambda: next((message for message in list(self.messages) if fits(message)), None))

    def until_true(self, condition: Callable[[], Any]) -> None:
        """Waits for something that no message tells of."""
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(f"not within {PATIENCE:g} s")
            time.sleep(0.01)

    def respond(self, model: str, *messages: Any, group: Any = None, **options: Any) -> int:
        """Asks for an answer; its progress token is its id."""
        return self.send(
            "languageModels/response",
            {
                "group": group,
                "model": model,
                "messages": [as_message(message) for message in messages],
                "options": options,
                "progressToken": self._next_id + 1,
            },
        )

    def ask(self, model: str, *messages: Any, **options: Any) -> str:
        """The text of an answer that must succeed."""
        request_id = self.respond(model, *messages, **options)
        reply = self.wait(request_id)
        assert reply.error is None, reply.error
        return self.text(request_id)

    def parts(self, request_id: int, *, before: object = None) -> list[dict[str, Any]]:
        """The parts that came for a request so far, or before some other message; without the usage."""
        messages = list(self.messages)
        end = len(messages) if before is None else messages.index(before)
        parts = [part for message in messages[:end] if _carries(message, request_id) for part in _parts(message)]
        return [part for part in parts if part.get("mimeType") != USAGE_MIME_TYPE]

    def usage_rows(self, section: str) -> list[dict[str, str]]:
        """The rows of the first table in a section of the page of token usage: the texts of their cells by column."""
        page = {"page": "usage", "nonce": "0123456789abcdef", "source": ""}
        html = self.call("languageModels/page", page)["html"].partition(f'<section id="{section}">')[2]
        rows = re.findall(r'<tr role="row">(.*?)</tr>', html.partition("</table>")[0], re.DOTALL)
        cells = (re.findall(r'<t[dh][^>]* data-column="([^"]+)"[^>]*>(.*?)</t', row) for row in rows)
        return [dict(found) for found in cells if found]

    def usages(self, request_id: int) -> list[Any]:
        """What the usage parts of a request say."""
        parts = [part for message in list(self.messages) if _carries(message, request_id) for part in _parts(message)]
        return [loads(b64decode(part["data"])) for part in parts if part.get("mimeType") == USAGE_MIME_TYPE]

    def text(self, request_id: int) -> str:
        return "".join(part["value"] for part in self.parts(request_id) if part["type"] == "text")

    def information(self, group: Any = None, *, silent: bool = True) -> Any:
        return self.call("languageModels/information", {"group": group, "silent": silent})

    def logs(self) -> str:
        return "\n".join(message.params["message"] for message in list(self.messages) if _is(message, "log"))

    def until_logged(self, text: str) -> None:
        self._wait_for(lambda: text in self.logs())

    def initialize(self, *providers: object) -> Any:
        return self.call("initialize", initialization(*providers))

    def run(self, dialog: str, **given: object) -> Any:
        """What a dialog leaves to the extension when it is over."""
        return self.call("ui/run", {"dialog": dialog, "given": given})

    def _take(self, received: list[Any]) -> None:
        with self._news:
            self.messages += received
            self._news.notify_all()
        for message in received:
            for hearer in self.hearers:
                hearer(message)

    def _wait_for(self, condition: Callable[[], Any]) -> Any:
        with self._news:
            found = self._news.wait_for(condition, PATIENCE)
        assert found, f"nothing came in {PATIENCE:g} s; last: {self.messages[-3:]}, {self.errors[-2000:]}"
        return found


class Sidecar(Peer):
    """A process."""

    def __init__(self, *command: str) -> None:
        super().__init__()
        command = command or (sys.executable, "-m", "partstream.vscode")
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)
        self.errors = ""
        self._may_read = threading.Event()
        self._may_read.set()
        reads = (self._read_messages, self._read_errors)
        # A test that fails before it has closed this must not keep the run from ending.
        self._threads = [threading.Thread(target=read, daemon=True) for read in reads]
        for thread in self._threads:
            thread.start()

    def write(self, data: bytes) -> None:
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def until_errors(self, fits: Callable[[str], Any]) -> Any:
        """What `fits` makes of standard error, as soon as it is true."""
        return self._wait_for(lambda: fits(self.errors))

    def pause_reading(self) -> None:
        """The pipe fills up from now on."""
        self._may_read.clear()

    def resume_reading(self) -> None:
        self._may_read.set()

    def end(self) -> int:
        """Waits for the process to end and returns its status."""
        self.resume_reading()
        status = self.process.wait(PATIENCE)
        for thread in self._threads:
            thread.join(PATIENCE)
        return status

    def close(self) -> None:
        self.resume_reading()
        self.process.kill()
        self.end()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                pipe.close()
            except BrokenPipeError:
                assert pipe is self.process.stdin  # what was not written has no reader any more

    def _read_messages(self) -> None:
        connection = Connection()
        while data := self.process.stdout.read1(65536):
            self._take(connection.receive(data))
            self._may_read.wait(PATIENCE)

    def _read_errors(self) -> None:
        while data := self.process.stderr.read1(65536):
            with self._news:
                self.errors += data.decode()
                self._news.notify_all()


class InThread(Peer):
    """A session with an event loop of its own, whose log goes to its peer as that of a process does."""

    def __init__(self) -> None:
        super().__init__()
        self._is_ready = threading.Event()
        self._thread = threading.Thread(target=asyncio.run, args=(self._serve(),), daemon=True)
        self._thread.start()
        assert self._is_ready.wait(PATIENCE)

    def write(self, data: bytes) -> None:
        self._loop.call_soon_threadsafe(self._session.receive, data)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._exit)
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        exited = asyncio.Event()
        self._exit = exited.set
        connection, outbox, redactor = Connection(), Outbox(), GroupSecrets()

        def read() -> None:
            while data := outbox.take():
                self._take(connection.receive(data))

        outbox.on_waiting = lambda: self._loop.call_soon(read)
        handler = ChannelHandler(self._loop, outbox.open_minor(), redactor)
        with _logging_to(handler) as set_level:
            self._session = Session(
                outbox,
                redactor,
                on_ready=handler.open_channel,
                on_exit=lambda status: exited.set(),
                on_log_level=set_level,
            )
            self._is_ready.set()
            await exited.wait()
            await self._session.aclose()
            handler.close_channel()


@contextmanager
def _logging_to(handler: logging.Handler) -> Iterator[Callable[[LogLevel], None]]:
    """Routes the log of this process to a handler as that of a sidecar, and then as before."""
    loggers = [logging.getLogger(name) for name in (None, "partstream", "httpx2", "httpcore2")]
    levels = [logger.level for logger in loggers]
    try:
        yield _route_logs(handler)
    finally:
        logging.captureWarnings(capture=False)
        logging.getLogger().removeHandler(handler)
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def running(*providers: object, initialize: bool = True) -> Iterator[InThread]:
    """A sidecar with these providers, ready to be asked."""
    with closing(InThread()) as sidecar:
        if initialize:
            sidecar.initialize(*providers)
        yield sidecar


@contextmanager
def running_process(*providers: object, initialize: bool = True) -> Iterator[Sidecar]:
    """The same as a process of its own."""
    with closing(Sidecar()) as sidecar:
        if initialize:
            sidecar.initialize(*providers)
        yield sidecar


def initialization(*providers: object, version: int = PROTOCOL_VERSION) -> dict[str, Any]:
    return {
        "protocolVersion": version,
        "clientInfo": {"name": "test", "version": "1"},
        "vscodeVersion": "1.127.0",
        "configuration": {"providers": [p if isinstance(p, dict) else {"source": str(p)} for p in providers]},
    }


def frame(message: object) -> bytes:
    return encode_frame(dumps(message))


def as_message(message: Any) -> Any:
    if isinstance(message, str):
        return {"role": 1, "content": [{"type": "text", "value": message}]}
    return message


def _is(message: Any, method: str) -> bool:
    return isinstance(message, Notification) and message.method == method


def _carries(message: Any, token: int) -> bool:
    return _is(message, "$/progress") and message.params["token"] == token


def _parts(message: Any) -> list[dict[str, Any]]:
    return message.params["value"]["parts"]


def _answers(message: Any, request_id: int | None) -> bool:
    return not isinstance(message, Notification) and message.id == request_id
