"""The header `anthropic-beta`, which names a beta only with its feature (docs/wires/anthropic-messages.md#betas).

Anthropic refuses names that it does not know, so that a name without its feature is a risk without a use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.capabilities import UNKNOWN_CAPABILITIES
from partstream.protocols.anthropic_messages.context_edits import CLEAR_THINKING, CLEAR_TOOL_USES, COMPACT
from partstream.protocols.anthropic_messages.models import abilities_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["BETA_HEADER", "FEATURE_BETAS", "betas_of", "joined", "named"]

BETA_HEADER: Final = "anthropic-beta"


def _has_edit(*types: str) -> Callable[[Mapping[str, Any]], bool]:
    def test(body: Mapping[str, Any]) -> bool:
        management = body.get("context_management")
        edits = management.get("edits") if isinstance(management, dict) else None
        return isinstance(edits, list) and any(isinstance(edit, dict) and edit.get("type") in types for edit in edits)

    return test


def _interleaves(body: Mapping[str, Any]) -> bool:
    thinking = body.get("thinking")
    has_budget = isinstance(thinking, dict) and thinking.get("type") == "enabled"
    model = str(body.get("model", ""))
    return has_budget and bool(body.get("tools")) and abilities_of(model, UNKNOWN_CAPABILITIES).interleaves_by_beta


def _has(*names: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda body: any(name in body for name in names)


def _has_budget_of_task(body: Mapping[str, Any]) -> bool:
    output = body.get("output_config")
    return isinstance(output, dict) and "task_budget" in output


FEATURE_BETAS: Final[Mapping[str, Callable[[Mapping[str, Any]], bool]]] = {
    "context-management-2025-06-27": _has_edit(CLEAR_THINKING, CLEAR_TOOL_USES),
    "compact-2026-01-12": _has_edit(COMPACT),
    "interleaved-thinking-2025-05-14": _interleaves,
    "fast-mode-2026-02-01": _has("speed"),
    "task-budgets-2026-03-13": _has_budget_of_task,
    "fallback-credit-2026-07-01": _has("fallback_credit_token"),
    "server-side-fallback-2026-07-01": _has("fallbacks"),
    "cache-diagnosis-2026-04-07": _has("diagnostics"),
}
"""Each beta, and whether its feature is in a body."""


def betas_of(body: Mapping[str, Any]) -> tuple[str, ...]:
    """The betas whose features a body has."""
    return tuple(name for name, has_feature in FEATURE_BETAS.items() if has_feature(body))


def joined(names: Iterable[str]) -> str:
    """The value of the header, each name once."""
    return ",".join(dict.fromkeys(names))


def named(value: str) -> list[str]:
    """The names in the value of a header."""
    return [name.strip() for name in value.split(",") if name.strip()]
