"""What models and servers of this wire take, and the settings that win over it.

:func:`abilities_of` says what a model takes: by its server's list, else by its name
(docs/wires/anthropic-messages.md#models-and-counting). Anthropic's own models have a row each
(docs/wires/anthropic-messages.md#thinking-by-model), by which the replay upstream refuses and bills too; models that
are older, or newer than the rows, have one for each family and version. A gateway or a cloud has the
same names with something around them: `us.anthropic.claude-opus-4-5-20251101-v1:0`, `anthropic/claude-opus-4.6`,
`claude-sonnet-4-5@20250929`.

:func:`rules_of` says what differs between servers in a request (docs/wires/anthropic-messages.md#servers). The defaults
are what Anthropic takes, and what gateways before it pass on. An unknown server gets such requests too: what it does
not know it ignores, or refuses once.
"""

from __future__ import annotations
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from enum import Enum, auto
from functools import lru_cache, partial
from operator import methodcaller
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from partstream.codec.checks import dataclass, field
from partstream.conversation.preparation import UNKNOWN_CAPABILITIES, ContextEdit, ModelCapabilities, ThinkingForm
from partstream.conversation.turns import CallIdRule, IdForm
from partstream.protocols.protocol import OwnSettings
from partstream.protocols.schemas import IN_WORDS, MOONSHOT, PLAIN, PLAIN_PATTERNS, SchemaForm
from partstream.settings.kinds import STRINGS, Choice, choice, whole
from partstream.settings.known_servers import server_setting
from partstream.settings.row import Setting

# ---- Models ----


class Sampling(Enum):
    """Whether a model takes `temperature`, `top_p` and `top_k` (docs/wires/anthropic-messages.md#thinking-by-model)."""

    TAKEN = auto()
    NOT_WHILE_THINKING = auto()
    """While it thinks, `top_p` alone, from 0.95 to 1."""
    REFUSED = auto()


_LOW_TO_HIGH: Final = ("low", "medium", "high")
_TO_MAX: Final = (*_LOW_TO_HIGH, "max")
_ALL: Final = (*_LOW_TO_HIGH, "xhigh", "max")
_CLEARS: Final = (ContextEdit.CLEAR_THINKING, ContextEdit.CLEAR_TOOL_RESULTS)
MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a model takes in a request.

    Attributes:
        is_claude: Whether it is one of Anthropic's models.
        thinking: The forms in which it can be asked to think; None where it is unknown.
        takes_disabled: The efforts with which thinking may be switched off; with an effort beside them it is refused.
        efforts: The levels of effort, lowest first; None where it is unknown.
        sampling: Whether it takes sampling parameters.
        max_tokens: The most tokens of an answer; None where it is unknown.
        window: The most tokens of prompt and answer together; None where it is unknown.
        reserves: Whether the prompt and `max_tokens` together have to fit into the window.
        interleaves_by_beta: Whether it thinks between calls only when a beta asks for it.
        keeps_thinking: Whether the thinking of finished turns stays in the prompt; otherwise its server strips it.
        takes_system_turns: Whether `system` may come between others (docs/wires/anthropic-messages.md#system-messages).
        takes_prefill: Whether a conversation may end with the beginning of an answer.
        min_cached_tokens: The least tokens of a prefix that goes into the prompt cache.
        edits: What its server can do to shorten a conversation; None where it is unknown.
    """

    is_claude: bool = False
    thinking: tuple[ThinkingForm, ...] | None = None
    takes_disabled: tuple[str, ...] = _ALL
    efforts: tuple[str, ...] | None = None
    sampling: Sampling = Sampling.TAKEN
    max_tokens: int | None = None
    window: int | None = None
    reserves: bool = False
    interleaves_by_beta: bool = False
    keeps_thinking: bool = True
    takes_system_turns: bool = False
    takes_prefill: bool = False
    min_cached_tokens: int = 1024
    edits: tuple[ContextEdit, ...] | None = None


_NEWER: Final = Abilities(
    is_claude=True,
    thinking=(ThinkingForm.ADAPTIVE,),
    efforts=_ALL,
    sampling=Sampling.REFUSED,
    max_tokens=128_000,
    window=MILLION,
    edits=(*_CLEARS, ContextEdit.SUMMARIZE),
)
_FIVE: Final = replace(_NEWER, takes_system_turns=True, min_cached_tokens=512)
_ALWAYS: Final = replace(_FIVE, takes_disabled=())
_FOUR_SIX: Final = replace(
    _NEWER,
    thinking=(ThinkingForm.ADAPTIVE, ThinkingForm.BUDGET),
    efforts=_TO_MAX,
    sampling=Sampling.NOT_WHILE_THINKING,
)
_FOUR: Final = Abilities(
    is_claude=True,
    thinking=(ThinkingForm.BUDGET,),
    efforts=(),
    sampling=Sampling.NOT_WHILE_THINKING,
    max_tokens=64_000,
    window=200_000,
    interleaves_by_beta=True,
    keeps_thinking=False,
    takes_prefill=True,
    edits=_CLEARS,
)
_FORMER: Final = replace(_FOUR, reserves=True)
_THREE_SEVEN: Final = replace(_FORMER, interleaves_by_beta=False, edits=())
_THREE: Final = replace(_THREE_SEVEN, thinking=(), sampling=Sampling.TAKEN, max_tokens=4096)

_LINES: Final[Mapping[str, Abilities]] = MappingProxyType(
    {
        "fable-5": _ALWAYS,
        "mythos-5": _ALWAYS,
        "opus-5-5": _ALWAYS,
        "sonnet-5-5": _ALWAYS,
        "haiku-5-5": _FIVE,
        "opus-5": replace(_FIVE, takes_disabled=_LOW_TO_HIGH),
        "sonnet-5": _NEWER,
        "opus-4-8": replace(_NEWER, takes_system_turns=True),
        "opus-4-7": replace(_NEWER, min_cached_tokens=2048),
        "opus-4-6": replace(_FOUR_SIX, min_cached_tokens=4096),
        "sonnet-4-6": _FOUR_SIX,
        "opus-4-5": replace(_FOUR, efforts=_LOW_TO_HIGH, keeps_thinking=True, min_cached_tokens=4096),
        "sonnet-4-5": _FOUR,
        "haiku-4-5": replace(_FOUR, interleaves_by_beta=False, min_cached_tokens=4096),
    }
)
"""By the part of an id that names the line; the first that an id holds counts."""

_Version: TypeAlias = tuple[int, int]

_OTHERS: Final[tuple[tuple[str, _Version, Abilities], ...]] = (
    ("fable|mythos", (0, 0), _ALWAYS),
    (".*", (4, 6), _NEWER),
    ("opus", (4, 0), replace(_FORMER, max_tokens=32_000)),
    (".*", (4, 0), _FORMER),
    (".*", (3, 7), _THREE_SEVEN),
    (".*", (3, 5), replace(_THREE, max_tokens=8192)),
    (".*", (0, 0), _THREE),
)
"""Models that are in no line of their own, by family and the first version; the first row that fits counts. A model
that is newer than the lines is taken to be like the newest."""

_NAMED_FIRST: Final = re.compile(r"claude-(?P<family>[a-z]+)-(?P<major>\d{1,2})(?:-(?P<minor>\d{1,2}))?(?!\d)")
_NUMBERED_FIRST: Final = re.compile(r"claude-(?P<major>\d{1,2})(?:-(?P<minor>\d{1,2}))?-(?P<family>[a-z]+)")
_UNNUMBERED: Final = re.compile(r"claude-(?P<family>fable|mythos)(?P<major>)(?P<minor>)")


def line_of(model_id: str) -> str | None:
    """The line of a model; None for one that is in none.

    Args:
        model_id: The id as any server writes it, such as `claude-opus-4-7` or `anthropic/claude-opus-4.7`.
    """
    name = model_id.lower().replace(".", "-").replace("_", "-")
    return next((line for line in _LINES if re.search(rf"\b{line}(?!\d)", name)), None)


def by_line(model_id: str) -> Abilities | None:
    """What a model of a line takes by its name; None for any other."""
    line = line_of(model_id)
    return None if line is None else _LINES[line]


@lru_cache(256)
def abilities_of(model_id: str, known: ModelCapabilities) -> Abilities:
    """What a model takes.

    Args:
        known: The facts from its server's list, which win.
    """
    name = model_id.lower().replace(".", "-").replace("_", "-")
    found = _NAMED_FIRST.search(name) or _NUMBERED_FIRST.search(name) or _UNNUMBERED.search(name)
    named = by_line(model_id) or Abilities()
    if found is not None and not named.is_claude:
        version = int(found["major"] or 0), int(found["minor"] or 0)
        rows = (row for families, since, row in _OTHERS if version >= since and re.fullmatch(families, found["family"]))
        named = next(rows)
    forms = known.thinking_forms
    if forms is None and known.reasoning is False:
        forms = ()
    stops = bool(named.takes_disabled) if known.can_stop_thinking is None else known.can_stop_thinking
    return replace(
        named,
        thinking=named.thinking if forms is None else forms,
        takes_disabled=(named.takes_disabled or _ALL) if stops else (),
        efforts=named.efforts if known.reasoning_efforts is None else known.reasoning_efforts,
        max_tokens=known.max_output_tokens or named.max_tokens,
        window=known.context_window or named.window,
        edits=named.edits if known.context_edits is None else known.context_edits,
    )


# ---- Versions of the API ----

VERSION: Final = "anthropic-version"
"""The header of the version, which Anthropic demands of every request (docs/wires/anthropic-messages.md#versions)."""
OLDER_VERSION: Final = "2023-06-01"
"""The version that every server of this wire takes."""
SAMPLING: Final = ("temperature", "top_p", "top_k")


class Forbidden(NamedTuple):
    """What a version refuses and the older one takes: fields of the body, and blocks of the assistant's messages."""

    fields: frozenset[str] = frozenset()
    answer_blocks: frozenset[str] = frozenset()


FORBIDDEN: Final[Mapping[str, Forbidden]] = MappingProxyType(
    {"2026-10-21": Forbidden(frozenset(SAMPLING), frozenset({"document"}))}
)
"""By version; a version that is not here refuses nothing more. The version 2026-10-21 also refuses citations in texts
of the user, of which requests hold none."""

# ---- Betas ----

BETA_HEADER: Final = "anthropic-beta"

CLEAR_THINKING: Final = "clear_thinking_20251015"
CLEAR_TOOL_USES: Final = "clear_tool_uses_20250919"
COMPACT: Final = "compact_20260112"
"""The types of edits with which a server shortens a conversation."""
_CLEARING: Final = frozenset({CLEAR_THINKING, CLEAR_TOOL_USES})


def asks_to_think(body: Mapping[str, Any]) -> bool:
    """Whether a body asks the model to think, in any form."""
    return _inner(body).get("type") in {"adaptive", "enabled"}


def _inner(body: Mapping[str, Any], name: str = "thinking") -> Mapping[str, Any]:
    return value if isinstance(value := body.get(name), dict) else {}


def _edits(body: Mapping[str, Any]) -> set[Any]:
    edits = _inner(body, "context_management").get("edits")
    return {edit.get("type") for edit in edits if isinstance(edit, dict)} if isinstance(edits, list) else set()


def _interleaves(body: Mapping[str, Any]) -> bool:
    has_budget = _inner(body).get("type") == "enabled" and bool(body.get("tools"))
    return has_budget and abilities_of(str(body.get("model", "")), UNKNOWN_CAPABILITIES).interleaves_by_beta


def _holds_summary(body: Mapping[str, Any]) -> bool:
    """Whether a body asks for a summary, or brings one back: those that were asked for are signed."""
    contents = (message.get("content") for message in body.get("messages", ()))
    blocks = (block for content in contents if isinstance(content, list) for block in content)
    return "compaction" in body or any(block["type"] == "compaction" and block.get("signature") for block in blocks)


FIELDS_OF_BETAS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "context-management-2025-06-27": "context_management",
        "compact-2026-01-12": "context_management",
        "fast-mode-2026-02-01": "speed",
        "fallback-credit-2026-07-01": "fallback_credit_token",
        "server-side-fallback-2026-07-01": "fallbacks",
        "cache-diagnosis-2026-04-07": "diagnostics",
        "message-threads-2026-08-12": "thread",
        "mcp-client-2025-11-20": "mcp_servers",
    }
)
"""The field of the body that goes with a beta."""


def _has_tool(word: str, body: Mapping[str, Any]) -> bool:
    tools = (tool for tool in body.get("tools") or () if isinstance(tool, dict))
    return any(str(tool.get("type", "")).startswith(word) for tool in tools)


FEATURE_BETAS: Final[Mapping[str, tuple[str, Callable[[Mapping[str, Any]], bool]]]] = MappingProxyType(
    {
        **{beta: (name, methodcaller("__contains__", name)) for beta, name in FIELDS_OF_BETAS.items()},
        "context-management-2025-06-27": ("context_management", lambda body: not _CLEARING.isdisjoint(_edits(body))),
        "compact-2026-01-12": ("context_management", lambda body: COMPACT in _edits(body)),
        "compact-2026-09-04": ("messages", _holds_summary),
        "interleaved-thinking-2025-05-14": ("thinking", _interleaves),
        "task-budgets-2026-03-13": ("output_config", lambda body: "task_budget" in _inner(body, "output_config")),
        "thinking-display-updates-2026-08-18": ("thinking", lambda body: _inner(body).get("display") == "updates"),
        "thinking-binding-controls-2026-08-01": ("thinking", lambda body: "block_binding" in _inner(body)),
        "advisor-tool-2026-03-01": ("tools", partial(_has_tool, "advisor_")),
        "code-execution-2025-08-25": ("tools", partial(_has_tool, "code_execution_20250825")),
        "web-fetch-2025-09-10": ("tools", partial(_has_tool, "web_fetch_20250910")),
    }
)
"""Each beta, the field of a body without which its feature is not there, and whether it is
(docs/wires/anthropic-messages.md#betas)."""


def betas_of(body: Mapping[str, Any]) -> tuple[str, ...]:
    """The betas whose features a body has."""
    return tuple(name for name, (field, has_feature) in FEATURE_BETAS.items() if field in body and has_feature(body))


def joined(names: Iterable[str]) -> str:
    """The value of the header, each name once."""
    return ",".join(dict.fromkeys(names))


def named(value: str) -> list[str]:
    """The names in the value of a header."""
    return [name.strip() for name in value.split(",") if name.strip()]


# ---- Rules of servers ----

_SIGNS: Final = IdForm(64, refused=re.compile(r"[^a-zA-Z0-9_-]"))
"""Ids match `^[a-zA-Z0-9_-]+$`, or the request is refused (docs/wires/anthropic-messages.md#ids-of-calls)."""
_OWN_SIGNS: Final = IdForm(256)
"""Kimi gives ids such as `functions.read:0` and wants them back (docs/wires/anthropic-messages.md#ids-of-calls)."""


@dataclass(frozen=True, slots=True)
class ServerRules:
    """What a server takes.

    Attributes:
        caches_marks: Whether marks for the prompt cache have an effect; servers without are not sent any.
        fetches: Whether it fetches images and files from their addresses.
        wants_bearer: Whether the key goes as a bearer token, and not in `x-api-key`.
        reserves: Whether the prompt and `max_tokens` together have to fit into the window, or are cut.
        thinking: The form in which a model that is none of Anthropic's is asked to think.
        efforts: The server's word for a level of effort; a level that is not named stays as it is.
        demands_thinking: Whether an answer that called tools may not go back without its thinking while the model
            thinks.
        schemas: The form of the schemas of tools that it takes, beside the rules of the wire.
        version: The version of the API that it is asked in.
    """

    call_ids: CallIdRule = CallIdRule(_SIGNS, _SIGNS)
    caches_marks: bool = True
    takes_documents: bool = True
    fetches: bool = True
    takes_images: bool = True
    wants_bearer: bool = False
    reserves: bool = False
    thinking: ThinkingForm = ThinkingForm.BUDGET
    efforts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    demands_thinking: bool = False
    schemas: SchemaForm = PLAIN
    version: str = OLDER_VERSION


_LOCAL: Final = ServerRules(
    caches_marks=False,  # they cache prefixes by themselves (docs/wires/anthropic-messages.md#prompt-cache)
    takes_documents=False,  # they drop documents (docs/wires/anthropic-messages.md#tool-results)
    wants_bearer=True,
    reserves=True,
    thinking=ThinkingForm.ADAPTIVE,
)

_KEEPS_IDS: Final = CallIdRule(_OWN_SIGNS, _SIGNS)

SERVER_RULES: Final[Mapping[str, ServerRules]] = MappingProxyType(
    {
        "anthropic": ServerRules(version="2026-10-21"),
        "openrouter": ServerRules(wants_bearer=True),
        "litellm": ServerRules(wants_bearer=True),
        "ollama": replace(
            _LOCAL,
            fetches=False,  # an address gives 400
            efforts=MappingProxyType({"minimal": "low", "xhigh": "high"}),
            schemas=IN_WORDS,
        ),
        "vllm": _LOCAL,  # the effort becomes `reasoning_effort`
        "sglang": _LOCAL,
        "llama.cpp": replace(_LOCAL, schemas=PLAIN_PATTERNS),
        "lm-studio": _LOCAL,
        "deepseek": ServerRules(
            caches_marks=False,
            takes_documents=False,
            takes_images=False,
            efforts=MappingProxyType({"minimal": "low", "medium": "high", "xhigh": "high"}),
            demands_thinking=True,  # docs/wires/anthropic-messages.md#thinking-that-goes-back
        ),
        "moonshot": ServerRules(call_ids=_KEEPS_IDS, takes_documents=False, wants_bearer=True, schemas=MOONSHOT),
        "zhipu": ServerRules(takes_documents=False, wants_bearer=True),
        "minimax": ServerRules(takes_documents=False, wants_bearer=True, thinking=ThinkingForm.ADAPTIVE),
    }
)
"""By the names of :data:`partstream.settings.known_servers.KNOWN_SERVERS`."""

_KIMI: Final = re.compile(r"(?:.*/)?kimi", re.IGNORECASE)
"""Models that want their ids of calls back, whatever their server is."""


@lru_cache(256)
def rules_of(server: str | None, model_id: str) -> ServerRules:
    """What the server of a model takes."""
    rules = SERVER_RULES.get(server or "") or ServerRules()
    return replace(rules, call_ids=_KEEPS_IDS) if _KIMI.match(model_id) else rules


# ---- Settings ----

LEAST_BUDGET: Final = 1024
"""The fewest tokens of a thinking budget (docs/wires/anthropic-messages.md#thinking-by-model)."""
LEAST_SUMMARY: Final = 50_000
"""The fewest tokens of a prompt from which on a server summarises (docs/wires/anthropic-messages.md#betas)."""


class ThinkingAs(Choice):
    """How a request asks the model to think."""

    AUTO = "auto", "What the model supports: adaptive if it can, else a budget if an effort or a budget is set"
    ADAPTIVE = "adaptive", "The model decides how much"
    ENABLED = "enabled", "With a budget of tokens"
    DISABLED = "disabled", "The model is asked not to think"
    OFF = "off", "The request does not mention thinking"


class ThinkingDisplay(Choice):
    """What a server shows of the thinking."""

    SUMMARIZED = "summarized", "A summary; newer models show none unasked"
    OMITTED = "omitted", "Nothing: answers begin sooner"


class PromptCache(Choice):
    """Whether to mark the repeated parts of requests for the prompt cache."""

    AUTO = "auto", "Marks that are valid for 5 minutes, unless the server is known not to need them"
    FIVE_MINUTES = "5m", "Marks that are valid for 5 minutes after the last use"
    ONE_HOUR = "1h", "Marks that are valid for an hour; writing costs more, which pays off from the second reuse"
    OFF = "off", "No marks"


class ContextEditing(Choice):
    """Whether the server takes old thinking and old results of tools out of a conversation that grows too long."""

    AUTO = "auto", "If the model can, and its context window is below a million tokens"
    ON = "on", "Unless the model is known not to support it"
    OFF = "off", "Never"


class LateSystem(Choice):
    """The place of system messages after the first message of the user."""

    AUTO = "auto", "In their places if the model accepts that, which keeps the prompt cache; else as `join`"
    JOIN = "join", "To the other system messages, at the beginning"
    IN_PLACE = "in-place", "In their places"


class KeyHeader(Choice):
    """The header that carries the key."""

    AUTO = "auto", "The header that the server is known to accept, else `x-api-key`"
    X_API_KEY = "x-api-key", "The key alone, in `x-api-key`"
    BEARER = "bearer", "As a bearer token, in `Authorization`"


class Platform(Choice):
    """Where Anthropic's models run, which says where a request names the model."""

    ANTHROPIC = "anthropic", "Anthropic's API and compatible servers"
    VERTEX = "vertex", "Google Vertex AI: the model is in the path, `anthropic_version` in the body"
    BEDROCK = "bedrock", "Amazon Bedrock (InvokeModel): as with Vertex AI, but the answer is not streamed"


@dataclass(frozen=True, slots=True)
class AnthropicMessagesSettings:
    """The request settings of Anthropic Messages alone; :data:`OWN_SETTINGS` says what each of them is."""

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


OWN_SETTINGS: Final = OwnSettings(
    AnthropicMessagesSettings,
    (
        server_setting("messagesServer", SERVER_RULES, "Requests are those for Anthropic itself", "ollama"),
        Setting("thinkingAs", choice(ThinkingAs), "How a request asks the model to think", "auto"),
        Setting(
            "thinkingTokens",
            whole(LEAST_BUDGET),
            "The thinking budget in tokens, if the model accepts one",
            otherwise="derived from the chosen effort",
        ),
        Setting("thinkingDisplay", choice(ThinkingDisplay), "What the server shows of the thinking", "summarized"),
        Setting(
            "promptCache",
            choice(PromptCache),
            "Whether to mark the repeated parts of requests for the prompt cache",
            "auto",
        ),
        Setting(
            "contextEditing",
            choice(ContextEditing),
            "Whether the server removes old thinking and old tool results from a long conversation",
            "auto",
        ),
        Setting(
            "clearResultsAt",
            whole(),
            "The number of prompt tokens at which the server removes old tool results",
            otherwise="three fifths of the context window",
        ),
        Setting(
            "summarizeAt",
            whole(LEAST_SUMMARY),
            "The number of prompt tokens at which the server replaces the conversation with a summary",
            otherwise="never",
        ),
        Setting(
            "lateSystem",
            choice(LateSystem),
            "Where system messages go that follow the first user message",
            "auto",
        ),
        Setting("betas", STRINGS, "Further names for the header `anthropic-beta`"),
        Setting("keyHeader", choice(KeyHeader), "The header that carries the key", "auto"),
        Setting("platform", choice(Platform), "Where Anthropic's models run", "anthropic"),
    ),
)
