"""The parsers: a row each, with where it is installed, how it is run, and the wires that it reads."""

from __future__ import annotations
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from interop.clients.official import find_node
from interop.servers.environments import ROOT, NodeEnvironment, PythonEnvironment
from partstream import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    from interop.servers.environments import Environment

__all__ = ["PARSERS", "Parser"]

_HERE: Final = Path(__file__).resolve().parent
_PEERS: Final = ROOT / "benchmarks" / "peers"
_NODE: Final = NodeEnvironment(ROOT / "interop" / "clients" / "served" / "node")
_OPENAI: Final = PythonEnvironment("openai", _PEERS / "openai.lock")
_ANTHROPIC: Final = PythonEnvironment("anthropic", _PEERS / "anthropic.lock")
_GOOGLE: Final = PythonEnvironment("google-genai", _PEERS / "google-genai.lock")
_PYDANTIC_AI: Final = PythonEnvironment("pydantic-ai", _PEERS / "pydantic-ai.lock")
_LITELLM: Final = PythonEnvironment("litellm-sdk", _PEERS / "litellm.lock")
_ANY_LLM: Final = PythonEnvironment("any-llm", _HERE / "any_llm.lock")

_RESPONSES: Final = "openresponses"
_CHAT: Final = "chat-completions"
_MESSAGES: Final = "anthropic-messages"
_GEMINI: Final = "gemini"
_OLLAMA: Final = "ollama"


@dataclass(frozen=True, slots=True)
class Parser:
    """A package that reads streams.

    Attributes:
        name: In the table; `--only` takes it.
        version: The pinned version.
        environment: Where it is installed; None for this project's own.
        worker: The program that runs it.
        wires: By protocol, what of the package reads it.
        unread: What it has no field for, by protocol: not judged.
    """

    name: str
    version: str
    environment: Environment | None
    worker: str
    wires: dict[str, str]
    unread: dict[str, tuple[str, ...]]

    def command(self) -> list[str]:
        """The command line of its worker."""
        worker = str(_HERE / "workers" / self.worker)
        if self.worker.endswith(".mjs"):
            return [str(find_node(_NODE.folder)), worker]
        python = sys.executable if self.environment is None else str(self.environment.program("python"))
        return [python, worker]


def _parser(
    name: str,
    version: str,
    environment: Environment | None,
    worker: str,
    wires: dict[str, str],
    unread: Callable[[str], tuple[str, ...]] = lambda protocol: (),
) -> Parser:
    return Parser(name, version, environment, worker, wires, {protocol: unread(protocol) for protocol in wires})


PARSERS: Final = (
    _parser(
        "partstream",
        __version__,
        None,
        "own.py",
        dict.fromkeys((_RESPONSES, _CHAT, _MESSAGES, _GEMINI, _OLLAMA), "`connect`"),
    ),
    _parser(
        "openai",
        _OPENAI.pins["openai"],
        _OPENAI,
        "openai_python.py",
        {_RESPONSES: "`responses.stream`", _CHAT: "`chat.completions.stream`"},
        lambda protocol: ("thinking",) if protocol == _CHAT else (),
    ),
    _parser(
        "anthropic",
        _ANTHROPIC.pins["anthropic"],
        _ANTHROPIC,
        "anthropic_python.py",
        {_MESSAGES: "`messages.stream`"},
    ),
    _parser(
        "google-genai",
        _GOOGLE.pins["google-genai"],
        _GOOGLE,
        "google_python.py",
        {_GEMINI: "`generate_content_stream`"},
    ),
    _parser(
        "pydantic-ai",
        _PYDANTIC_AI.pins["pydantic-ai-slim"],
        _PYDANTIC_AI,
        "pydantic_ai_python.py",
        {
            _RESPONSES: "`OpenAIResponsesModel`",
            _CHAT: "`OpenAIChatModel`",
            _MESSAGES: "`AnthropicModel`",
            _GEMINI: "`GoogleModel`",
        },
    ),
    _parser(
        "LiteLLM",
        _LITELLM.pins["litellm"],
        _LITELLM,
        "litellm_python.py",
        {_CHAT: "`openai/`", _MESSAGES: "`anthropic/`", _GEMINI: "`gemini/`", _OLLAMA: "`ollama_chat/`"},
    ),
    _parser(
        "any-llm",
        _ANY_LLM.pins["any-llm-sdk"],
        _ANY_LLM,
        "any_llm_python.py",
        {_CHAT: "`openai:`", _MESSAGES: "`anthropic:`"},
    ),
    _parser(
        "AI SDK",
        "7.0.173",
        _NODE,
        "ai_sdk.mjs",
        {
            _RESPONSES: "`@ai-sdk/openai`",
            _CHAT: "`@ai-sdk/openai-compatible`",
            _MESSAGES: "`@ai-sdk/anthropic`",
            _GEMINI: "`@ai-sdk/google`",
        },
    ),
)
