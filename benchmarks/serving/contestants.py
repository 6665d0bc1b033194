"""Who takes part: how each is started and asked; measures nothing."""

from __future__ import annotations
import json
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.serving.processes import ROOT, Process, started
from interop.servers.environments import PythonEnvironment
from interop.servers.processes import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

__all__ = [
    "CONTESTANTS", "DIRECT", "FLOOR", "LITELLM", "LITELLM_PASSED", "OURS", "OURS_PASSED", "OURS_TRANSLATED",
    "RESPONSES", "SERVERS", "Contestant", "Server",
]  # fmt: skip

_HERE: Final = Path(__file__).resolve().parent
_KEY: Final = "local-key"
_CHAT: Final = "/v1/chat/completions"
_LITELLM: Final = PythonEnvironment("litellm", ROOT / "interop" / "servers" / "litellm" / "requirements.lock")
_UPSTREAM_PORT: Final = free_port()
_TRANSLATED: Final = "translated"
"""The profile of the same upstream with a setting that has its requests written anew."""


@dataclass(frozen=True, slots=True)
class Server:
    """A program that is started.

    Attributes:
        name: For the log.
        start: Runs it, given the folder for its files.
        starts: How often its start is measured.
        answers: How many answers show what they leave behind.
        install: Installs what it needs; raises :class:`interop.servers.environments.NotInstalledError`.
        is_peer: Whether somebody else wrote it: a machine that cannot have it measures without it.
    """

    name: str
    start: Callable[[Path], AbstractContextManager[Process]]
    starts: int = 0
    answers: int = 0
    install: Callable[[], None] = lambda: None
    is_peer: bool = False


@dataclass(frozen=True, slots=True)
class Contestant:
    """One way to an answer.

    Attributes:
        name: In tables.
        server: Who answers.
        model: The model that is asked.
        path: Where.
    """

    name: str
    server: Server
    model: str = "words"
    path: str = _CHAT

    def request(self, words: int) -> str:
        """The bytes of a request for so many words."""
        said: dict[str, object] = {"model": self.model, "stream": True}
        said |= {"messages": [{"role": "user", "content": str(words)}]} if self.path == _CHAT else {"input": str(words)}
        body = json.dumps(said)
        return (
            f"POST {self.path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {_KEY}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n{body}"
        )


def _ready(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {_KEY}\r\nconnection: close\r\n\r\n".encode()


@contextmanager
def _ready_made(folder: Path) -> Iterator[Process]:
    port = free_port()
    options = [
        "--port",
        str(port),
        "--loop",
        "uvloop",
        "--http",
        "httptools",
        "--no-access-log",
        "--log-level",
        "error",
    ]
    command = [sys.executable, "-m", "uvicorn", "benchmarks.serving.ready_made:application", *options]
    ready = b"POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 0\r\n\r\n"
    with started(command, port, ready, ROOT, folder / "ready-made.log", {}) as process:
        yield process


@contextmanager
def _partstream(folder: Path, *what: str) -> Iterator[Process]:
    port = free_port()
    profiles = (
        f'[profiles.{name}]\nbaseUrl = "http://127.0.0.1:{_UPSTREAM_PORT}/v1"\nprotocol = "chat-completions"\n{more}'
        for name, more in (("upstream", ""), (_TRANSLATED, 'request.systemAs = "system"\n'))  # how a request is written
    )
    (folder / "config.toml").write_text("\n".join(profiles))
    command = [sys.executable, "-m", "partstream", "serve", *what, "--port", str(port)]
    environment = {
        "PARTSTREAM_SERVE_TOKEN": _KEY,
        "PARTSTREAM_SERVE_NO_STORE": "true",
        "PARTSTREAM_CONFIG": str(folder / "config.toml"),
        "XDG_STATE_HOME": str(folder),
        "XDG_CACHE_HOME": str(folder),
    }
    log = folder / f"partstream{'-'.join(what).replace('/', '_')[-20:]}.log"
    with started(command, port, _ready("/healthz"), ROOT, log, environment) as process:
        yield process


@contextmanager
def _litellm(folder: Path) -> Iterator[Process]:
    port = free_port()
    command = [str(_LITELLM.program("litellm")), "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port)]
    environment = {
        "UPSTREAM_URL": f"http://127.0.0.1:{_UPSTREAM_PORT}/v1",
        "LITELLM_LOG": "ERROR",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "PATH": str(_LITELLM.program("python").parent),
    }
    log = folder / "litellm.log"
    with started(command, port, _ready("/health/liveliness"), _HERE / "litellm", log, environment) as process:
        yield process


@contextmanager
def _upstream(folder: Path) -> Iterator[Process]:
    command = [sys.executable, "-m", "benchmarks.serving.upstream", str(_UPSTREAM_PORT)]
    with started(command, _UPSTREAM_PORT, _ready("/models"), ROOT, folder / "upstream.log", {}) as process:
        yield process


_UPSTREAM_SERVER: Final = Server("upstream", _upstream)
_FLOOR_SERVER: Final = Server("ready-made", _ready_made, starts=5, answers=20_000)
_OWN_SERVER: Final = Server(
    "partstream", lambda folder: _partstream(folder, str(_HERE / "words.py")), starts=5, answers=20_000
)
_PASSING_SERVER: Final = Server(
    "partstream --profile", lambda folder: _partstream(folder, "--profile", "upstream"), starts=5, answers=20_000
)
_TRANSLATING_SERVER: Final = Server(
    "partstream --profile, translating", lambda folder: _partstream(folder, "--profile", _TRANSLATED)
)
_LITELLM_SERVER: Final = Server("litellm", _litellm, starts=2, answers=2_000, install=_LITELLM.install, is_peer=True)

SERVERS: Final = (
    _UPSTREAM_SERVER, _FLOOR_SERVER, _OWN_SERVER, _PASSING_SERVER, _TRANSLATING_SERVER, _LITELLM_SERVER,
)  # fmt: skip
"""In the order in which they are started."""

FLOOR: Final = Contestant("ready-made bytes", _FLOOR_SERVER)
OURS: Final = Contestant("partstream serve", _OWN_SERVER)
RESPONSES: Final = Contestant("partstream serve, Responses", _OWN_SERVER, path="/v1/responses")
LITELLM: Final = Contestant("LiteLLM's proxy", _LITELLM_SERVER)
DIRECT: Final = Contestant("the upstream itself", _UPSTREAM_SERVER)
OURS_PASSED: Final = Contestant("partstream serve --profile", _PASSING_SERVER)
OURS_TRANSLATED: Final = Contestant("partstream serve --profile, translating", _TRANSLATING_SERVER)
LITELLM_PASSED: Final = Contestant("LiteLLM's proxy, passing on", _LITELLM_SERVER, model="passed")

CONTESTANTS: Final = (FLOOR, OURS, RESPONSES, LITELLM, DIRECT, OURS_PASSED, OURS_TRANSLATED, LITELLM_PASSED)
