"""Reads from JSON what an upstream is asked to take out of long conversations; every edit is checked before it is sent.

The servers drop what they do not know, or refuse the request in words of their own: so nothing unknown gets through.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.ai_gateway.context_management import (
    CLEAR_THINKING,
    CLEAR_TOOL_USES,
    COMPACT,
    ContextManagement,
)
from partstream.settings.checks import boolean, json_object, shortened
from partstream.settings.errors import ConfigurationError, UnknownSettingError
from partstream.settings.kinds import BOOLEAN, STRINGS, TEXT, Kind, ValueForm

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CONTEXT_MANAGEMENT", "read_context_management"]

_LEAST_COMPACTED: Final = 50_000
"""Input tokens below which Anthropic does not compact."""


def read_context_management(value: Any, where: str) -> ContextManagement:
    """The setting: `off`, `on`, or `{"edits": [...]}` in the AI SDK's words.

    Raises:
        ConfigurationError: It is none of these, or an edit is not one that can be asked for.
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
    _check_order([edit["type"] for edit in edits], f"{where}.edits")
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


def _check_order(kinds: list[str], where: str) -> None:
    twice = next((kind for kind in kinds if kinds.count(kind) > 1), None)
    if twice is not None:
        raise ConfigurationError(where, f"{twice} twice", "each edit once")
    if CLEAR_THINKING in kinds[1:]:
        raise ConfigurationError(where, f"{CLEAR_THINKING} behind another edit", f"{CLEAR_THINKING} first")


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


def _kept_thinking(value: Any, where: str) -> Any:
    return value if value == "all" else _THINKING_TURNS.read(value, where)


def _never(value: Any, where: str) -> bool:
    if boolean(value, where):
        raise ConfigurationError(where, "true", "false: nobody would continue after the pause")
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
    CLEAR_THINKING: {
        "keep": Kind(ValueForm.OBJECT, _kept_thinking, {"anyOf": [{"const": "all"}, _THINKING_TURNS.schema]}),
    },
    COMPACT: {
        "trigger": _amount("input_tokens", least=_LEAST_COMPACTED),
        "pauseAfterCompaction": Kind(ValueForm.BOOLEAN, _never, {"const": False}),
        "instructions": TEXT,
    },
}
"""The edits and their fields; source: `@ai-sdk/anthropic` 4.0.105 and Anthropic's reference."""


def _edit_schema(kind: str, fields: Mapping[str, Kind]) -> dict[str, Any]:
    properties = {"type": {"const": kind}, **{name: field.schema for name, field in fields.items()}}
    return {"type": "object", "required": ["type"], "additionalProperties": False, "properties": properties}


_EDITS_SCHEMA: Final = {
    "type": "array",
    "minItems": 1,
    "description": "What is taken out, and when; in the words of the AI SDK.",
    "items": {"anyOf": [_edit_schema(kind, fields) for kind, fields in _EDITS.items()]},
}

CONTEXT_MANAGEMENT: Final = Kind(
    ValueForm.OBJECT,
    read_context_management,
    {
        "anyOf": [
            {
                "type": "string",
                "enum": ["off", "on"],
                "enumDescriptions": [
                    "Nothing is taken out",
                    "The results of old tool calls are taken out, from 70 % of the input limit on",
                ],
            },
            {
                "type": "object",
                "required": ["edits"],
                "additionalProperties": False,
                "properties": {"edits": _EDITS_SCHEMA},
            },
        ]
    },
)
