"""How a served answer ends in each version of the specification: finish reason, usage, price; knows no other part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partstream.protocols.serving import (
    Answer,
    Failed,
    Incomplete,
    RefusalBlock,
    ServedRequest,
    ThinkingBlock,
    ToolCallBlock,
    count_tokens,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["INPUT_PRICE", "OUTPUT_PRICE", "finish_fields"]

INPUT_PRICE: Final = "0.000001"
"""US dollars for a token of the prompt; the gateway writes prices as text."""

OUTPUT_PRICE: Final = "0.000002"
"""US dollars for a token of the answer."""

_MILLIONTHS: Final = 1_000_000


class _Spent(NamedTuple):
    """The tokens of one exchange."""

    prompt: int
    cached: int
    output: int
    reasoning: int


def finish_fields(request: ServedRequest, answer: Answer, generation_id: str) -> dict[str, Any]:
    """The fields of the `finish` part: finish reason and usage in the form of the version, and what the gateway adds.

    Args:
        request: What was asked, with the version.
        answer: What was answered.
        generation_id: By which the gateway knows the exchange.
    """
    spent = _spent(request, answer)
    unified, raw = _finish_reason(answer)
    write = _FORMS[request.dialect]
    return write(unified, raw, spent) | {
        "providerMetadata": {
            "gateway": {
                "routing": {"originalModelId": request.model, "resolvedProvider": "partstream"},
                "cost": _cost(spent),
                "generationId": generation_id,
            }
        }
    }


def _spent(request: ServedRequest, answer: Answer) -> _Spent:
    tokens = [(block, count_tokens("".join(block.pieces))) for block in answer.blocks]
    return _Spent(
        request.prompt_tokens,
        request.cached_tokens,
        sum(count for _, count in tokens),
        sum(count for block, count in tokens if isinstance(block, ThinkingBlock)),
    )


def _cost(spent: _Spent) -> str:
    prices = round(float(INPUT_PRICE) * _MILLIONTHS), round(float(OUTPUT_PRICE) * _MILLIONTHS)
    dollars = spent.prompt * prices[0] + spent.output * prices[1]
    return f"{dollars // _MILLIONTHS}.{dollars % _MILLIONTHS:06d}"


# What a provider says where it stopped, and what the specification makes of it.
_INCOMPLETE: Final[dict[str, tuple[str, str]]] = {
    "max_output_tokens": ("length", "max_tokens"),
    "content_filter": ("content-filter", "content_filter"),
}
_AFTER_BLOCK: Final[dict[type | None, tuple[str, str]]] = {
    ToolCallBlock: ("tool-calls", "tool_use"),
    RefusalBlock: ("content-filter", "refusal"),
}


def _finish_reason(answer: Answer) -> tuple[str, str | None]:
    """The word that all versions have, and the provider's own."""
    if isinstance(answer.ending, Failed):
        return "error", None
    if isinstance(answer.ending, Incomplete):
        return _INCOMPLETE.get(answer.ending.reason, ("other", answer.ending.reason))
    last = type(answer.blocks[-1]) if answer.blocks else None
    return _AFTER_BLOCK.get(last, ("stop", "end_turn"))


def _flat(unified: str, raw: str | None, spent: _Spent) -> dict[str, Any]:
    """Version 2."""
    return {
        "finishReason": unified,
        "usage": {
            "inputTokens": spent.prompt,
            "outputTokens": spent.output,
            "totalTokens": spent.prompt + spent.output,
            "reasoningTokens": spent.reasoning,
            "cachedInputTokens": spent.cached,
        },
    }


def _nested(unified: str, raw: str | None, spent: _Spent) -> dict[str, Any]:
    """Versions 3 and 4; what a provider does not say is left out, as JSON has no undefined."""
    return {
        "finishReason": {"unified": unified} | ({} if raw is None else {"raw": raw}),
        "usage": {
            "inputTokens": {
                "total": spent.prompt,
                "noCache": spent.prompt - spent.cached,
                "cacheRead": spent.cached,
                "cacheWrite": 0,
            },
            "outputTokens": {
                "total": spent.output,
                "text": spent.output - spent.reasoning,
                "reasoning": spent.reasoning,
            },
        },
    }


_FORMS: Final[dict[str, Callable[[str, str | None, _Spent], dict[str, Any]]]] = {"2": _flat, "3": _nested, "4": _nested}
