"""Asks a model to think, in a form that it takes (docs/wires/anthropic-messages.md#thinking-by-model)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.capabilities import ThinkingForm
from partstream.protocols.anthropic_messages.models import LEAST_BUDGET, Sampling, ThinkingAs
from partstream.protocols.anthropic_messages.provider_state import is_thinking

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.protocols.anthropic_messages.models import Abilities, AnthropicMessagesSettings, ServerRules
    from partstream.protocols.anthropic_messages.provider_state import Wire

__all__ = [
    "NO_EFFORT",
    "SAMPLING",
    "ThinkingChoice",
    "asks_to_think",
    "budget_of",
    "thinking_fields",
    "without_refused_sampling",
]

NO_EFFORT: Final = "none"
"""The effort that switches thinking off."""

_LADDER: Final = (NO_EFFORT, "minimal", "low", "medium", "high", "xhigh", "max")
_BUDGETS: Final = {"minimal": 1024, "low": 4096, "medium": 10_000, "high": 16_000, "xhigh": 24_000, "max": 32_000}
_USUAL_BUDGET: Final = _BUDGETS["high"]
"""The tokens of thinking for each effort, for models without one; no effort means `high`."""

SAMPLING: Final = ("temperature", "top_p", "top_k")
_LEAST_TOP_P: Final = 0.95
"""The least `top_p` beside thinking (docs/wires/anthropic-messages.md#thinking-by-model)."""


@dataclass(frozen=True, slots=True)
class ThinkingChoice:
    """What decides how a model is asked to think.

    Attributes:
        own: What a person set.
        effort: The chosen effort, or None.
        abilities: What the model takes.
        rules: What the server takes.
        max_tokens: The most tokens of the answer, thinking included.
        must_call: Whether the model must call a tool.
        messages: The messages of the body.
        may_think: Whether thinking may be asked for at all.
    """

    own: AnthropicMessagesSettings
    effort: str | None
    abilities: Abilities
    rules: ServerRules
    max_tokens: int
    must_call: bool
    messages: Sequence[Wire]
    may_think: bool = True


def thinking_fields(choice: ThinkingChoice) -> Wire:
    """The fields `thinking` and `output_config` of a body, as far as anything is to be said."""
    form = _form(choice)
    thinking = _FORMS[form](choice) if form is not None else None
    effort = _effort(choice, form)
    return ({} if thinking is None else {"thinking": thinking}) | (
        {} if effort is None else {"output_config": {"effort": effort}}
    )


def _form(choice: ThinkingChoice) -> ThinkingAs | None:
    """The form in which thinking is spoken of; None for saying nothing."""
    set_form = choice.own.thinking_as
    if set_form is ThinkingAs.OFF:
        return None
    if set_form is ThinkingAs.DISABLED or choice.effort == NO_EFFORT or not _may_think(choice):
        return ThinkingAs.DISABLED if choice.abilities.can_stop_thinking and _thinks(choice) else None
    form = _chosen_form(choice) if set_form is ThinkingAs.AUTO else set_form
    if form is ThinkingAs.ENABLED and not _fits_budget(choice):
        return None
    return form


def _may_think(choice: ThinkingChoice) -> bool:
    """Whether earlier answers allow thinking (docs/wires/anthropic-messages.md#thinking-that-goes-back)."""
    answers = [message["content"] for message in choice.messages if message["role"] == "assistant"]
    lacks = any(
        any(block["type"] == "tool_use" for block in content) and not any(map(is_thinking, content))
        for content in answers
    )
    return choice.may_think and not (choice.rules.demands_thinking and lacks)


def _thinks(choice: ThinkingChoice) -> bool:
    return choice.abilities.thinking != ()


def _chosen_form(choice: ThinkingChoice) -> ThinkingAs | None:
    forms = choice.abilities.thinking
    is_wished = choice.effort is not None or choice.own.thinking_tokens is not None
    if forms is None:  # nobody knows whether it thinks: it is asked to only where somebody wishes it
        return _AS[choice.rules.thinking] if is_wished else None
    if ThinkingForm.ADAPTIVE in forms and not (choice.own.thinking_tokens and ThinkingForm.BUDGET in forms):
        return ThinkingAs.ADAPTIVE
    return ThinkingAs.ENABLED if ThinkingForm.BUDGET in forms and is_wished else None


_AS: Final = {ThinkingForm.ADAPTIVE: ThinkingAs.ADAPTIVE, ThinkingForm.BUDGET: ThinkingAs.ENABLED}


def _fits_budget(choice: ThinkingChoice) -> bool:
    """Whether a budget fits: not beside a forced call (docs/wires/anthropic-messages.md#tools-and-tool-choice), not
    after an answer that began without thinking, and not in an answer too short for it."""
    if choice.must_call or budget_of(choice) < LEAST_BUDGET:
        return False
    return not choice.abilities.is_claude or _has_begun_with_thinking(choice.messages)


def _has_begun_with_thinking(messages: Sequence[Wire]) -> bool:
    """Whether the answer that is gone on with began with thinking; true where a new one begins."""
    spoken = [index for index, message in enumerate(messages) if message["role"] == "user" and not _is_results(message)]
    current = [message for message in messages[spoken[-1] if spoken else 0 :] if message["role"] == "assistant"]
    return not current or is_thinking(current[0]["content"][0])


def _is_results(message: Wire) -> bool:
    """Whether a message of the user gives results: what else it says there stands beside them, and begins no turn."""
    return any(block["type"] == "tool_result" for block in message["content"])


def budget_of(choice: ThinkingChoice) -> int:
    """The budget in tokens; at most half of the answer where nobody set it, and always less than the answer."""
    if choice.own.thinking_tokens is not None:
        return min(choice.own.thinking_tokens, choice.max_tokens - 1)
    return min(_BUDGETS.get(choice.effort or "", _USUAL_BUDGET), choice.max_tokens // 2)


def _adaptive(choice: ThinkingChoice) -> Wire:
    return {"type": "adaptive", "display": choice.own.thinking_display.value}


def _enabled(choice: ThinkingChoice) -> Wire:
    return {"type": "enabled", "budget_tokens": budget_of(choice), "display": choice.own.thinking_display.value}


def _disabled(_choice: ThinkingChoice) -> Wire:
    return {"type": "disabled"}  # `display` beside it is refused


_FORMS: Final = {ThinkingAs.ADAPTIVE: _adaptive, ThinkingAs.ENABLED: _enabled, ThinkingAs.DISABLED: _disabled}


def _effort(choice: ThinkingChoice, form: ThinkingAs | None) -> str | None:
    """The level of effort in the server's words; None for saying nothing of it."""
    word = choice.effort
    if word is None or form is ThinkingAs.DISABLED or choice.own.thinking_as is ThinkingAs.OFF:
        return None  # Opus 5 refuses high levels beside `disabled` (docs/wires/anthropic-messages.md#thinking-by-model)
    known = choice.abilities.efforts
    if known is None:
        return choice.rules.efforts.get(word, word) if choice.rules.takes_effort and word != NO_EFFORT else None
    return _nearest(word, known)


def _nearest(word: str, known: Sequence[str]) -> str | None:
    """The highest level that a model takes up to a word, else its lowest; None where it takes none."""
    if word in known or not known:
        return word if known else None
    if word not in _LADDER:
        return word
    below = [level for level in known if level in _LADDER and _LADDER.index(level) <= _LADDER.index(word)]
    return below[-1] if below else known[0]


def asks_to_think(body: Mapping[str, Any]) -> bool:
    """Whether a body asks the model to think, in whatever form."""
    thinking = body.get("thinking")
    return isinstance(thinking, dict) and thinking.get("type") in {"adaptive", "enabled"}


def without_refused_sampling(body: Mapping[str, Any], abilities: Abilities) -> dict[str, Any]:
    """The body without the sampling parameters that the model refuses."""
    if abilities.sampling is Sampling.TAKEN:
        return dict(body)
    if abilities.sampling is Sampling.NOT_WHILE_THINKING and not asks_to_think(body):
        return dict(body)
    kept = {"top_p"} if abilities.sampling is Sampling.NOT_WHILE_THINKING and _is_high(body.get("top_p")) else set()
    return {name: value for name, value in body.items() if name not in SAMPLING or name in kept}


def _is_high(top_p: Any) -> bool:
    return isinstance(top_p, int | float) and _LEAST_TOP_P <= top_p <= 1
