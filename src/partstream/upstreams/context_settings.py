"""Reads from JSON what an upstream is asked to take out of long conversations; every edit is checked before it is sent.

The servers drop what they do not know, or refuse the request in words of their own: so nothing unknown gets through.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.context_management import (
    CLEAR_THINKING,
    CLEAR_TOOL_USES,
    COMPACT,
    ContextManagement,
)
from partstream.upstreams.checks import ConfigurationError, boolean, mapping, string

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["read_context_management"]

_LEAST_COMPACTED: Final = 50_000
"""Input tokens below which Anthropic does not compact."""


def read_context_management(value: Any, where: str) -> ContextManagement:
    """The setting: `off`, `on`, or `{"edits": [...]}` in the AI SDK's words.

    Raises:
        ConfigurationError: It is none of these, or an edit is not one that can be asked for.
    """
    if value in ("off", "on"):
        return ContextManagement(is_on=value == "on")
    if not isinstance(value, dict) or set(value) != {"edits"} or not isinstance(value["edits"], list):
        raise ConfigurationError(where, _shown(value), 'off, on or {"edits": [...]}')
    edits = tuple(_edit(edit, f"{where}.edits[{number}]") for number, edit in enumerate(value["edits"]))
    if not edits:
        raise ConfigurationError(f"{where}.edits", "an empty list", "at least one edit, or off")
    _check_order([edit["type"] for edit in edits], f"{where}.edits")
    return ContextManagement(True, edits)


def _edit(value: Any, where: str) -> Mapping[str, Any]:
    fields = mapping(value, where)
    kind = fields.get("type")
    checks = _EDITS.get(kind) if isinstance(kind, str) else None
    if checks is None:
        raise ConfigurationError(f"{where}.type", _shown(kind), f"one of {', '.join(_EDITS)}")
    for name, setting in fields.items():
        if name == "type":
            continue
        if name not in checks:
            raise ConfigurationError(f"{where}.{name}", "a field that this edit has not", f"one of {', '.join(checks)}")
        checks[name](setting, f"{where}.{name}")
    return fields


def _check_order(kinds: list[str], where: str) -> None:
    twice = next((kind for kind in kinds if kinds.count(kind) > 1), None)
    if twice is not None:
        raise ConfigurationError(where, f"{twice} twice", "each edit once")
    if CLEAR_THINKING in kinds[1:]:
        raise ConfigurationError(where, f"{CLEAR_THINKING} behind another edit", f"{CLEAR_THINKING} first")


def _amount(kinds: tuple[str, ...], least: int, value: Any, where: str) -> None:
    """`{"type": "input_tokens", "value": 5000}`."""
    kind = value.get("type") if isinstance(value, dict) else None
    count = value.get("value") if isinstance(value, dict) else None
    if kind not in kinds or type(count) is not int or count < least or set(value) != {"type", "value"}:
        expected = f'{{"type": "{" or ".join(kinds)}", "value": a whole number of at least {least:,}}}'
        raise ConfigurationError(where, _shown(value), expected)


def _kept_thinking(value: Any, where: str) -> None:
    if value != "all":
        _amount(("thinking_turns",), 1, value, where)


def _never(value: Any, where: str) -> None:
    if boolean(value, where):
        raise ConfigurationError(where, "true", "false: nobody would go on after the pause")


def _names(value: Any, where: str) -> None:
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        raise ConfigurationError(where, _shown(value), "a list of names of tools")


def _shown(value: Any) -> str:
    return "nothing" if value is None else repr(value)[:100]


_EDITS: Final[Mapping[str, Mapping[str, Callable[[Any, str], Any]]]] = {
    CLEAR_TOOL_USES: {
        "trigger": partial(_amount, ("input_tokens", "tool_uses"), 1),
        "keep": partial(_amount, ("tool_uses",), 0),
        "clearAtLeast": partial(_amount, ("input_tokens",), 1),
        "clearToolInputs": boolean,
        "excludeTools": _names,
    },
    CLEAR_THINKING: {"keep": _kept_thinking},
    COMPACT: {
        "trigger": partial(_amount, ("input_tokens",), _LEAST_COMPACTED),
        "pauseAfterCompaction": _never,
        "instructions": string,
    },
}
"""The edits, their fields, and how each is checked; source: `@ai-sdk/anthropic` 4.0.105 and Anthropic's reference."""
