"""The streams of the AI SDK, beside the types of the packages `ai` and `@ai-sdk/provider`."""

from __future__ import annotations
from typing import Final

from interop.freshness.facts import Fact, Wire
from partstream.lm.parts import UnifiedFinishReason
from partstream.protocols.ai_sdk.read_response import CHUNKS, INTERRUPTED

__all__ = ["WIRE"]

_WORDS: Final = {INTERRUPTED, *(reason.value for reason in UnifiedFinishReason)}
_OTHERS: Final = {"*": "the other streams, and earlier versions: one table has the chunks of all"}

WIRE: Final = Wire(
    "ai-sdk",
    "ai",
    "npm",
    (
        Fact("a chunk of a UI message", "ai:$.UIMessageChunk", "type", {*CHUNKS, "data-*"}, foreign=_OTHERS),
        Fact("a part of a full stream", "ai:$.TextStreamPart<$.ToolSet>", "type", CHUNKS, foreign=_OTHERS),
        Fact(
            "a part of a provider's stream",
            "@ai-sdk/provider:$.LanguageModelV4StreamPart",
            "type",
            CHUNKS,
            foreign=_OTHERS,
        ),
        Fact("a finish reason", "ai:$.FinishReason", "", _WORDS),
        Fact("a part of a UI message", "ai:$.UIMessage['parts'][number]", "type"),
        Fact("the usage", "ai:$.LanguageModelUsage"),
        Fact("the usage of a provider", "@ai-sdk/provider:$.LanguageModelV4Usage"),
    ),
    ("@ai-sdk/provider",),
)
