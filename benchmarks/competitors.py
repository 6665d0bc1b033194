"""Who is measured: one row each, with the command that starts its worker and what keeps it from being measured."""

from __future__ import annotations
import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from interop.servers.environments import NotInstalledError, PythonEnvironment, sources_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "CHAT_COMPETITORS",
    "CHAT_FAST",
    "CHAT_PLAIN",
    "CHUNKS_FAST",
    "CHUNKS_PLAIN",
    "CHUNK_COMPETITORS",
    "COMPATIBLE",
    "COMPETITORS",
    "EVENTS_FAST",
    "EVENTS_PLAIN",
    "FAST",
    "FLOOR",
    "GEMINI_COMPETITORS",
    "JSON_LOADS",
    "LITELLM",
    "MESSAGES_COMPETITORS",
    "OPENAI",
    "OPENAI_CHAT",
    "PADDED_CHAT_COMPETITORS",
    "PLAIN",
    "STREAM_TEXT",
    "TYPELESS_COMPETITORS",
    "Competitor",
    "Worker",
    "environment_of",
    "make_ready",
]

ROOT: Final = Path(__file__).resolve().parent.parent
_NODE_FOLDER: Final = ROOT / "benchmarks" / "node"


def _python(module: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", f"benchmarks.workers.{module}", *arguments)


def _needs(*modules: str) -> Callable[[], str | None]:
    def missing() -> str | None:
        absent = [module for module in modules if find_spec(module) is None]
        return f"{', '.join(absent)} is not installed" if absent else None

    return missing


def _node_missing() -> str | None:
    if shutil.which("node") is None:
        return "node is not installed"
    if not (_NODE_FOLDER / "node_modules" / "eventsource-parser").is_dir():
        return "eventsource-parser is not installed: run `npm ci` in benchmarks/node"
    return None


def _compatible_missing() -> str | None:
    if shutil.which("node") is None:
        return "node is not installed"
    if not (_NODE_FOLDER / "node_modules" / "@ai-sdk" / "openai-compatible").is_dir():
        return "@ai-sdk/openai-compatible is not installed: run `npm ci` in benchmarks/node"
    return None


def _sdk_missing() -> str | None:
    if shutil.which("node") is None:
        return "node is not installed"
    if not (ROOT / "tools" / "record_ai_sdk" / "node_modules" / "ai-7").is_dir():
        return "the AI SDK is not installed: run `make ai-sdk`"
    return None


@dataclass(frozen=True, slots=True)
class Competitor:
    """A reader that is measured.

    Attributes:
        name: What tables and figures call it.
        command: Starts its worker.
        missing: Says what keeps it from being measured, or None.
        every: It takes part in every n-th round; more than one for the slow.
        reads: What of the case is another for it: the stream that says the same on its wire, and how it is framed.
        checkout: The folder whose code runs.
    """

    name: str
    command: tuple[str, ...]
    missing: Callable[[], str | None]
    every: int = 1
    reads: Mapping[str, str] = field(default_factory=dict, hash=False)
    checkout: Path = ROOT


FAST: Final = Competitor("partstream, fast", _python("partstream_reader"), _needs("msgspec"))
PLAIN: Final = Competitor("partstream", _python("partstream_reader", "--without-msgspec"), _needs())
FLOOR: Final = Competitor("JavaScript floor", ("node", str(_NODE_FOLDER / "floor.mjs")), _node_missing)


def _of_peer(name: str, environment: PythonEnvironment, module: str, *arguments: str, every: int = 7) -> Competitor:
    def missing() -> str | None:
        return None if environment.is_installed() else f"{environment.name} is not installed: run `make bench`"

    command = (str(environment.program("python")), "-m", f"benchmarks.workers.{module}", *arguments)
    return Competitor(name, command, missing, every=every)


_PEERS: Final = ROOT / "benchmarks" / "peers"
_OPENAI: Final = PythonEnvironment("openai", _PEERS / "openai.lock")
_ANTHROPIC: Final = PythonEnvironment("anthropic", _PEERS / "anthropic.lock")
_GOOGLE: Final = PythonEnvironment("google-genai", _PEERS / "google-genai.lock")
_LITELLM: Final = PythonEnvironment("litellm-sdk", _PEERS / "litellm.lock")
_PYDANTIC_AI: Final = PythonEnvironment("pydantic-ai", _PEERS / "pydantic-ai.lock")

OPENAI: Final = _of_peer("openai package", _OPENAI, "openai_package", every=3)
HTTPX_SSE: Final = Competitor("httpx-sse + json", _python("httpx_sse_json"), _needs("httpx_sse", "httpx2"))

COMPETITORS: Final = (FAST, PLAIN, FLOOR, OPENAI, HTTPX_SSE)


CHUNKS_FAST: Final = Competitor(
    "partstream, fast, AI SDK chunks", _python("partstream_reader", "--protocol=ai-sdk"), _needs("msgspec")
)
CHUNKS_PLAIN: Final = Competitor(
    "partstream, AI SDK chunks", _python("partstream_reader", "--protocol=ai-sdk", "--without-msgspec"), _needs()
)
STREAM_TEXT: Final = Competitor(
    "streamText of ai 7", ("node", str(_NODE_FOLDER / "stream_text.mjs")), _sdk_missing, every=3
)

CHUNK_COMPETITORS: Final = (CHUNKS_FAST, CHUNKS_PLAIN, STREAM_TEXT)


JSON_LOADS: Final = Competitor("json.loads", _python("json_loads"), _needs())


def _of_typeless(reader: Competitor, name: str = "", protocol: str = "typeless") -> Competitor:
    return replace(reader, name=name or reader.name, command=(*reader.command, f"--protocol={protocol}"))


TYPELESS_COMPETITORS: Final = (
    _of_typeless(FAST),
    _of_typeless(FAST, f"{FAST.name}, without the fast path", "typeless-without-fast-path"),
    _of_typeless(PLAIN),
    _of_typeless(PLAIN, f"{PLAIN.name}, without the fast path", "typeless-without-fast-path"),
    replace(FLOOR, command=(*FLOOR.command, "--typeless")),
    JSON_LOADS,
)
"""The same readers, told to read frames without a type."""


CHAT_FAST: Final = replace(
    CHUNKS_FAST, name="partstream, fast, chunks", command=_python("partstream_reader", "--protocol=chat-completions")
)
CHAT_PLAIN: Final = replace(
    CHUNKS_PLAIN,
    name="partstream, chunks",
    command=_python("partstream_reader", "--protocol=chat-completions", "--without-msgspec"),
)
_SAME_TEXT: Final = {"stream": "events of the chat's text", "framing": "event+data"}
EVENTS_FAST: Final = replace(FAST, name="partstream, fast, OpenResponses events", reads=_SAME_TEXT)
EVENTS_PLAIN: Final = replace(PLAIN, name="partstream, OpenResponses events", reads=_SAME_TEXT)
OPENAI_CHAT: Final = _of_peer("openai package", _OPENAI, "openai_chat", every=3)
COMPATIBLE: Final = Competitor(
    "streamText of ai 7, openai-compatible",
    ("node", str(_NODE_FOLDER / "compatible.mjs")),
    _compatible_missing,
    every=3,
)
LITELLM: Final = _of_peer("LiteLLM", _LITELLM, "litellm_package")

PADDED_CHAT_COMPETITORS: Final = (
    CHAT_FAST,
    EVENTS_FAST,
    CHAT_PLAIN,
    EVENTS_PLAIN,
    replace(FLOOR, command=(*FLOOR.command, "--typeless")),
)
CHAT_COMPETITORS: Final = (
    *PADDED_CHAT_COMPETITORS,
    OPENAI_CHAT,
    _of_peer("openai package, helper", _OPENAI, "openai_chat", "--helper"),
    COMPATIBLE,
    LITELLM,
    _of_peer("pydantic-ai", _PYDANTIC_AI, "pydantic_ai_package"),
)
"""Readers of the chunks of Chat Completions; ours also on the events of OpenResponses with the same text."""


_SAME_MESSAGES: Final = {"stream": "events of the messages' text"}
MESSAGES_COMPETITORS: Final = (
    replace(
        FAST,
        name="partstream, fast, Messages events",
        command=_python("partstream_reader", "--protocol=anthropic-messages"),
    ),
    replace(EVENTS_FAST, reads=_SAME_MESSAGES),
    replace(
        PLAIN,
        name="partstream, Messages events",
        command=_python("partstream_reader", "--protocol=anthropic-messages", "--without-msgspec"),
    ),
    replace(EVENTS_PLAIN, reads=_SAME_MESSAGES),
    _of_peer("anthropic package", _ANTHROPIC, "anthropic_package", every=3),
    _of_peer("anthropic package, helper", _ANTHROPIC, "anthropic_package", "--helper"),
)
"""Readers of the events of Anthropic Messages; ours also on those of OpenResponses with the same text."""

GEMINI_COMPETITORS: Final = (
    replace(FAST, name="partstream, fast, Gemini", command=_python("partstream_reader", "--protocol=gemini")),
    replace(
        PLAIN,
        name="partstream, Gemini",
        command=_python("partstream_reader", "--protocol=gemini", "--without-msgspec"),
    ),
    _of_peer("google-genai package", _GOOGLE, "google_package"),
)
"""Readers of the chunks of Gemini."""


def make_ready() -> None:
    """Installs what the peers need where it is missing and can be had; who is left out is said with the figures."""
    if (_node_missing() or _compatible_missing()) and shutil.which("npm") is not None:
        subprocess.run(["npm", "ci", "--silent", "--ignore-scripts"], cwd=_NODE_FOLDER, check=False, timeout=120)
    for environment in (_OPENAI, _ANTHROPIC, _GOOGLE, _LITELLM, _PYDANTIC_AI):
        with suppress(NotInstalledError):
            environment.install()


def environment_of(checkout: Path) -> dict[str, str]:
    """The environment in which Python imports Partstream from a checkout, wherever it is installed from."""
    found = (*map(str, sources_of(checkout)), os.environ.get("PYTHONPATH", ""))
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, found))}


class Worker:
    """A competitor's process, from `with` to its end."""

    def __init__(self, competitor: Competitor) -> None:
        self.competitor = competitor
        self._process = subprocess.Popen(
            competitor.command,
            cwd=competitor.checkout,
            env=environment_of(competitor.checkout),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=10)

    def ask(self, command: str, stream: str, **fields: str) -> dict[str, Any]:
        """Sends a command and waits for its answer.

        Raises:
            RuntimeError: The worker ended instead; it has said why on standard error.
        """
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps({"command": command, "stream": stream, **fields}) + "\n")
        stdin.flush()
        line = stdout.readline()
        if not line:
            raise RuntimeError(f"the worker of {self.competitor.name!r} ended on {command} {stream}")
        answer: dict[str, Any] = json.loads(line)
        return answer
