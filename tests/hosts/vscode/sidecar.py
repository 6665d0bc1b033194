"""A real sidecar process and the extension's end of its pipes; every wait is bounded."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from base64 import b64decode
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from partstream.hosts.vscode.methods import PROTOCOL_VERSION
from partstream.json_codec import dumps, loads
from partstream.rpc.connection import Connection, Notification, Response
from partstream.rpc.framing import encode_frame
from partstream.usage import USAGE_MIME_TYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE = 20.0
"""Seconds that a test waits for anything."""


class Sidecar:
    """Sends messages, and collects what comes back in the order in which it came."""

    def __init__(self, *command: str) -> None:
        command = command or (sys.executable, "-m", "partstream.hosts.vscode")
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)
        self.messages: list[Any] = []
        self.errors = ""
        self._news = threading.Condition()
        self._may_read = threading.Event()
        self._may_read.set()
        self._next_id = 0
        reads = (self._read_messages, self._read_errors)
        # A test that fails before it has closed this must not keep the run from ending.
        self._threads = [threading.Thread(target=read, daemon=True) for read in reads]
        for thread in self._threads:
            thread.start()

    def write(self, data: bytes) -> None:
        self.process.stdin.write(data)
        self.process.stdin.flush()

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

    def until_errors(self, fits: Callable[[str], Any]) -> Any:
        """What `fits` makes of standard error, as soon as it is true."""
        return self._wait_for(lambda: fits(self.errors))

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

    def _wait_for(self, condition: Callable[[], Any]) -> Any:
        with self._news:
            found = self._news.wait_for(condition, PATIENCE)
        assert found, f"nothing came in {PATIENCE:g} s; last: {self.messages[-3:]}, {self.errors[-2000:]}"
        return found

    def _read_messages(self) -> None:
        connection = Connection()
        while data := self.process.stdout.read1(65536):
            received = connection.receive(data)
            with self._news:
                self.messages += received
                self._news.notify_all()
            self._may_read.wait(PATIENCE)

    def _read_errors(self) -> None:
        while data := self.process.stderr.read1(65536):
            with self._news:
                self.errors += data.decode()
                self._news.notify_all()


@contextmanager
def running(*providers: object, initialize: bool = True) -> Iterator[Sidecar]:
    """A sidecar with these providers, ready to be asked."""
    sidecar = Sidecar()
    try:
        if initialize:
            sidecar.initialize(*providers)
        yield sidecar
    finally:
        sidecar.close()


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
