"""Who takes part: how each is started and asked; measures nothing."""

from __future__ import annotations
import json
import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from benchmarks.hub.own import hub_gateway
from benchmarks.serving.floor import KEY
from benchmarks.serving.processes import ROOT, Process, started
from interop.servers.environments import NodeEnvironment, PythonEnvironment
from interop.servers.postgres import PostgresServer
from interop.servers.processes import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

__all__ = [
    "ACROSS", "CONTESTANTS", "DIRECT", "DIRECT_MESSAGES", "FLOOR", "GROUPS", "HUBS", "MESSAGES", "OURS", "PACED",
    "PEERS",
    "SERVERS", "Contestant", "Running", "Server", "versions",
]  # fmt: skip

_HERE: Final = Path(__file__).resolve().parent
_LITELLM: Final = PythonEnvironment("litellm", ROOT / "benchmarks" / "litellm_proxy" / "requirements.lock")
_ROSETTA: Final = PythonEnvironment("llm-rosetta", _HERE / "llm_rosetta" / "requirements.lock")
_TENSORZERO: Final = PythonEnvironment("tensorzero", _HERE / "tensorzero" / "requirements.lock")
_PORTKEY: Final = NodeEnvironment(_HERE / "portkey")

Wire = Literal["chat", "messages"]
"""Chat Completions, or Anthropic Messages."""


@dataclass(frozen=True, slots=True)
class Running:
    """A server that runs.

    Attributes:
        port: Where it listens.
        key: What its clients send.
        process: Its process; None if what it used is not measured.
    """

    port: int
    key: str
    process: Process | None


@dataclass(frozen=True, slots=True)
class Server:
    """A program that is started.

    Attributes:
        name: In tables.
        group: What `--only` calls it and others like it.
        start: Runs it, given a new folder for its files and the port of the model server.
        install: Installs what it needs; raises :class:`interop.servers.environments.NotInstalledError`.
        is_needed: Whether there is no run without it; others are left out where they cannot be had or answer wrong.
        is_slow: Whether it gives fewer answers in a round, because they take long.
    """

    name: str
    group: str
    start: Callable[[Path, int], AbstractContextManager[Running]]
    install: Callable[[], None] = lambda: None
    is_needed: bool = True
    is_slow: bool = False


@dataclass(frozen=True, slots=True)
class Contestant:
    """One way to an answer.

    Attributes:
        name: In tables.
        server: Who answers.
        asked: What its client speaks.
        upstream: What the model server speaks to it.
        model: The model that is asked.
        prefix: What its paths begin with.
        headers: More lines of the request's head, which may name the model server's `PORT`.
    """

    name: str
    server: Server
    asked: Wire = "chat"
    upstream: Wire = "chat"
    model: str = "words"
    prefix: str = ""
    headers: str = ""

    def request(self, words: int, key: str = KEY, upstream_port: int = 0, pace: int = 0) -> str:
        """The bytes of a request for so many words, said every `pace` milliseconds, or as fast as can be."""
        message = {"role": "user", "content": f"{words}/{pace}" if pace else str(words)}
        body = json.dumps({"model": self.model, "stream": True, "max_tokens": words, "messages": [message]})
        return (
            f"POST {self.prefix}/v1/{'chat/completions' if self.asked == 'chat' else 'messages'} HTTP/1.1\r\n"
            f"host: 127.0.0.1\r\nauthorization: Bearer {key}\r\n{self.headers.replace('PORT', str(upstream_port))}"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n{body}"
        )


def _ready(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {KEY}\r\nconnection: close\r\n\r\n".encode()


@contextmanager
def _direct(folder: Path, upstream_port: int) -> Iterator[Running]:
    del folder
    yield Running(upstream_port, KEY, None)


@contextmanager
def _running(
    command: list[str], port: int | None, ready: str, log: Path, environment: dict[str, str], folder: Path = ROOT
) -> Iterator[Running]:
    with started(command, port, _ready(ready), folder, log, environment) as process:
        yield Running(process.port, KEY, process)


def _floor(folder: Path, upstream_port: int) -> AbstractContextManager[Running]:
    port = free_port()
    fast = ["--loop", "uvloop", "--http", "httptools", "--no-access-log", "--log-level", "error"]
    command = [sys.executable, "-m", "uvicorn", "benchmarks.serving.floor:application", "--port", str(port), *fast]
    return _running(command, port, "/healthz", folder / "log", {"UPSTREAM_PORT": str(upstream_port)})


def _partstream(folder: Path, upstream_port: int, *what: str) -> AbstractContextManager[Running]:
    (folder / "config.toml").write_text(
        "\n".join(
            f'[profiles.{name}]\nbaseUrl = "http://127.0.0.1:{upstream_port}/v1"\nprotocol = "{name}"\n'
            for name in ("chat-completions", "anthropic-messages")
        )
    )
    port = free_port()
    environment = {
        "PARTSTREAM_SERVE_TOKEN": KEY,
        "PARTSTREAM_SERVE_NO_STORE": "true",
        "PARTSTREAM_CONFIG": str(folder / "config.toml"),
        **{f"XDG_{kind}_HOME": str(folder) for kind in ("CACHE", "CONFIG", "DATA", "STATE")},
    }
    command = [sys.executable, "-m", "partstream", "serve", *what, "--port", str(port)]
    return _running(command, port, "/healthz", folder / "log", environment)


@contextmanager
def _hub(folder: Path, upstream_port: int, database: str = "") -> Iterator[Running]:
    with hub_gateway.start(folder, database or str(folder / "hub.sqlite3"), upstream_port) as hub:
        yield Running(hub.process.port, hub.unlimited_key, hub.process)


@contextmanager
def _hub_on_postgres(folder: Path, upstream_port: int) -> Iterator[Running]:
    server = PostgresServer.made(free_port())
    with server.guard():
        server.start()
        with _hub(folder, upstream_port, server.address()) as hub:
            yield hub


def _rosetta(folder: Path, upstream_port: int) -> AbstractContextManager[Running]:
    port, root = free_port(), f"http://127.0.0.1:{upstream_port}"
    settings = {
        "providers": {
            "chat": {"type": "openai_chat", "api_key": "none", "base_url": f"{root}/v1"},
            "messages": {"type": "anthropic", "api_key": "none", "base_url": root},
        },
        "models": {"words": "chat", "claude-words": "messages"},
        # Its keys are made in its own page; without one it has to be told to answer anybody.
        "server": {"host": "127.0.0.1", "port": port, "open_on_no_keys": True, "data_dir": str(folder)},
    }
    (folder / "config.jsonc").write_text(json.dumps(settings))
    options = ["-c", str(folder / "config.jsonc"), "--no-banner", "--log-level", "error"]
    command = [str(_ROSETTA.program("llm-rosetta-gateway")), *options]
    return _running(command, port, "/health", folder / "log", {}, folder)


def _portkey(folder: Path, upstream_port: int) -> AbstractContextManager[Running]:
    del upstream_port  # named by each request
    port = free_port()
    preload = _PORTKEY.folder / "mutable_headers.mjs"
    program = _PORTKEY.folder / "node_modules" / "@portkey-ai" / "gateway" / "build" / "start-server.js"
    command = ["node", "--import", str(preload), str(program), "--headless", f"--port={port}"]
    return _running(command, port, "/", folder / "log", {"NODE_ENV": "production"}, folder)


def _tensorzero(folder: Path, upstream_port: int) -> AbstractContextManager[Running]:
    models = "".join(
        f'[models.{model}]\nrouting = ["upstream"]\n[models.{model}.providers.upstream]\ntype = "{kind}"\n'
        f'model_name = "{model}"\napi_base = "http://127.0.0.1:{upstream_port}/v1"\napi_key_location = "{key}"\n'
        for model, kind, key in (("words", "openai", "none"), ("claude-words", "anthropic", "env::UPSTREAM_KEY"))
    )
    alone = "[gateway]\ndisable_pseudonymous_usage_analytics = true\nobservability.enabled = false\n"
    (folder / "tensorzero.toml").write_text(models + alone)
    command = [str(_TENSORZERO.program("python")), str(_HERE / "tensorzero" / "gateway.py"), "tensorzero.toml"]
    return _running(command, None, "", folder / "log", {"UPSTREAM_KEY": "none"}, folder)


def _litellm(folder: Path, upstream_port: int) -> AbstractContextManager[Running]:
    port, root = free_port(), f"http://127.0.0.1:{upstream_port}"
    command = [str(_LITELLM.program("litellm")), "--config", str(_HERE / "litellm.yaml"), "--host", "127.0.0.1"]
    environment = {
        "UPSTREAM_ROOT": root,
        "UPSTREAM_URL": f"{root}/v1",
        "LITELLM_LOG": "ERROR",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_RUST": "true",
        "PATH": f"{_LITELLM.program('python').parent}{os.pathsep}{os.environ['PATH']}",
    }
    log = folder / "log"
    return _running([*command, "--port", str(port)], port, "/health/liveliness", log, environment, folder)


_OWN: Final = "partstream"
_UPSTREAM_SERVER: Final = Server("the model server", "upstream", _direct)
_FLOOR_SERVER: Final = Server("floor", "floor", _floor)
_CHAT_SERVER: Final = Server(
    _OWN, _OWN, lambda folder, port: _partstream(folder, port, "--profile", "chat-completions")
)
_MESSAGES_SERVER: Final = Server(
    "partstream, Messages upstream",
    _OWN,
    lambda folder, port: _partstream(folder, port, "--profile", "anthropic-messages"),
)
_PROVIDER_SERVER: Final = Server(
    "partstream, a provider", _OWN, lambda folder, port: _partstream(folder, port, str(_HERE / "words.py"))
)
_SQLITE_SERVER: Final = Server("hub on SQLite", "hub", _hub)
_POSTGRES_SERVER: Final = Server("hub on Postgres", "hub", _hub_on_postgres, is_needed=False)
_ROSETTA_SERVER: Final = Server("llm-rosetta", "llm-rosetta", _rosetta, _ROSETTA.install, is_needed=False, is_slow=True)
_PORTKEY_SERVER: Final = Server("Portkey", "portkey", _portkey, _PORTKEY.install, is_needed=False)
_TENSORZERO_SERVER: Final = Server("TensorZero", "tensorzero", _tensorzero, _TENSORZERO.install, is_needed=False)
_LITELLM_SERVER: Final = Server("LiteLLM", "litellm", _litellm, _LITELLM.install, is_needed=False, is_slow=True)

DIRECT: Final = Contestant("the model server", _UPSTREAM_SERVER)
DIRECT_MESSAGES: Final = Contestant(
    "the model server, Messages", _UPSTREAM_SERVER, asked="messages", upstream="messages"
)
FLOOR: Final = Contestant("floor", _FLOOR_SERVER)
OURS: Final = Contestant("partstream", _CHAT_SERVER)
ACROSS: Final = Contestant("partstream, Chat to Messages", _MESSAGES_SERVER, upstream="messages")
MESSAGES: Final = Contestant("partstream, Messages", _MESSAGES_SERVER, asked="messages", upstream="messages")
_PROVIDER: Final = Contestant("partstream, a provider", _PROVIDER_SERVER)
HUBS: Final = (Contestant("hub on SQLite", _SQLITE_SERVER), Contestant("hub on Postgres", _POSTGRES_SERVER))
_PORTKEY_TO: Final = "x-portkey-provider: {}\r\nx-portkey-custom-host: http://127.0.0.1:PORT/v1\r\n"
PEERS: Final = (
    Contestant("llm-rosetta", _ROSETTA_SERVER),
    Contestant("Portkey", _PORTKEY_SERVER, headers=_PORTKEY_TO.format("openai")),
    Contestant("TensorZero", _TENSORZERO_SERVER, model="tensorzero::model_name::words", prefix="/openai"),
    Contestant("LiteLLM", _LITELLM_SERVER),
)
"""In Chat Completions on both sides, as ours is."""


def _before_messages(peer: Contestant) -> Iterator[Contestant]:
    """The same server before an upstream of Messages, asked in either wire."""
    ways: list[tuple[Wire, str]] = [("chat", "Chat to Messages"), ("messages", "Messages")]
    for asked, said in ways[:1] if peer.prefix else ways:  # TensorZero is asked in Chat Completions alone
        yield replace(
            peer, name=f"{peer.name}, {said}", asked=asked, upstream="messages",
            model=peer.model if peer.headers else peer.model.replace("words", "claude-words"),
            headers=_PORTKEY_TO.format("anthropic") if peer.headers else "",
        )  # fmt: skip


CONTESTANTS: Final = (
    DIRECT, DIRECT_MESSAGES, FLOOR, OURS, ACROSS, MESSAGES, _PROVIDER, *HUBS, *PEERS,
    *(one for peer in PEERS for one in _before_messages(peer)),
)  # fmt: skip
PACED: Final = (DIRECT, FLOOR, OURS, *HUBS, *PEERS)
"""Whose gaps between words and whose many streams are measured: Chat Completions before the model server."""
SERVERS: Final = tuple(dict.fromkeys(one.server for one in CONTESTANTS))
"""In the order in which they are started."""
GROUPS: Final = tuple(dict.fromkeys(server.group for server in SERVERS if server is not _UPSTREAM_SERVER))
"""What may be chosen."""


def versions() -> str:
    """The pinned versions of the programs of others."""
    portkey = json.loads((_PORTKEY.folder / "package.json").read_text(encoding="utf-8"))["dependencies"]
    environments = (_ROSETTA, _TENSORZERO, _LITELLM)
    of_python = ((environment.name, environment.pins[environment.name]) for environment in environments)
    return ", ".join(f"{name} {version}" for name, version in (*of_python, *portkey.items()))
