"""The official clients, at pinned versions, with what each is known to show otherwise than the upstream says it."""

from __future__ import annotations
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Final

from interop.clients.anthropic_jobs import WIRE as ANTHROPIC_MESSAGES
from interop.clients.chat_jobs import WIRE as CHAT_COMPLETIONS
from interop.clients.gemini_jobs import WIRE as GEMINI
from interop.clients.ollama_jobs import WIRE as OLLAMA
from interop.servers.environments import NodeEnvironment, NotInstalledError, PythonEnvironment
from interop.servers.foreign import Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from interop.clients.wires import Wire
    from interop.servers.environments import Environment

__all__ = ["CLIENTS", "FOLDER", "Client", "find_node"]

FOLDER: Final = Path(__file__).resolve().parent
_NODE: Final = NodeEnvironment(FOLDER / "node")
_PYTHON: Final = PythonEnvironment("clients-python", FOLDER / "python" / "requirements.lock")


@dataclass(frozen=True, slots=True)
class Client:
    """A client that is run here.

    Attributes:
        name: What it is called; `--only` takes it.
        package: Its package and version, as its registry has them.
        wire: What it speaks.
        environment: Where it is installed.
        program: Gives the command that runs it, without its arguments: the base URL and a mode.
        modes: The ways in which programs ask with it, and what each is called.
        documents: The modes that ask for a document in place of a stream.
        faults: What it is known to show otherwise; `protocols` of a fault are modes here.
    """

    name: str
    package: str
    wire: Wire
    environment: Environment
    program: Callable[[], list[str]]
    modes: Mapping[str, str]
    documents: frozenset[str]
    faults: tuple[Fault, ...] = ()


def _python(script: str) -> Callable[[], list[str]]:
    return lambda: [str(_PYTHON.program("python")), str(FOLDER / "python" / script)]


def _node(script: str) -> Callable[[], list[str]]:
    return lambda: [find_node(FOLDER / "node"), str(FOLDER / "node" / script)]


def find_node(folder: Path) -> str:
    """A Node that runs all of them, which ask for version 22: the one that the packages of a folder bring, else the
    machine's.

    Raises:
        NotInstalledError: There is none.
    """
    brought = sorted((folder / "node_modules").glob("node-linux-*/bin/node"))
    found = str(brought[0]) if brought else which("node")
    if found is None:
        raise NotInstalledError("node is missing")
    return found


_CUT: Final = "its helper raises where an answer is cut, whatever was said until then"
_LAST_PIECE: Final = "of a field that the official types do not have, its helper keeps the last piece alone"

CLIENTS: Final = (
    Client(
        "openai-python",
        "openai 3.57.0",
        CHAT_COMPLETIONS,
        _PYTHON,
        _python("openai_python.py"),
        {"chunks": "`create(stream=True)`", "helper": "`stream()`", "document": "`create()`"},
        frozenset({"document"}),
        (
            Fault("cut at a length", "LengthFinishReasonError", _CUT, ("helper",)),
            Fault("cut by a filter", "ContentFilterFinishReasonError", _CUT, ("helper",)),
        ),
    ),
    Client(
        "openai-node",
        "openai 7.59.0",
        CHAT_COMPLETIONS,
        _NODE,
        _node("openai_node.js"),
        {"chunks": "`create({ stream: true })`", "helper": "`stream()`", "document": "`create()`"},
        frozenset({"document"}),
        (
            Fault("thinking", "thinking of round 1", _LAST_PIECE, ("helper",)),
            Fault("two calls, then text", "thinking of round 1", _LAST_PIECE, ("helper",)),
            Fault("sources", "sources of round 1", _LAST_PIECE, ("helper",)),
        ),
    ),
    Client(
        "AI SDK",
        "@ai-sdk/openai-compatible 3.0.92",
        CHAT_COMPLETIONS,
        _NODE,
        _node("ai_sdk.js"),
        {"streamText": "`streamText`", "generateText": "`generateText`"},
        frozenset({"generateText"}),
        (Fault("sources", "sources of round 1: [] instead", "it reads no annotations"),),
    ),
    Client(
        "anthropic-python",
        "anthropic 2.14.0",
        ANTHROPIC_MESSAGES,
        _PYTHON,
        _python("anthropic_python.py"),
        {"events": "`create(stream=True)`", "helper": "`stream()`", "document": "`create()`"},
        frozenset({"document"}),
    ),
    Client(
        "anthropic-node",
        "@anthropic-ai/sdk 1.14.0",
        ANTHROPIC_MESSAGES,
        _NODE,
        _node("anthropic_node.js"),
        {"events": "`create({ stream: true })`", "helper": "`stream()`", "document": "`create()`"},
        frozenset({"document"}),
    ),
    Client(
        "google-genai",
        "google-genai 3.6.1",
        GEMINI,
        _PYTHON,
        _python("google_genai_python.py"),
        {
            "chunks": "`generate_content_stream()`",
            "chat": "`chats` with `send_message_stream()`",
            "document": "`generate_content()`",
        },
        frozenset({"document"}),
    ),
    Client(
        "ollama-python",
        "ollama 0.6.3",
        OLLAMA,
        _PYTHON,
        _python("ollama_python.py"),
        {
            "chunks": "`chat(stream=True)`",
            "async": "`AsyncClient`, `chat(stream=True)`",
            "document": "`chat()`",
        },
        frozenset({"document"}),
        (
            Fault("two calls, then text", "calls of round 1", "its types have no field for the id of a call"),
            Fault("sources", "sources of round 1: [] instead", "the wire has no place for sources"),
        ),
    ),
)
