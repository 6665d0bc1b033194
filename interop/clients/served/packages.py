"""The packages that ask `partstream serve`, at pinned versions, with what each is known to show otherwise."""

from __future__ import annotations
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from interop.clients.official import find_node
from interop.servers.environments import NodeEnvironment, PythonEnvironment
from interop.servers.foreign import Fault

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interop.servers.environments import Environment

__all__ = ["FOLDER", "PACKAGES", "Package", "Way"]

FOLDER: Final = Path(__file__).resolve().parent
_NODE: Final = NodeEnvironment(FOLDER / "node")
_PYTHON: Final = PythonEnvironment("clients-served", FOLDER / "python" / "requirements.lock")
_APART: Final = {
    f"{name}_python.py": PythonEnvironment(f"clients-served-{name}", FOLDER / "python" / f"{name}.lock")
    for name in ("litellm", "pydantic_ai")
}
"""The environments of programs whose packages want others at other versions than the newest."""


class Way(NamedTuple):
    """A way in which programs ask with a package.

    Attributes:
        called: What it is called.
        protocol: The protocol whose base URL it gets.
    """

    called: str
    protocol: str


@dataclass(frozen=True, slots=True)
class Package:
    """A package that asks.

    Attributes:
        name: What it is called; `--only` takes it.
        package: Its package and version, as its registry has them.
        script: The program that asks with it, which gets the base URL, the key and a way.
        ways: The ways of asking by the words that the program has for them.
        faults: What it is known to show otherwise; `protocols` of a fault are words of ways here.
        not_tried: Why it is not asked for a trial, by the name of the trial, and the words of the ways that it is true
            of; empty for all.
    """

    name: str
    package: str
    script: str
    ways: Mapping[str, Way]
    faults: tuple[Fault, ...] = ()
    not_tried: Mapping[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)

    @property
    def environment(self) -> Environment:
        """Where it is installed."""
        return _NODE if self.script.endswith(".js") else self._python

    @property
    def _python(self) -> PythonEnvironment:
        return _APART.get(self.script, _PYTHON)

    def command(self) -> list[str]:
        """The command that runs it, without its arguments."""
        if self.script.endswith(".js"):
            return [find_node(FOLDER / "node"), str(FOLDER / "node" / self.script)]
        return [str(self._python.program("python")), str(FOLDER / "python" / self.script)]

    def why_not(self, trial: str, way: str) -> str | None:
        """Why a way is not asked for a trial, or None."""
        why, ways = self.not_tried.get(trial, (None, ()))
        return why if not ways or way in ways else None


_CHAT: Final = "chat-completions"
_RESPONSES: Final = "openresponses"
_MESSAGES: Final = "anthropic-messages"
_GEMINI: Final = "gemini"
_INTERACTIONS: Final = "gemini-interactions"
_OLLAMA: Final = "ollama"
_AG_UI: Final = "ag-ui"

_EVERY_429: Final = "it asks again after every 429, whatever the header `x-should-retry` says"
_DOCUMENT: Final = "a document cannot be left in its middle by this program"

PACKAGES: Final = (
    Package(
        "openai-python",
        "openai 3.57.0",
        "openai_python.py",
        {
            "responses": Way("`responses.stream()`", _RESPONSES),
            "stored": Way("`responses.create()`, `previous_response_id`", _RESPONSES),
            "chat": Way("`chat.completions.stream()`", _CHAT),
        },
        not_tried={"cancel": (_DOCUMENT, ("stored",))},
    ),
    Package(
        "openai-node",
        "openai 7.59.0",
        "openai_node.js",
        {
            "responses": Way("`responses.stream()`", _RESPONSES),
            "chat": Way("`chat.completions.runTools()`", _CHAT),
        },
    ),
    Package(
        "anthropic-python",
        "anthropic 2.14.0",
        "anthropic_python.py",
        {
            "stream": Way("`messages.stream()`", _MESSAGES),
            "runner": Way("`beta.messages.tool_runner()`", _MESSAGES),
            "document": Way("`messages.create()`", _MESSAGES),
        },
        not_tried={"cancel": (_DOCUMENT, ("document",))},
    ),
    Package(
        "anthropic-node",
        "@anthropic-ai/sdk 1.14.0",
        "anthropic_node.js",
        {"stream": Way("`messages.stream()`", _MESSAGES), "runner": Way("`beta.messages.toolRunner()`", _MESSAGES)},
    ),
    Package(
        "google-genai",
        "google-genai 3.6.1",
        "google_genai_python.py",
        {
            "stream": Way("`generate_content_stream()`, functions called by itself", _GEMINI),
            "document": Way("`generate_content()`, functions called by itself", _GEMINI),
            "interactions": Way("`interactions.create(stream=True)`", _INTERACTIONS),
        },
        (Fault("spent budget", "requests instead of one", _EVERY_429, ("interactions",)),),
        not_tried={"cancel": (_DOCUMENT, ("document",))},
    ),
    Package("ollama-python", "ollama 0.6.3", "ollama_python.py", {"chat": Way("`chat(stream=True)`", _OLLAMA)}),
    Package(
        "AI SDK",
        "ai 7.0.173",
        "ai_sdk.js",
        {
            "responses": Way("`streamText`, @ai-sdk/openai 4.0.118", _RESPONSES),
            "chat": Way("`streamText`, @ai-sdk/openai 4.0.118 `.chat()`", _CHAT),
            "compatible": Way("`streamText`, @ai-sdk/openai-compatible 3.0.92", _CHAT),
            "open": Way("`streamText`, @ai-sdk/open-responses 2.0.36", _RESPONSES),
            "anthropic": Way("`streamText`, @ai-sdk/anthropic 4.0.105", _MESSAGES),
            "google": Way("`streamText`, @ai-sdk/google 4.0.121", _GEMINI),
        },
        (
            Fault(
                "spent budget",
                "requests instead of one",
                _EVERY_429,
                ("responses", "chat", "compatible", "open", "google"),
            ),
            Fault("thinking", "thinking: ''", "@ai-sdk/openai reads no `reasoning_content`", ("chat",)),
        ),
    ),
    Package("ag-ui-client", "@ag-ui/client 1.0.0", "ag_ui_client.js", {"agent": Way("`HttpAgent.runAgent()`", _AG_UI)}),
    Package(
        "LangChain",
        "langchain-openai 1.7.4, langchain-anthropic 1.7.10, langchain-google-genai 4.4.3, langchain-ollama 1.1.0",
        "langchain_python.py",
        {
            "chat": Way("`ChatOpenAI`", _CHAT),
            "responses": Way("`ChatOpenAI(use_responses_api=True)`", _RESPONSES),
            "messages": Way("`ChatAnthropic`", _MESSAGES),
            "gemini": Way("`ChatGoogleGenerativeAI`", _GEMINI),
            "ollama": Way("`ChatOllama`", _OLLAMA),
        },
        (
            Fault("thinking", "thinking: ''", "`ChatOpenAI` reads no `reasoning_content`", ("chat",)),
            Fault("spent budget", "requests instead of one", _EVERY_429, ("gemini",)),
        ),
    ),
    Package(
        "LiteLLM",
        "litellm 1.110.2",
        "litellm_python.py",
        {
            "chat": Way("`completion(stream=True)`, `openai/`", _CHAT),
            "anthropic": Way("`completion(stream=True)`, `anthropic/`", _MESSAGES),
            "gemini": Way("`completion(stream=True)`, `gemini/`", _GEMINI),
            "ollama": Way("`completion(stream=True)`, `ollama_chat/`", _OLLAMA),
            "responses": Way("`responses(stream=True)`", _RESPONSES),
            "messages": Way("`anthropic_messages()`", _MESSAGES),
        },
        (
            Fault(
                "two tool rounds",
                "tools: [['weather', {'place': 'Lisbon'}], ['time', {'place': 'Lisb",
                "it puts what a tool gave into an object, as its `content`",
                ("gemini",),
            ),
            Fault("cancel", "Timeout", "`responses()` returns no event while the model waits", ("responses",)),
        ),
        not_tried={"cancel": (_DOCUMENT, ("messages",))},
    ),
    Package(
        "pydantic-ai",
        "pydantic-ai-slim 2.68.0",
        "pydantic_ai_python.py",
        {
            "chat": Way("`OpenAIChatModel`", _CHAT),
            "responses": Way("`OpenAIResponsesModel`", _RESPONSES),
            "messages": Way("`AnthropicModel`", _MESSAGES),
            "gemini": Way("`GoogleModel`", _GEMINI),
        },
    ),
    Package(
        "OpenAI Agents SDK",
        "openai-agents 0.24.0",
        "openai_agents_python.py",
        {
            "responses": Way("`OpenAIResponsesModel`", _RESPONSES),
            "chat": Way("`OpenAIChatCompletionsModel`", _CHAT),
        },
    ),
    Package(
        "llm",
        "llm 0.36",
        "llm_python.py",
        {"chain": Way("`model.chain()`", _CHAT)},
        (Fault("thinking", "thinking: ''", "it reads no `reasoning_content`"),),
    ),
)
"""Every package that asks, in the order of the table."""
