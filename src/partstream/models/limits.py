"""The most tokens of a prompt and of an answer, by named policies over a server's declarations.

An undeclared limit is assumed, and its source tells so.

Reasoning is part of an answer's output: the output limits of OpenAI (`max_output_tokens`), Anthropic (`max_tokens`,
which has to exceed `budget_tokens`) and Google (`maxOutputTokens`) include it, so a window that leaves room for the
output leaves room for the reasoning. A setting serves servers that count reasoning in addition to the output.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from partstream.settings.kinds import Choice
from partstream.upstream.model_facts import Fact, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.upstream.model_facts import ModelRecord

__all__ = ["LimitPolicy", "LimitSettings", "ModelLimits", "limits_of"]


class LimitPolicy(Choice):
    """How much of a context window a prompt may take."""

    # Never less than half: some servers state an output limit as large as the window, which would leave nothing.
    RESERVE_OUTPUT = "reserve-output", "All but what an answer and its reasoning may take, and never less than half"
    CONTEXT_WINDOW = "context-window", "All of it: the consumer keeps room for the answer"
    FRACTION = "fraction", "A part of it, whatever an answer may take"


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """How limits are determined.

    Attributes:
        policy: How much of a context window a prompt may take.
        fraction: The part of the window for the prompt under the policy `fraction`, above 0 and at most 1.
        reasoning_tokens: Tokens reserved for reasoning in addition to the output limit, for servers that do not count
            reasoning as output.
        default_input_tokens: The most tokens of a prompt if no context window is known.
        default_output_tokens: The most tokens of an answer if no limit is known; at most a quarter of a known window.

    Example:
        >>> from partstream import LimitPolicy, LimitSettings
        >>> LimitSettings(LimitPolicy.FRACTION).fraction
        0.85
    """

    policy: LimitPolicy = LimitPolicy.RESERVE_OUTPUT
    fraction: float = 0.85
    reasoning_tokens: int = 0
    default_input_tokens: int = 128_000
    default_output_tokens: int = 16_384


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """The limits of one model, each with its source.

    Attributes:
        max_input_tokens: The most tokens of a prompt.
        max_output_tokens: The most tokens of an answer.
        context_window: The most tokens of both together, or None if unknown.
    """

    max_input_tokens: Fact[int]
    max_output_tokens: Fact[int]
    context_window: Fact[int] | None


def limits_of(record: ModelRecord, settings: LimitSettings) -> ModelLimits:
    """The limits of a model; every number is at least 1."""
    window = record.context_window
    output = _output(record, settings)
    if window is None:
        declared = record.max_input_tokens
        assumed = Fact(settings.default_input_tokens, Source.DEFAULT, "default_input_tokens")
        return ModelLimits(declared or assumed, output, None)
    tokens = max(1, _TOKENS[settings.policy](window.value, output.value, settings))
    field = f"{window.field}, {settings.policy}" if tokens != window.value else window.field
    prompt = Fact(tokens, window.source, field)
    if record.max_input_tokens is not None:
        prompt = _within(record.max_input_tokens, prompt)
    return ModelLimits(prompt, output, window)


def _output(record: ModelRecord, settings: LimitSettings) -> Fact[int]:
    window = record.context_window
    if record.max_output_tokens is not None:
        return record.max_output_tokens if window is None else _within(record.max_output_tokens, window)
    assumed = settings.default_output_tokens
    if window is not None:
        assumed = max(1, min(assumed, window.value // 4))
    return Fact(assumed, Source.DEFAULT, "default_output_tokens")


def _within(limit: Fact[int], bound: Fact[int]) -> Fact[int]:
    """A limit, or the bound if the limit exceeds it; a person's own limit stays as it is."""
    return limit if limit.source is Source.CONFIGURATION or limit.value <= bound.value else bound


def _reserve_output(window: int, output: int, settings: LimitSettings) -> int:
    return window - min(output + settings.reasoning_tokens, window // 2)


def _context_window(window: int, output: int, settings: LimitSettings) -> int:
    return window


def _fraction(window: int, output: int, settings: LimitSettings) -> int:
    return int(window * settings.fraction)


_TOKENS: Final[Mapping[LimitPolicy, Callable[[int, int, LimitSettings], int]]] = {
    LimitPolicy.RESERVE_OUTPUT: _reserve_output,
    LimitPolicy.CONTEXT_WINDOW: _context_window,
    LimitPolicy.FRACTION: _fraction,
}
"""The functions that compute the tokens of a prompt from the window and the output limit."""
