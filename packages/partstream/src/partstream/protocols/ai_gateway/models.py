"""The AI Gateway's own settings, context edits, specification versions, headers and lists of models.

Path and header state the same version of the specification: that of the setting, else that of the base URL. Only the
headers name the model (docs/wires/ai-sdk.md#gateway-requests). Facts and limits of models are in the public
`/v1/models` of the host; `{base}/config` is used where there is no other list (docs/wires/ai-sdk.md#gateway-models).

Anthropic's models can take old content out of conversations that grow long. Servers drop edits that they do not know,
or refuse the request in words of their own, so every edit is checked before it is sent
(docs/wires/ai-sdk.md#context-edits). Sources: Anthropic's reference of context editing (betas
`context-management-2025-06-27` and `compact-2026-01-12`) and `@ai-sdk/anthropic` 4.0.105.
"""

from __future__ import annotations
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import dataclass, field, replace
from partstream.errors import RequestNotExpressibleError
from partstream.protocols.protocol import OwnSettings
from partstream.settings.kinds import (
    BOOLEAN,
    STRINGS,
    TEXT,
    ConfigurationError,
    Kind,
    UnknownSettingError,
    ValueForm,
    boolean,
    fits_header,
    json_object,
    shortened,
    text_of,
)
from partstream.settings.row import Secrecy, Setting

if TYPE_CHECKING:
    from partstream.conversation.preparation import ChatRequest, RequestSettings

# ---- Context edits ----

CLEAR_TOOL_USES: Final = "clear_tool_uses_20250919"
CLEAR_THINKING: Final = "clear_thinking_20251015"
COMPACT: Final = "compact_20260112"

_WITHOUT_EDITS: Final = "anthropic/claude-3"
"""The models before Claude 4, which refuse edits: "Context editing", section "Supported models", of Anthropic's API."""

_TRIGGER_SHARE: Final = 0.7
"""The share of the input limit. Copilot (seen in 0.67) begins its own compaction later, at 0.78 to 0.82."""


@dataclass(frozen=True, slots=True)
class ContextManagement:
    """The edits that an upstream makes to conversations that grow long.

    Attributes:
        is_on: Whether any are requested.
        edits: The edits in the AI SDK's words; empty for edits by the limits of the model, which only models get that
            know edits (docs/decisions/0007).
    """

    is_on: bool = True
    edits: tuple[Mapping[str, Any], ...] = ()

    def provider_options(self, model_id: str, max_input_tokens: int) -> dict[str, dict[str, Any]]:
        """The options for the gateway's providers; none for models that know no edits.

        Args:
            model_id: With its creator, such as `anthropic/claude-sonnet-4.5`, which alone tells what a model knows.
            max_input_tokens: The input limit of the model.
        """
        if not self.is_on or not model_id.startswith("anthropic/"):
            return {}
        if not self.edits and model_id.startswith(_WITHOUT_EDITS):
            return {}
        # Clears the results of old tool calls, and only when that is worth the prompt cache, which it empties.
        by_limit: dict[str, Any] = {
            "type": CLEAR_TOOL_USES,
            "trigger": {"type": "input_tokens", "value": max(1, int(max_input_tokens * _TRIGGER_SHARE))},
            "keep": {"type": "tool_uses", "value": 5},
            "clearAtLeast": {"type": "input_tokens", "value": max(5000, int(max_input_tokens * 0.1))},
        }
        edits = self.edits or (by_limit,)
        return {"anthropic": {"contextManagement": {"edits": [dict(edit) for edit in edits]}}}


_LEAST_COMPACTED: Final = 50_000
"""Input tokens below which Anthropic does not compact."""


def read_context_management(value: Any, where: str) -> ContextManagement:
    """The setting: `off`, `on`, or `{"edits": [...]}` in the AI SDK's words.

    Raises:
        ConfigurationError: It is none of these, or holds an edit that is not possible.
    """
    if isinstance(value, ContextManagement):
        return value
    if value in ("off", "on"):
        return ContextManagement(is_on=value == "on")
    if not isinstance(value, dict) or set(value) != {"edits"} or not isinstance(value["edits"], list):
        raise ConfigurationError(where, shortened(value), 'off, on or {"edits": [...]}')
    edits = tuple(_edit(edit, f"{where}.edits[{number}]") for number, edit in enumerate(value["edits"]))
    if not edits:
        raise ConfigurationError(f"{where}.edits", "an empty list", "at least one edit, or off")
    kinds = [edit["type"] for edit in edits]
    twice = next((kind for kind in kinds if kinds.count(kind) > 1), None)
    if twice is not None:
        raise ConfigurationError(f"{where}.edits", f"{twice} twice", "each edit once")
    if CLEAR_THINKING in kinds[1:]:
        raise ConfigurationError(f"{where}.edits", f"{CLEAR_THINKING} after another edit", f"{CLEAR_THINKING} first")
    return ContextManagement(True, edits)


def _edit(value: Any, where: str) -> Mapping[str, Any]:
    fields = json_object(value, where)
    kind = fields.get("type")
    known = _EDITS.get(kind) if isinstance(kind, str) else None
    if known is None:
        raise ConfigurationError(f"{where}.type", shortened(kind), f"one of {', '.join(_EDITS)}")
    for name, setting in fields.items():
        if name == "type":
            continue
        if name not in known:
            raise UnknownSettingError(f"{where}.{name}", name, where, known)
        known[name].read(setting, f"{where}.{name}")
    return fields


def _amount(*kinds: str, least: int) -> Kind:
    """Such as `{"type": "input_tokens", "value": 5000}`."""

    def read(value: Any, where: str) -> Any:
        kind = value.get("type") if isinstance(value, dict) else None
        count = value.get("value") if isinstance(value, dict) else None
        if kind not in kinds or type(count) is not int or count < least or set(value) != {"type", "value"}:
            expected = f'{{"type": "{" or ".join(kinds)}", "value": a whole number of at least {least:,}}}'
            raise ConfigurationError(where, shortened(value), expected)
        return value

    fields = {"type": {"enum": list(kinds)}, "value": {"type": "integer", "minimum": least}}
    return Kind(ValueForm.OBJECT, read, {"type": "object", "required": ["type", "value"], "properties": fields})


_THINKING_TURNS: Final = _amount("thinking_turns", least=1)
_KEPT_THINKING: Final = Kind(
    ValueForm.OBJECT,
    lambda value, where: value if value == "all" else _THINKING_TURNS.read(value, where),
    {"anyOf": [{"const": "all"}, _THINKING_TURNS.schema]},
)


def _never(value: Any, where: str) -> bool:
    if boolean(value, where):
        raise ConfigurationError(where, "true", "false: no program would continue after the pause")
    return False


def _names(value: Any, where: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        raise ConfigurationError(where, shortened(value), "a list of names of tools")
    return value


_EDITS: Final[Mapping[str, Mapping[str, Kind]]] = {
    CLEAR_TOOL_USES: {
        "trigger": _amount("input_tokens", "tool_uses", least=1),
        "keep": _amount("tool_uses", least=0),
        "clearAtLeast": _amount("input_tokens", least=1),
        "clearToolInputs": BOOLEAN,
        "excludeTools": Kind(ValueForm.LIST, _names, STRINGS.schema),
    },
    CLEAR_THINKING: {"keep": _KEPT_THINKING},
    COMPACT: {
        "trigger": _amount("input_tokens", least=_LEAST_COMPACTED),
        "pauseAfterCompaction": Kind(ValueForm.BOOLEAN, _never, {"const": False}),
        "instructions": TEXT,
    },
}


def _object_schema(required: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": [required], "additionalProperties": False, "properties": properties}


_EDITS_SCHEMA: Final = {
    "type": "array",
    "minItems": 1,
    "description": "What is removed, and when; with the AI SDK's names.",
    "items": {
        "anyOf": [
            _object_schema("type", {"type": {"const": kind}} | {name: field.schema for name, field in fields.items()})
            for kind, fields in _EDITS.items()
        ]
    },
}
_MEANINGS: Final = {
    "off": "Nothing is removed",
    "on": "The results of old tool calls are removed once the prompt reaches 70 % of the input limit",
}
_WORDS_SCHEMA: Final = {"type": "string", "enum": [*_MEANINGS], "enumDescriptions": [*_MEANINGS.values()]}

CONTEXT_MANAGEMENT: Final = Kind(
    ValueForm.OBJECT,
    read_context_management,
    {"anyOf": [_WORDS_SCHEMA, _object_schema("edits", {"edits": _EDITS_SCHEMA})]},
)

# ---- Settings ----

SPECIFICATION_VERSIONS: Final = (2, 3, 4)


@dataclass(frozen=True, slots=True)
class AIGatewaySettings:
    """The request settings of the AI Gateway alone.

    Attributes:
        specification_version: The version of the specification of requests; None for that of the base URL.
        provider_options: Options for the gateway's providers in their own words, by the provider's name.
        context_management: The edits that these providers make to conversations that grow long.
        team: The team that makes the request, where the key is good for several teams; None for the key's own.
    """

    specification_version: int | None = None
    provider_options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    context_management: ContextManagement = field(default_factory=ContextManagement)
    team: str | None = None

    def for_model(self, model_id: str, max_input_tokens: int) -> AIGatewaySettings:
        """The settings with the edits that a model knows among its provider's options; options of a person win."""
        asked = self.context_management.provider_options(model_id, max_input_tokens)
        if not asked:
            return self
        added = {name: {**options, **self.provider_options.get(name, {})} for name, options in asked.items()}
        return replace(self, provider_options={**self.provider_options, **added})


def _version(value: Any, where: str) -> int:
    if type(value) is not int or value not in SPECIFICATION_VERSIONS:
        raise ConfigurationError(where, shortened(value), f"one of {', '.join(map(str, SPECIFICATION_VERSIONS))}")
    return value


OWN_SETTINGS: Final = OwnSettings(
    AIGatewaySettings,
    (
        Setting(
            "specificationVersion",
            Kind(ValueForm.NUMBER, _version, {"type": "integer", "enum": list(SPECIFICATION_VERSIONS)}),
            "The version of the language model specification that requests are written in",
            otherwise="the one that the base URL names, else 4",
        ),
        Setting(
            "providerOptions",
            Kind(
                ValueForm.OBJECT,
                lambda value, where: {
                    name: json_object(options, f"{where}.{name}") for name, options in json_object(value, where).items()
                },
                {"type": "object", "additionalProperties": {"type": "object"}},
            ),
            "Options for the gateway's providers, by the provider's name",
            secrecy=Secrecy.BODY,
        ),
        Setting(
            "contextManagement",
            CONTEXT_MANAGEMENT,
            "What providers remove from long conversations: `off`, `on`, or an object with "
            "`edits`; only models whose id begins with `anthropic/` support it",
            "on",
        ),
        Setting(
            "team",
            text_of(lambda team: team and fits_header(team), "the id or the name of a team, in printable ASCII"),
            "The team for which requests are made, if the key is valid for several",
        ),
    ),
    frozenset({"model", "prompt", "stream"}),
)

# ---- Specification versions, headers and lists of models ----

LATEST: Final = 4


def specification_version(settings: RequestSettings) -> int:
    """The version that a request is written in."""
    return settings.own_settings(AIGatewaySettings).specification_version or LATEST


PROTOCOL_VERSION: Final = "0.0.1"

PROTOCOL_VERSION_HEADER: Final = "ai-gateway-protocol-version"
VERSION_HEADER: Final = "ai-language-model-specification-version"
MODEL_HEADER: Final = "ai-language-model-id"
STREAMING_HEADER: Final = "ai-language-model-streaming"

DOCUMENT_HEADERS: Final[Mapping[str, str]] = MappingProxyType({PROTOCOL_VERSION_HEADER: PROTOCOL_VERSION})
"""The headers of every request, also of one that asks no model."""


def build_headers(request: ChatRequest) -> dict[str, str]:
    """The headers of a request for a streamed answer, beside those of HTTP and the key.

    Raises:
        RequestNotExpressibleError: No header can hold the id of the model.
    """
    model_id = request.model_id
    if not (model_id.isascii() and model_id.isprintable() and model_id == model_id.strip()):
        raise RequestNotExpressibleError(f"the model id {model_id[:80]!r}", "the header", "printable ASCII")
    headers = {
        **DOCUMENT_HEADERS,
        VERSION_HEADER: str(specification_version(request.settings)),
        MODEL_HEADER: model_id,
        STREAMING_HEADER: "true",
    }
    if (team := request.settings.own_settings(AIGatewaySettings).team) is not None:
        headers["x-vercel-ai-gateway-team"] = team
    return headers
