"""Chat Completions, beside the types of the package `openai`."""

from __future__ import annotations
from typing import Final

from interop.freshness.facts import Fact, Wire
from partstream.protocols.chat_completions.read_response import DELTA, ELSEWHERE, WORDS

__all__ = ["WIRE"]

_OTHERS: Final = {"*": "other servers of this wire"}
_CHUNK: Final = "openai.types.chat.chat_completion_chunk"

WIRE: Final = Wire(
    "chat-completions",
    "openai",
    "pypi",
    (
        Fact("a field of a delta", f"{_CHUNK}:ChoiceDelta", "", {*DELTA, *ELSEWHERE}, foreign=_OTHERS),
        Fact("a finish reason", f"{_CHUNK}:Choice.finish_reason", "", WORDS, foreign=_OTHERS),
        Fact("a chunk", f"{_CHUNK}:ChatCompletionChunk"),
        Fact("a piece of a tool call", f"{_CHUNK}:ChoiceDeltaToolCall"),
        Fact("a message", "openai.types.chat:ChatCompletionMessage"),
        Fact("the usage", "openai.types:CompletionUsage"),
        Fact("the tokens of a prompt", "openai.types.completion_usage:PromptTokensDetails"),
        Fact("the tokens of an answer", "openai.types.completion_usage:CompletionTokensDetails"),
    ),
)
