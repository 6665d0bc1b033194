"""How an answer ends in each version of the specification: finish reason, usage and errors as a provider says them.

What is not known is left out, as JSON has no undefined; nothing unknown becomes 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.codec.json_codec import is_json
from partstream.protocols.ai_sdk.errors import error_value
from partstream.protocols.ai_sdk.serve import known, rest_of
from partstream.usage import FinishReason, UnifiedFinishReason, Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.outputs import Finish
    from partstream.protocols.ai_sdk.errors import Chunk

__all__ = ["end_chunks"]

_UNSAID: Final = FinishReason(UnifiedFinishReason.OTHER)


def end_chunks(finish: Finish, version: int) -> list[Chunk]:
    """The last chunks of an answer: who answered, what went wrong, and the `finish`."""
    chunks: list[Chunk] = []
    identity = known(id=finish.response_id, modelId=finish.model)
    if identity:
        chunks.append({"type": "response-metadata", **identity})
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
        "usage": known(
            inputTokens=usage.input_tokens,
            outputTokens=usage.output_tokens,
            totalTokens=usage.total_tokens,
            reasoningTokens=usage.reasoning_tokens,
            cachedInputTokens=usage.cached_tokens,
        ),
    }


def _nested(reason: FinishReason, usage: Usage) -> Chunk:
    """Versions 3 and 4."""
    return {
        "finishReason": known(unified=reason.unified.value, raw=reason.raw),
        "usage": {
            "inputTokens": known(
                total=usage.input_tokens,
                noCache=rest_of(usage.input_tokens, usage.cached_tokens, usage.cache_write_tokens),
                cacheRead=usage.cached_tokens,
                cacheWrite=usage.cache_write_tokens,
            ),
            "outputTokens": known(
                total=usage.output_tokens,
                text=rest_of(usage.output_tokens, usage.reasoning_tokens),
                reasoning=usage.reasoning_tokens,
            ),
        },
    }


_ENDS: Final[dict[int, Callable[[FinishReason, Usage], Chunk]]] = {2: _flat, 3: _nested, 4: _nested}
