"""Gives every answer a usage, with the provider's numbers or with counts made here; knows no connection.

Without a usage, Copilot's context widget shows zeros, and its compaction of long conversations has no numbers
(`ExtensionContributedChatEndpoint` in Copilot 0.67 reads the data part `usage`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import MOST_DOLLARS, as_amount, as_count
from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.conversation.turns import short_digest
from partstream.lm.parts import COST_KEY, EDITS_KEY, SOURCE_KEY, USAGE_MIME_TYPE, DataPart
from partstream.lm.provider import WaitingProgress
from partstream.runtime.progress import KeptAnswer
from partstream.tokens import CountSource, MessageCounter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.lm.messages import ChatMessage, RequestOptions
    from partstream.lm.parts import ResponsePart
    from partstream.lm.provider import DrainingProgress, LanguageModelChatInformation
    from partstream.tokens import TokenCount
    from partstream.vscode import rpc_types as wire

__all__ = ["UsageWatch", "answer_usage", "conversation_of", "counted_usage", "is_copilots_own"]


_COPILOT: Final = "github.copilot-chat"

_MOST_EDITS: Final = 20
_MOST_EDIT: Final = 500
"""The most cuts of an answer that are kept, and the most characters of each."""


class UsageWatch:
    """A progress that hands on everything and notices a usage part.

    Attributes:
        usage: The content of the last usage part, or None.
    """

    __slots__ = ("_kept", "_progress", "usage")

    def __init__(self, progress: DrainingProgress) -> None:
        self._progress = progress
        self.usage: dict[str, Any] | None = None
        self._kept = KeptAnswer()

    def report(self, part: ResponsePart) -> None:
        """Hands on a part."""
        self._progress.report(part)
        if isinstance(part, DataPart) and part.mime_type == USAGE_MIME_TYPE:
            self.usage = _usage(part) or self.usage
        else:
            self._kept.keep(part)

    def answer(self) -> ChatMessage:
        """The answer so far, as the message in the next request; only the beginning of a long answer."""
        return self._kept.message()

    @property
    def length(self) -> float:
        """The ratio of the whole answer's text length to that of :meth:`answer`; 1 except for a long answer."""
        return self._kept.length

    async def drain(self) -> None:
        """Waits for a slow reader."""
        await self._progress.drain()

    def wait(self, reason: str, seconds: float) -> None:
        """Hands on why the answer does not begin yet."""
        if isinstance(self._progress, WaitingProgress):
            self._progress.wait(reason, seconds)


def counted_usage(
    messages: Sequence[TokenCount],
    answer: TokenCount,
    length: float,
    model: LanguageModelChatInformation,
    options: RequestOptions,
) -> dict[str, Any]:
    """The usage of an answer whose provider reported none; its source is `estimated`.

    Args:
        messages: The tokens of each message of the prompt.
        answer: The tokens of the answer, or of its beginning. VS Code takes all three numbers or none.
        length: The ratio of the answer's length to that of the counted beginning.
        model: The model, whose family determines how tools count.
        options: The options of the request, with its tools.
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
    """The usage of an answer that ended now; None if `usage` lacks the input or the output."""
    prompt, completion = as_count(usage.get("prompt_tokens")), as_count(usage.get("completion_tokens"))
    if prompt is None or completion is None:
        return None
    details, edits = usage.get("prompt_tokens_details"), usage.get(EDITS_KEY)
    return {
        "model": model.name,
        "endedAt": now,
        "inputTokens": prompt,
        "outputTokens": completion,
        "cachedTokens": as_count(details.get("cached_tokens")) if isinstance(details, dict) else None,
        "cost": as_amount(usage.get(COST_KEY), MOST_DOLLARS),
        "source": "estimated" if usage.get(SOURCE_KEY) == CountSource.ESTIMATED else "reported",
        "maxInputTokens": model.max_input_tokens,
        "edits": [edit[:_MOST_EDIT] for edit in edits[:_MOST_EDITS] if isinstance(edit, str)]
        if isinstance(edits, list)
        else [],
    }


def conversation_of(options: RequestOptions) -> str | None:
    """The digest of a request's conversation; None for Copilot's own requests, such as the one for a title.

    Copilot names the conversation only in requests of the chat (observed in Copilot 0.67). All requests of another
    extension form one conversation.
    """
    named = _conversation_id(options)
    if named is not None:
        return short_digest(named)
    initiator = options.request_initiator
    return None if not initiator or initiator.lower() == _COPILOT else short_digest(f"initiator {initiator}")


def is_copilots_own(options: RequestOptions) -> bool:
    """Whether Copilot asks by itself, such as for a title, and not for a person who waits for the answer."""
    return (options.request_initiator or "").lower() == _COPILOT and _conversation_id(options) is None


def _conversation_id(options: RequestOptions) -> str | None:
    named = options.model_options.get("_conversationId")
    return named if isinstance(named, str) and named else None


def _usage(part: DataPart) -> dict[str, Any] | None:
    """The content of a usage part; None for content that VS Code would not read either."""
    try:
        usage = loads(part.data)
    except JSONDecodeError:
        return None
    return usage if isinstance(usage, dict) else None
