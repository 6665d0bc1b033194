"""The settings of requests that only Chat Completions has a place for: they win over what is known of a server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from partstream.protocols.chat_completions.efforts import EffortAs
from partstream.protocols.chat_completions.reasoning_back import ReasoningBack
from partstream.protocols.known_servers import known_server
from partstream.protocols.protocol import OwnSettings
from partstream.settings.checks import shortened
from partstream.settings.errors import ConfigurationError
from partstream.settings.kinds import Choice, choice, text
from partstream.settings.row import Setting

__all__ = [
    "NO_SERVER",
    "OWN_SETTINGS",
    "SERVERS",
    "CacheControl",
    "ChatCompletionsSettings",
    "EmptyContent",
    "MaxTokensField",
]

NO_SERVER: Final = "unknown"
"""The server of which nothing is known."""

SERVERS: Final = (
    *(
        "openai",
        "azure",
        "gemini",
        "openrouter",
        "ollama",
        "lm-studio",
        "llama.cpp",
        "vllm",
        "sglang",
        "deepseek",
        "groq",
        "mistral",
    ),
    *("xai", "together", "fireworks", "cerebras", "moonshot", "zhipu", "qwen", "minimax", "litellm", "baseten"),
)
"""The known servers that have rules of their own. The rules themselves are loaded with the first request."""

_NAMES: Final = (NO_SERVER, *SERVERS)
_TITLES: Final = ("Requests hold only what every server takes", *(known_server(name).title for name in SERVERS))


class MaxTokensField(Choice):
    """The field for the most tokens of an answer."""

    MAX_TOKENS = "max_tokens", "The older one, which nearly every server takes"
    MAX_COMPLETION_TOKENS = "max_completion_tokens", "The newer one, which models of OpenAI demand that reason"


class EmptyContent(Choice):
    """The content of a message of the assistant that only calls tools."""

    NULL = "null", "`null`"
    TEXT = "text", "The empty text: for servers that demand a string"


class CacheControl(Choice):
    """Whether parts of a request are marked for the prompt cache, as Anthropic's models want it."""

    AUTO = "auto", "Where a server is known to take marks for the model"
    ON = "on", "Always: the system message, the last tool and the last message"
    OFF = "off", "Never"


@dataclass(frozen=True, slots=True)
class ChatCompletionsSettings:
    """The request settings of Chat Completions alone.

    Attributes:
        server: The name of the known server whose rules requests follow; None for the one that the base URL tells.
        max_tokens_field: The field for the most tokens of an answer; None for the one that the server is known to take.
        effort_as: The field for the reasoning effort.
        reasoning_back: Where reasoning goes in later requests.
        empty_content: The content of a message that only calls tools; None for what the server is known to take.
        cache_control: Whether parts are marked for the prompt cache.
    """

    server: str | None = None
    max_tokens_field: MaxTokensField | None = None
    effort_as: EffortAs = EffortAs.AUTO
    reasoning_back: ReasoningBack = ReasoningBack.AUTO
    empty_content: EmptyContent | None = None
    cache_control: CacheControl = CacheControl.AUTO


def _server(value: str, where: str) -> str:
    if value not in _NAMES:
        raise ConfigurationError(where, shortened(value), f"one of {', '.join(_NAMES)}")
    return value


OWN_SETTINGS: Final = OwnSettings(
    ChatCompletionsSettings,
    (
        Setting(
            "server",
            text(_server, enum=list(_NAMES), enumDescriptions=list(_TITLES)),
            "The server whose rules requests follow, such as `mistral` behind a gateway of your own",
            otherwise="the one that the base URL tells",
        ),
        Setting(
            "maxTokensField",
            choice(MaxTokensField),
            "The field in which the server takes the most tokens of an answer",
            otherwise="the one that the server is known to take, else `max_tokens`",
        ),
        Setting("effortAs", choice(EffortAs), "How the server is told the reasoning effort", "auto"),
        Setting(
            "reasoningBack",
            choice(ReasoningBack),
            "Where the model's reasoning goes in later requests to it",
            "auto",
        ),
        Setting(
            "emptyContent",
            choice(EmptyContent),
            "The content of a message of the assistant that only calls tools",
            otherwise="what the server is known to take, else `null`",
        ),
        Setting(
            "cacheControl",
            choice(CacheControl),
            "Whether parts of a request are marked for the prompt cache with `cache_control`",
            "auto",
        ),
    ),
)
