"""The settings of requests that only Anthropic Messages has a place for: they win over what is known of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from partstream.protocols.known_servers import known_server
from partstream.protocols.protocol import OwnSettings
from partstream.settings.checks import shortened
from partstream.settings.errors import ConfigurationError
from partstream.settings.kinds import STRINGS, Choice, choice, text, whole
from partstream.settings.row import Setting

__all__ = [
    "LEAST_BUDGET",
    "LEAST_SUMMARY",
    "NO_SERVER",
    "OWN_SETTINGS",
    "SERVERS",
    "AnthropicMessagesSettings",
    "ContextEditing",
    "KeyHeader",
    "LateSystem",
    "Platform",
    "PromptCache",
    "ThinkingAs",
    "ThinkingDisplay",
]

NO_SERVER: Final = "unknown"
"""The server of which nothing is known."""

SERVERS: Final = (
    *("anthropic", "openrouter", "litellm", "ollama", "vllm", "sglang", "llama.cpp", "lm-studio"),
    *("deepseek", "moonshot", "zhipu", "minimax"),
)
"""The known servers that have rules of their own. The rules themselves are loaded with the first request."""

_NAMES: Final = (NO_SERVER, *SERVERS)
_TITLES: Final = ("Requests are those for Anthropic itself", *(known_server(name).title for name in SERVERS))

LEAST_BUDGET: Final = 1024
"""The fewest tokens of a thinking budget (docs/wires/anthropic-messages.md#thinking-by-model)."""
LEAST_SUMMARY: Final = 50_000
"""The fewest tokens of a prompt from which on a server summarises (docs/wires/anthropic-messages.md#betas)."""


class ThinkingAs(Choice):
    """The form in which a model is asked to think."""

    AUTO = "auto", "As the model takes it: adaptive where it can, else with a budget where an effort or a budget is set"
    ADAPTIVE = "adaptive", "The model decides how much"
    ENABLED = "enabled", "With a budget of tokens"
    DISABLED = "disabled", "The model is asked not to think"
    OFF = "off", "Nothing is said of thinking"


class ThinkingDisplay(Choice):
    """What a server shows of the thinking."""

    SUMMARIZED = "summarized", "A summary; newer models show none unasked"
    OMITTED = "omitted", "Nothing: answers begin sooner"


class PromptCache(Choice):
    """Whether the parts of a request that later requests repeat are marked for the prompt cache."""

    AUTO = "auto", "Marks that hold for 5 minutes, where the server is not known to do without"
    FIVE_MINUTES = "5m", "Marks that hold for 5 minutes after the last use"
    ONE_HOUR = "1h", "Marks that hold for an hour; writing costs more, so it pays from the second re-use on"
    OFF = "off", "No marks"


class ContextEditing(Choice):
    """Whether the server takes old thinking and old results of tools out of a conversation that grows too long."""

    AUTO = "auto", "Where the model can, and its context window is below a million tokens"
    ON = "on", "Where the model is not known to be unable to"
    OFF = "off", "Never"


class LateSystem(Choice):
    """Where system messages go that stand behind the first message of the user."""

    AUTO = "auto", "In their places where the model takes them there, which keeps the prompt cache; else as `join`"
    JOIN = "join", "To the other system messages, at the beginning"
    IN_PLACE = "in-place", "In their places"


class KeyHeader(Choice):
    """The header that carries the key."""

    AUTO = "auto", "As the server is known to take it, else `x-api-key`"
    X_API_KEY = "x-api-key", "The key alone, in `x-api-key`"
    BEARER = "bearer", "As a bearer token, in `Authorization`"


class Platform(Choice):
    """Where Anthropic's models run, which says where a request names the model."""

    ANTHROPIC = "anthropic", "The API of Anthropic, and everything that speaks like it"
    VERTEX = "vertex", "Google Vertex AI: the model is in the path, `anthropic_version` in the body"
    BEDROCK = "bedrock", "Amazon Bedrock (InvokeModel): as with Vertex AI, and the answer comes whole, not as a stream"


@dataclass(frozen=True, slots=True)
class AnthropicMessagesSettings:
    """The request settings of Anthropic Messages alone.

    Attributes:
        messages_server: The name of the known server whose rules requests follow; None for the one that the base URL
            tells.
        thinking_as: The form in which a model is asked to think.
        thinking_tokens: The budget of thinking in tokens; None for one that goes by the effort.
        thinking_display: What the server shows of the thinking.
        prompt_cache: Whether parts are marked for the prompt cache, and for how long.
        context_editing: Whether the server takes old thinking and old results out of a conversation.
        clear_results_at: The tokens of a prompt from which on old results are taken out; None for three fifths of the
            window.
        summarize_at: The tokens of a prompt from which on the server summarises the conversation; None for never.
        late_system: Where late system messages go.
        betas: Further names for the header `anthropic-beta`.
        key_header: The header that carries the key.
        platform: Where the models run.
    """

    messages_server: str | None = None
    thinking_as: ThinkingAs = ThinkingAs.AUTO
    thinking_tokens: int | None = None
    thinking_display: ThinkingDisplay = ThinkingDisplay.SUMMARIZED
    prompt_cache: PromptCache = PromptCache.AUTO
    context_editing: ContextEditing = ContextEditing.AUTO
    clear_results_at: int | None = None
    summarize_at: int | None = None
    late_system: LateSystem = LateSystem.AUTO
    betas: tuple[str, ...] = ()
    key_header: KeyHeader = KeyHeader.AUTO
    platform: Platform = Platform.ANTHROPIC


def _server(value: str, where: str) -> str:
    if value not in _NAMES:
        raise ConfigurationError(where, shortened(value), f"one of {', '.join(_NAMES)}")
    return value


OWN_SETTINGS: Final = OwnSettings(
    AnthropicMessagesSettings,
    (
        Setting(
            "messagesServer",
            text(_server, enum=list(_NAMES), enumDescriptions=list(_TITLES)),
            "The server whose rules requests follow, such as `ollama` behind a gateway of your own",
            otherwise="the one that the base URL tells",
        ),
        Setting("thinkingAs", choice(ThinkingAs), "The form in which a model is asked to think", "auto"),
        Setting(
            "thinkingTokens",
            whole(LEAST_BUDGET),
            "The most tokens of thinking, where the model takes a budget",
            otherwise="by the chosen effort",
        ),
        Setting("thinkingDisplay", choice(ThinkingDisplay), "What the server shows of the thinking", "summarized"),
        Setting(
            "promptCache",
            choice(PromptCache),
            "Whether the parts of a request that later requests repeat are marked for the prompt cache",
            "auto",
        ),
        Setting(
            "contextEditing",
            choice(ContextEditing),
            "Whether the server takes old thinking and old results of tools out of a long conversation",
            "auto",
        ),
        Setting(
            "clearResultsAt",
            whole(),
            "The tokens of a prompt from which on the server takes out old results of tools",
            otherwise="three fifths of the context window",
        ),
        Setting(
            "summarizeAt",
            whole(LEAST_SUMMARY),
            "The tokens of a prompt from which on the server puts a summary in the place of the conversation",
            otherwise="never",
        ),
        Setting(
            "lateSystem",
            choice(LateSystem),
            "Where system messages go that stand behind the first message of the user",
            "auto",
        ),
        Setting("betas", STRINGS, "Further names for the header `anthropic-beta`"),
        Setting("keyHeader", choice(KeyHeader), "The header that carries the key", "auto"),
        Setting("platform", choice(Platform), "Where Anthropic's models run", "anthropic"),
    ),
)
