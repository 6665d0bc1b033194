"""Tokens as AG-UI counts them: one entry a model, each count a whole or a named part of one.

Source: `TokenUsage` of ag-ui-protocol 1.0: `inputTokens` and `outputTokens` are the wholes, `cachedInputTokens`,
`cacheWriteInputTokens` and `reasoningTokens` are parts of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.numbers import as_count
from partstream.protocols.read_response import identifier
from partstream.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["model_of", "read_usage", "written_usage"]

_FIELDS: Final[Mapping[str, str]] = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "totalTokens": "total_tokens",
    "cachedInputTokens": "cached_tokens",
    "cacheWriteInputTokens": "cache_write_tokens",
    "reasoningTokens": "reasoning_tokens",
}
"""The counts by their names on the wire, each with the field of :class:`partstream.usage.Usage`."""


def read_usage(value: object, requests: int) -> Usage | None:
    """The tokens of a run; None where it reports none.

    The entries cover all requests of the run. What fills the window of the model is the prompt of the last one, which
    nobody tells: it is no smaller than the mean of all.

    Args:
        value: The field `usage`.
        requests: How many requests the run made of its model.
    """
    counts: dict[str, int] = {}
    for entry in _entries(value):
        for name, field in _FIELDS.items():
            if (count := as_count(entry.get(name))) is not None:
                counts[field] = counts.get(field, 0) + count
    if not counts:
        return None
    given, made = counts.get("input_tokens"), counts.get("output_tokens")
    if given is not None and made is not None:
        counts.setdefault("total_tokens", given + made)
    context = None if given is None or requests < 2 else -(-given // requests)
    return Usage(**counts, raw={"usage": value}, context_tokens=context)


def model_of(value: object) -> str | None:
    """The model that the entries name; None where they name none, or several."""
    named = {identifier(entry, "model") for entry in _entries(value)} - {None}
    return named.pop() if len(named) == 1 else None


def written_usage(usage: Usage | None, model: str | None) -> dict[str, Any]:
    """The field `usage` of the end of a run; no field where nothing is known."""
    if usage is None:
        return {}
    counts = {name: getattr(usage, field) for name, field in _FIELDS.items()}
    known = {name: count for name, count in counts.items() if count is not None}
    return {"usage": [({"model": model} if model else {}) | known]} if known else {}


def _entries(value: object) -> list[dict[str, Any]]:
    listed = value if isinstance(value, list) else [value]
    return [one for one in listed if isinstance(one, dict)]
