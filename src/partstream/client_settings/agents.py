"""The programs that people talk to, and what each has to be told of a server. Versions: docs/clients.md.

Sources: the documentation of each, and a run of each against a server on loopback, whose requests are kept in
`tests/fixtures/agents`.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

from partstream.client_settings.client import Client, ClientSettingsFile, FileSettings, Settings
from partstream.client_settings.json_files import JsonFile
from partstream.client_settings.toml_files import TomlFile
from partstream.client_settings.yaml_files import YamlList, YamlNames

if TYPE_CHECKING:
    from partstream.client_settings.server import Server, TokenPlace
    from partstream.codec.settings_files import Key

__all__ = ["AGENTS", "CHAT", "MESSAGES", "RESPONSES", "WEBSOCKET"]

RESPONSES: Final = "responses"
WEBSOCKET: Final = "websocket"
CHAT: Final = "chat"
MESSAGES: Final = "messages"

_PROVIDER: Final = "partstream"
_USUAL_WINDOW: Final = 128_000
_USUAL_OUTPUT: Final = 16_384
"""Tokens, for clients that have to be told a number where no server tells one."""

_REFUSALS: Final = (
    "A token that the server refuses is status 401; a key that the provider's own server refuses, and a policy that "
    "forbids the request, are status 403."
)

_CODEX: Final = ClientSettingsFile(".codex", ("config.toml",), "CODEX_HOME")
_CLAUDE: Final = ClientSettingsFile(".claude", ("settings.json",), "CLAUDE_CONFIG_DIR")
_OPENCODE: Final = ClientSettingsFile(
    ".config", ("opencode/opencode.json", "opencode/opencode.jsonc"), "XDG_CONFIG_HOME"
)
_QWEN: Final = ClientSettingsFile(".qwen", ("settings.json",))
_GEMINI: Final = ClientSettingsFile(".gemini", ("settings.json",))
_AIDER: Final = ClientSettingsFile("", (".aider.conf.yml",))
_LLM: Final = ClientSettingsFile(
    ".config/io.datasette.llm",
    ("extra-openai-models.yaml",),
    "LLM_USER_PATH",
    "Library/Application Support/io.datasette.llm",
)
_OPENCODE_PACKAGES: Final = {
    CHAT: "@ai-sdk/openai-compatible",
    RESPONSES: "@ai-sdk/openai",
    MESSAGES: "@ai-sdk/anthropic",
}


def _codex(server: Server, wire: str) -> Settings:
    provider: dict[str, Any] = {"name": "Partstream", "base_url": server.v1, "wire_api": "responses"}
    provider |= _codex_key(server)
    if wire == WEBSOCKET:
        provider["supports_websockets"] = True
    values: dict[Key, Any] = {("model",): server.model, ("model_provider",): _PROVIDER}
    if server.window is not None:
        values["model_context_window",] = server.window
    values["model_providers", _PROVIDER] = provider
    return Settings((FileSettings(_CODEX, TomlFile(), values),))


def _codex_key(server: Server) -> dict[str, Any]:
    """Where Codex finds the token. Only where a command says it, Codex asks for a list of models.

    From an entry of that list it takes the instructions in place of its own, so it is told to ask for none (tried with
    0.169.0; see `partstream.protocols.model_documents`).
    """
    token = server.token
    if not token.is_needed:
        return {}
    if token.file is None:
        return {"env_key": token.variable}
    program, *arguments = token.command
    return {
        "auth": {"command": program, "args": arguments},
        "model_catalog_url": f"{server.v1}/models?models=none",
    }


def _claude(server: Server, _wire: str) -> Settings:
    asked = {
        "ANTHROPIC_BASE_URL": server.root,
        "ANTHROPIC_MODEL": server.model,
        "ANTHROPIC_DEFAULT_HAIKU_MODEL": server.model,
        "ANTHROPIC_DEFAULT_SONNET_MODEL": server.model,
        "ANTHROPIC_DEFAULT_OPUS_MODEL": server.model,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_ATTRIBUTION_HEADER": "0",
        **({} if server.window is None else {"CLAUDE_CODE_MAX_CONTEXT_TOKENS": str(server.window)}),
    }
    values: dict[Key, Any] = {("env", name): value for name, value in asked.items()}
    values["apiKeyHelper",] = shlex.join(server.token.command)
    environment: dict[str, str | TokenPlace] = {**asked, "ANTHROPIC_AUTH_TOKEN": server.token}
    return Settings((FileSettings(_CLAUDE, JsonFile(), values),), environment, is_environment_enough=True)


def _opencode(server: Server, wire: str) -> Settings:
    limit = {"context": server.window or _USUAL_WINDOW, "output": server.output or _USUAL_OUTPUT}
    provider = {
        "npm": _OPENCODE_PACKAGES[wire],
        "name": "Partstream",
        "options": {
            "baseURL": server.v1,
            "apiKey": server.token.in_braces,
        },
        "models": {server.model: {"limit": limit}},
    }
    values = {
        ("provider", _PROVIDER): provider,
        ("model",): f"{_PROVIDER}/{server.model}",
        ("small_model",): f"{_PROVIDER}/{server.model}",
    }
    return Settings((FileSettings(_OPENCODE, JsonFile(), values),))


def _copilot(server: Server, wire: str) -> Settings:
    kinds = {CHAT: {}, RESPONSES: {"COPILOT_PROVIDER_WIRE_API": "responses"}, MESSAGES: {}}
    return Settings(
        environment={
            "COPILOT_PROVIDER_TYPE": "anthropic" if wire == MESSAGES else "openai",
            "COPILOT_PROVIDER_BASE_URL": server.root if wire == MESSAGES else server.v1,
            **kinds[wire],
            "COPILOT_PROVIDER_BEARER_TOKEN": server.token,
            "COPILOT_MODEL": server.model,
            "COPILOT_OFFLINE": "true",
        },
        is_environment_enough=True,
    )


def _qwen(server: Server, _wire: str) -> Settings:
    model: dict[str, Any] = {"id": server.model, "name": server.model, "baseUrl": server.v1}
    model["envKey"] = server.token.variable
    if server.window is not None:
        model["generationConfig"] = {"contextWindowSize": server.window}
    values = {
        ("modelProviders", "openai"): [model],
        ("security", "auth", "selectedType"): "openai",
        ("model", "name"): server.model,
    }
    return Settings((FileSettings(_QWEN, JsonFile(), values),), _token_as_variable(server.token))


def _token_as_variable(token: TokenPlace) -> dict[str, str | TokenPlace]:
    """The variable of the token, for clients that look nowhere else."""
    return {} if token.file is None and token.is_needed else {token.variable: token}


def _gemini(server: Server, _wire: str) -> Settings:
    return Settings(
        (FileSettings(_GEMINI, JsonFile(), {("security", "auth", "selectedType"): "gemini-api-key"}),),
        {
            "GOOGLE_GEMINI_BASE_URL": server.root,
            "GEMINI_API_KEY": server.token,
            "GEMINI_MODEL": server.model,
        },
    )


def _aider(server: Server, _wire: str) -> Settings:
    values: dict[Key, Any] = {("openai-api-base",): server.v1, ("model",): f"openai/{server.model}"}
    return Settings((FileSettings(_AIDER, YamlNames(), values),), {"OPENAI_API_KEY": server.token})


def _llm(server: Server, _wire: str) -> Settings:
    name = f"{_PROVIDER}/{server.model}"
    entry = {
        "model_id": name,
        "model_name": server.model,
        "api_base": server.v1,
        "api_key_name": _PROVIDER,
        "can_stream": True,
        "supports_tools": True,
        "vision": True,
    }
    files = (FileSettings(_LLM, YamlList(), {("model_id", name): entry}),)
    return Settings(files, {"OPENAI_API_KEY": server.token})


AGENTS: Final = (
    Client(
        "codex",
        "Codex CLI",
        "npm: @openai/codex",
        (RESPONSES, WEBSOCKET),
        _codex,
        ("codex",),
        (
            "Codex knows no limits of the model unless the server tells its context window.",
            (
                "Codex says that it found no metadata of the model, and works with its own instructions: "
                "`model_catalog_url` asks for a list without models, because from an entry Codex would take shorter "
                "instructions in place of its own. `model_reasoning_effort` in its file sets the effort."
            ),
            (
                f"{_REFUSALS} Codex asks again all the same, for about ten seconds: five times, and eleven times after "
                "401 where a command says the token. Then it shows the server's message."
            ),
            "`--wire websocket` keeps one connection for a session, and sends only what is new in a turn.",
        ),
    ),
    Client(
        "claude",
        "Claude Code",
        "npm: @anthropic-ai/claude-code",
        (MESSAGES,),
        _claude,
        ("claude",),
        (
            "The three default models are set too: Claude Code asks the small one for titles and summaries.",
            "What `--write` puts there reads the token by a command; a saved login stays, and is not used.",
            (
                f"{_REFUSALS} Where a command says the token, Claude Code asks again all the same, up to ten times "
                "with longer and longer pauses, for minutes. Where `ANTHROPIC_AUTH_TOKEN` holds it, it ends at once."
            ),
        ),
    ),
    Client(
        "opencode",
        "opencode",
        "npm: opencode-ai",
        (CHAT, RESPONSES, MESSAGES),
        _opencode,
        ("opencode",),
        ("Each session asks once more for its title; this answer is counted too.",),
    ),
    Client("copilot-cli", "Copilot CLI", "npm: @github/copilot", (CHAT, RESPONSES, MESSAGES), _copilot, ("copilot",)),
    Client(
        "qwen-code",
        "qwen-code",
        "npm: @qwen-code/qwen-code",
        (CHAT,),
        _qwen,
        ("qwen",),
        ("After an answer, it may ask once more what to remember of it; this answer is counted too.",),
    ),
    Client(
        "gemini-cli",
        "Gemini CLI",
        "npm: @google/gemini-cli",
        ("gemini",),
        _gemini,
        ("gemini",),
        ("A saved Google login wins over the key; the file chooses the key.",),
    ),
    Client("aider", "aider", "PyPI: aider-chat", (CHAT,), _aider, ("aider",)),
    Client(
        "llm",
        "llm",
        "PyPI: llm",
        (CHAT,),
        _llm,
        ("llm", "-m", "partstream/{model}"),
        ("`llm keys set partstream` keeps the token instead, and asks for it.",),
    ),
)
"""The rows, as the page lists them."""
