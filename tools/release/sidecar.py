"""A sidecar, started from an unpacked extension as VS Code would or by its command, and the extension's side of the
conversation.
"""

from __future__ import annotations
import json
import os
import subprocess
from contextlib import suppress
from threading import Timer
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Literal,
    NotRequired,
    Self,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from partstream.vscode.methods import METHODS, PROTOCOL_VERSION, Direction

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = [
    "LAST_METHOD",
    "METHODS_TO_ASK",
    "Sidecar",
    "SidecarEndedError",
    "empty_home",
    "initialize_params",
    "smallest",
]

LAST_METHOD: Final = "shutdown"
METHODS_TO_ASK: Final = tuple(
    method
    for method in METHODS.values()
    if method.is_request and method.direction is Direction.TO_SIDECAR and method.name not in {"initialize", LAST_METHOD}
)
"""The requests that the sidecar answers between `initialize` and :data:`LAST_METHOD`."""

_TEXT: Final = "0" * 16
"""Long enough for the nonce of a page."""
_LONGEST: Final = 120
"""Seconds that one conversation may take; the process is then killed."""


class SidecarEndedError(Exception):
    """The sidecar ended before it answered.

    Attributes:
        code: The exit code of its process.
        last: The last that it wrote to standard error.
    """

    def __init__(self, method: str, code: int, last: str) -> None:
        super().__init__(f"the sidecar ended with code {code} and did not answer {method}: {last}")
        self.code = code
        self.last = last


class Sidecar:
    """A running sidecar. Leaving its context kills the process.

    Attributes:
        notifications: The messages that came and are no answers, in their order.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], empty: Path) -> None:
        """Starts it.

        Args:
            command: The command.
            environment: All variables.
            empty: The folder to run in.
        """
        self._said = (empty / "standard-error.txt").open("w+", encoding="utf-8", errors="replace")
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env=environment,
            cwd=empty,
        )
        self._end = Timer(_LONGEST, self._process.kill)
        self._end.start()
        self._last_id = 0
        self.notifications: list[dict[str, Any]] = []

    @classmethod
    def of_extension(cls, python: str, libraries: Path, empty: Path) -> Self:
        """Starts that of an unpacked extension, as VS Code would.

        Args:
            python: The interpreter; what is installed in it is not seen.
            libraries: The bundled packages.
            empty: The folder to run in, which is its home too.
        """
        command = [python, "-P", "-S", "-s", "-W", "error", "-m", "partstream.vscode"]
        return cls(command, empty_home(empty, PYTHONPATH=str(libraries)), empty)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end.cancel()
        self._process.kill()
        self._process.wait(timeout=30)
        for stream in (self._process.stdin, self._process.stdout, self._said):
            with suppress(BrokenPipeError):  # what an ended process has not read is no fault of its own
                if stream is not None:
                    stream.close()

    def ask(self, method: str, params: Any = None) -> dict[str, Any]:
        """Sends a request, and returns its response: it has `result` or `error`.

        Raises:
            SidecarEndedError: The process ended, or was killed because it took too long.
        """
        self._last_id += 1
        try:
            self._send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
            while (message := self._receive()).get("id") != self._last_id:
                self.notifications.append(message)
        except (BrokenPipeError, EOFError) as error:
            code = self._process.wait(timeout=_LONGEST)
            self._said.seek(0)
            raise SidecarEndedError(method, code, self._said.read().strip()[-500:]) from error
        return message

    def end(self) -> int:
        """Ends it as the extension does, and returns the exit code of its process."""
        self.ask(LAST_METHOD)
        self._send({"jsonrpc": "2.0", "method": "exit"})
        return self._process.wait(timeout=30)

    def _send(self, message: Mapping[str, Any]) -> None:
        content = json.dumps({key: value for key, value in message.items() if value is not None}).encode()
        if self._process.stdin is not None:
            self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(content), content))
            self._process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        stream = self._process.stdout
        length = 0
        while stream is not None and (line := stream.readline().strip()):
            length = int(line.partition(b":")[2]) if line.lower().startswith(b"content-length") else length
        if stream is None or not length:
            raise EOFError
        message: dict[str, Any] = json.loads(stream.read(length))
        return message


def empty_home(folder: Path, **more: str) -> dict[str, str]:
    """All variables of a process in an empty home: of those of this machine, only the ones that find programs.

    Args:
        folder: The home.
        more: Variables beside these.
    """
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    return {**kept, "HOME": str(folder), "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", **more}


def initialize_params(*providers: Mapping[str, str]) -> dict[str, Any]:
    """The parameters of the first request.

    Args:
        providers: A person's own providers, each with `source` and `name`.
    """
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "clientInfo": {"name": "release", "version": "1"},
        "vscodeVersion": "1.127.0",
        "configuration": {"providers": list(providers)},
    }


def smallest(shape: Any) -> Any:
    """The smallest value of a shape of the wire: what may be missing or null is, lists are empty, texts say nothing.

    Args:
        shape: A TypedDict, or the type of a field in one.
    """
    if is_typeddict(shape):
        hints = get_type_hints(shape, include_extras=True).items()
        return {name: smallest(hint) for name, hint in hints if get_origin(hint) is not NotRequired}
    choices = get_args(shape)
    match get_origin(shape):
        case origin if origin in {Union, UnionType}:
            return None if NoneType in choices else smallest(choices[0])
        case origin if origin is Literal:
            return choices[0]
        case origin:
            return _TEXT if shape is str else None if shape in {Any, None} else (origin or shape)()
