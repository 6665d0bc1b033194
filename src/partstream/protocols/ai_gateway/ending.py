"""How an answer ends in each version of the specification: finish reason, usage and errors as a provider says them.

What is not known is left out, as JSON has no undefined; nothing unknown becomes 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.json_codec import is_json
from partstream.protocols.ai_gateway.errors import error_value
from partstream.usage import FinishReason, UnifiedFinishReason, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.outputs import Finish
    from partstream.protocols.ai_sdk.fields import Chunk

__all__ = ["end_chunks"]

_UNSAID: Final = FinishReason(UnifiedFinishReason.OTHER)


def end_chunks(finish: Finish, version: int) -> list[Chunk]:
    """The last chunks of an answer: who answered, what went wrong, and the `finish`."""
    chunks: list[Chunk] = []
    known = _known({"id": finish.response_id, "modelId": finish.model})
    if known:
        chunks.append({"type": "response-metadata", **known})
    if finish.error is not None:
        chunks.append({"type": "error", "error": error_value(finish.error)})
    said = {name: value for name, value in finish.provider_metadata.items() if is_json(value)}
    end = _ENDS[version](finish.reason or _UNSAID, finish.usage or Usage())
    chunks.append({"type": "finish", **end, **({"providerMetadata": said} if said else {})})
    return chunks


def _flat(reason: FinishReason, usage: Usage) -> Chunk:
    """Version 2."""
    return {
        "finishReason": reason.unified.value,
        "usage": _known(
            {
                "inputTokens": usage.input_tokens,
                "outputTokens": usage.output_tokens,
                "totalTokens": usage.total_tokens,
                "reasoningTokens": usage.reasoning_tokens,
                "cachedInputTokens": usage.cached_tokens,
            }
        ),
    }


def _nested(reason: FinishReason, usage: Usage) -> Chunk:
    """Versions 3 and 4."""
    return {
        "finishReason": _known({"unified": reason.unified.value, "raw": reason.raw}),
        "usage": {
            "inputTokens": _known(
                {
                    "total": usage.input_tokens,
                    "noCache": _rest(usage.input_tokens, usage.cached_tokens, usage.cache_write_tokens),
                    "cacheRead": usage.cached_tokens,
                    "cacheWrite": usage.cache_write_tokens,
                }
            ),
            "outputTokens": _known(
                {
                    "total": usage.output_tokens,
                    "text": _rest(usage.output_tokens, usage.reasoning_tokens),
                    "reasoning": usage.reasoning_tokens,
                }
            ),
        },
    }


_ENDS: Final[dict[int, Callable[[FinishReason, Usage], Chunk]]] = {2: _flat, 3: _nested, 4: _nested}


def _rest(total: int | None, *parts: int | None) -> int | None:
    """What is left of a total; unknown where the total or all of its parts are."""
    known = [part for part in parts if part is not None]
    return None if total is None or not known else max(total - sum(known), 0)


def _known(fields: Mapping[str, Any]) -> Chunk:
    return {name: value for name, value in fields.items() if value is not None}
