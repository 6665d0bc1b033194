"""Reads how a request wants the model to think: as a level of effort, which every wire has a word for.

Source: docs/wires/anthropic-messages.md#thinking-by-model. The writer of the response reads `display`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.read_request import optional_text

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["read_thinking"]

_NO_THINKING: Final = "none"
_USUAL: Final = "high"
"""The effort of adaptive thinking where none is stated."""

_BUDGETS: Final = ((1024, "minimal"), (4096, "low"), (10_000, "medium"), (16_000, "high"), (24_000, "xhigh"))
"""The most tokens of thinking for each effort, as other models know it; more than that is `max`."""


def read_thinking(body: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The reasoning effort, empty for none, and as options what else the request wants of the output.

    Args:
        body: The body, whose `thinking` and `output_config` are objects where they are there.

    Raises:
        InvalidRequestError: A field has the wrong type.
    """
    output = {name: value for name, value in (body.get("output_config") or {}).items() if value is not None}
    effort = optional_text(output, "effort", "output_config")
    output.pop("effort", None)
    options = {"output_config": output} if output else {}
    thinking = body.get("thinking") or {}
    kind, budget = optional_text(thinking, "type", "thinking"), thinking.get("budget_tokens")
    if kind == "disabled":
        effort = _NO_THINKING
    elif kind == "enabled" and type(budget) is int:
        effort = effort or next((word for most, word in _BUDGETS if budget <= most), "max")
    elif kind == "adaptive":
        effort = effort or _USUAL
    return effort, options
