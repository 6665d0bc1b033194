"""Gives every answer a usage, and reads what it says: the provider's own numbers, or numbers that are counted here.

Without a usage Copilot's context widget shows zeros, and its compaction of long conversations goes by nothing
(`ExtensionContributedChatEndpoint` in Copilot 0.67 reads the data part `usage`). Knows no connection.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.digest import short_digest
from partstream.hosts.vscode.conversion import thinking_text
from partstream.json_codec import JSONDecodeError, loads
from partstream.messages import ChatMessage
from partstream.parts import DataPart, TextPart, ThinkingPart
from partstream.tokens import CountSource, MessageCounter
from partstream.usage import COST_KEY, EDITS_KEY, SOURCE_KEY, USAGE_MIME_TYPE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.hosts.vscode import wire
    from partstream.messages import RequestOptions
    from partstream.parts import ResponsePart
    from partstream.provider import DrainingProgress, LanguageModelChatInformation
    from partstream.tokens import TokenCount

__all__ = ["UsageWatch", "answer_usage", "conversation_of", "counted_usage"]


_COPILOT: Final = "github.copilot-chat"

_KEPT: Final = 32_768
"""Characters of an answer that are kept to be counted; the rest is taken to be like them, so that memory is bounded."""


class UsageWatch:
    """A progress that hands everything on, and notices whether a usage was among it.

    Attributes:
        usage: The last one that was reported, as the host reads it; None while there is none.
    """

    __slots__ = ("_kept", "_left_out", "_parts", "_progress", "usage")

    def __init__(self, progress: DrainingProgress) -> None:
        self._progress = progress
        self.usage: dict[str, Any] | None = None
        self._parts: list[ResponsePart] = []
        self._kept = self._left_out = 0

    def report(self, part: ResponsePart) -> None:
        """Hands on one part."""
        self._progress.report(part)
        if isinstance(part, TextPart):
            self._keep(part, len(part.value))
        elif isinstance(part, ThinkingPart):
            self._keep(part, len(thinking_text(part)))
        elif isinstance(part, DataPart) and part.mime_type == USAGE_MIME_TYPE:
            self.usage = _usage(part) or self.usage
        else:
            self._parts.append(part)

    def answer(self) -> ChatMessage:
        """What the model has said so far, as the message that it becomes in the next request; its beginning if long."""
        return ChatMessage.assistant(_joined(self._parts))

    def _keep(self, part: TextPart | ThinkingPart, length: int) -> None:
        if self._kept < _KEPT:
            self._parts.append(part)
            self._kept += length
        else:
            self._left_out += length

    @property
    def length(self) -> float:
        """How many times as long the texts of the answer are as those of :meth:`answer`; 1 for all but long ones."""
        return (self._kept + self._left_out) / self._kept if self._kept else 1.0

    async def drain(self) -> None:
        """Waits for a slow reader."""
        await self._progress.drain()


def _joined(parts: Sequence[ResponsePart]) -> list[ResponsePart]:
    """The parts, texts that follow each other as one: a token may lie across the border of two."""
    joined: list[ResponsePart] = []
    for kind, group in groupby(parts, type):
        if kind is TextPart:
            joined.append(TextPart("".join(part.value for part in group if isinstance(part, TextPart))))
        elif kind is ThinkingPart:
            thoughts = [part for part in group if isinstance(part, ThinkingPart)]
            joined += [part for part in thoughts if not part.value]  # they may carry what an upstream hides
            joined.append(ThinkingPart("".join(map(thinking_text, thoughts))))
        else:
            joined += group
    return joined


def counted_usage(
    messages: Sequence[TokenCount],
    answer: TokenCount,
    length: float,
    model: LanguageModelChatInformation,
    options: RequestOptions,
) -> dict[str, Any]:
    """The usage of an answer whose provider reported none; the whole is called an estimate.

    Args:
        messages: The tokens of each message of the prompt.
        answer: Those of the answer, or of its beginning: VS Code takes all three numbers or none.
        length: How many times as long the answer is.
        model: Says how tools count.
        options: Holds the tools.
    """
    around = MessageCounter(model.family).count_request((), options.tools)
    prompt, completion = sum(messages, around).tokens, round(answer.tokens * length)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        SOURCE_KEY: CountSource.ESTIMATED.value,
    }


def answer_usage(usage: Mapping[str, Any], model: LanguageModelChatInformation, now: float) -> wire.AnswerUsage | None:
    """What a usage says of an answer that ended now; None where it does not say both input and output."""
    prompt, completion = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if prompt is None or completion is None:
        return None
    details, edits = usage.get("prompt_tokens_details"), usage.get(EDITS_KEY)
    cost = usage.get(COST_KEY)
    return {
        "model": model.name,
        "endedAt": now,
        "inputTokens": prompt,
        "outputTokens": completion,
        "cachedTokens": _count(details.get("cached_tokens")) if isinstance(details, dict) else None,
        "cost": float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) and cost >= 0 else None,
        "source": "estimated" if usage.get(SOURCE_KEY) == CountSource.ESTIMATED else "reported",
        "maxInputTokens": model.max_input_tokens,
        "edits": [edit for edit in edits if isinstance(edit, str)] if isinstance(edits, list) else [],
    }


def conversation_of(options: RequestOptions) -> str | None:
    """The digest of the conversation that a request belongs to; None for what Copilot asks by itself, such as a title.

    Copilot names the conversation only in requests of the chat (facts of Copilot 0.67); those of another extension
    are one conversation.
    """
    named = options.model_options.get("_conversationId")
    if isinstance(named, str) and named:
        return short_digest(named)
    initiator = options.request_initiator
    return None if not initiator or initiator.lower() == _COPILOT else short_digest(f"initiator {initiator}")


def _usage(part: DataPart) -> dict[str, Any] | None:
    """The content of a usage part; None for what the host would not read either."""
    try:
        usage = loads(part.data)
    except JSONDecodeError:
        return None
    return usage if isinstance(usage, dict) else None


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None
