"""The targets: a row each, with where it is installed and how the kit tests it; starts nothing."""

from __future__ import annotations
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from interop.servers.environments import ROOT, NodeEnvironment, PythonEnvironment
from interop.servers.foreign import CHAT, FOREIGN_SERVERS, MESSAGES, RESPONSES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interop.servers.environments import Environment
    from interop.servers.foreign import ForeignServer

__all__ = ["TARGETS", "ForeignTarget"]

_HERE: Final = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class ForeignTarget:
    """Software of another project.

    Attributes:
        name: In the table; `--only` takes it.
        package: Its package and version.
        kind: How it is tested, in words.
        protocols: What it speaks, to the model server behind it or to its clients.
        environment: Where it is installed.
        provider: The factory below `interop/conformance/providers` that makes a provider of it; empty for a server.
        server: For a server, the row that says how it is started.
        arguments: Further arguments of `partstream conformance`.
        is_driven_here: Whether its provider runs in this environment and starts it as a program.
    """

    name: str
    package: str
    kind: str
    protocols: tuple[str, ...]
    environment: Environment
    provider: str = ""
    server: ForeignServer | None = None
    arguments: tuple[str, ...] = ()
    is_driven_here: bool = False

    @property
    def python(self) -> str:
        """The Python that runs the kit: where the package is, or our own."""
        has_own = isinstance(self.environment, PythonEnvironment) and self.server is None and not self.is_driven_here
        return str(self.environment.program("python")) if has_own else sys.executable


_AROUND: Final = "a provider around it; the kit is its model server"


def _package(name: str, provider: str, lock: str, package: str, *protocols: str) -> ForeignTarget:
    environment = PythonEnvironment(f"targets-{lock}", _HERE / "locks" / f"{lock}.lock")
    return ForeignTarget(name, f"{package} {environment.pins[package]}", _AROUND, protocols, environment, provider)


_ASKED: Final = "asked at its base URL; the prompts say what to do"
_CALL: Final = "What is the weather in Lisbon?"
_PROMPTS: Final[Mapping[str, str]] = {
    "text": "Say hello.",
    "one-call": _CALL,
    "two-calls": "What is the weather in two cities?",
    "thinking-then-text": "Think: what is six times seven?",
    "tool-result-text": _CALL,
}
"""What the configurations of these servers listen to, by scenario (`interop/servers/`)."""
_FRAMEWORKS: Final = "models_of_frameworks.py"


def _row(name: str) -> ForeignServer:
    return next(server for server in FOREIGN_SERVERS if server.name == name)


def _server(name: str, *scenarios: str, protocols: tuple[str, ...] = (CHAT,)) -> ForeignTarget:
    row = _row(name)
    prompts = tuple(word for slug in scenarios for word in ("--prompt", f"{slug}={_PROMPTS[slug]}"))
    tools = () if any("call" in slug for slug in scenarios) else ("--capability", "tool_calling=false")
    thinks = () if "thinking-then-text" in scenarios else ("--capability", "thinking=false")
    return ForeignTarget(
        name, row.package, _ASKED, protocols, row.environment, server=row, arguments=(*prompts, *tools, *thinks)
    )


_AI_SDK: Final = ForeignTarget(
    "AI SDK",
    "ai 7.0.173",
    _AROUND,
    (CHAT, RESPONSES, MESSAGES),
    NodeEnvironment(ROOT / "interop" / "clients" / "served" / "node"),
    "ai_sdk.py:make",
)
_PROXY: Final = _row("LiteLLM proxy")

_ALL: Final = ("text", "one-call", "two-calls", "thinking-then-text", "tool-result-text")

TARGETS: Final = (
    _package("openai", "openai_package.py:make", "libraries", "openai", CHAT),
    _package("LiteLLM", "litellm_package.py:make", "litellm", "litellm", CHAT, MESSAGES),
    _package("any-llm", "any_llm_package.py:make", "any-llm", "any-llm-sdk", CHAT, MESSAGES),
    _package("Pydantic AI", f"{_FRAMEWORKS}:pydantic_ai", "libraries", "pydantic-ai-slim", CHAT, RESPONSES, MESSAGES),
    _package("LangChain, OpenAI", f"{_FRAMEWORKS}:langchain", "libraries", "langchain-openai", CHAT, RESPONSES),
    _package("LangChain, Anthropic", f"{_FRAMEWORKS}:langchain", "libraries", "langchain-anthropic", MESSAGES),
    _package("OpenAI Agents SDK", f"{_FRAMEWORKS}:openai_agents", "libraries", "openai-agents", RESPONSES, CHAT),
    _AI_SDK,
    ForeignTarget(
        _PROXY.name,
        _PROXY.package,
        "a proxy between our client and the kit",
        (CHAT, RESPONSES, MESSAGES),
        _PROXY.environment,
        "litellm_proxy.py:make",
        is_driven_here=True,
    ),
    _server("aimock", *_ALL, protocols=(CHAT, RESPONSES, MESSAGES)),
    _server("fakellm", "text", "one-call", "two-calls"),
    _server("stubllm", "text", "one-call", "two-calls"),
    _server("mockllm", "text"),
    _server("mock-llm", "text"),
)
"""In the order of the table."""
