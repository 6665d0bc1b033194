"""The tokens and the prices of the scripted model, by rules that are easy to compute by hand.

This is not the tokenizer of a real model: a text has one token per four bytes of UTF-8, rounded up, and every image has
the same number of tokens.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

from partstream.lm.messages import Role
from partstream.lm.parts import TextPart, ThinkingPart, ToolCallPart, ToolResultPart, Usage
from partstream.testing.asked import images_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from partstream.lm.messages import ChatMessage, Tool
    from partstream.lm.outputs import InboundRequest
    from partstream.lm.parts import MessagePart, ResponsePart

__all__ = [
    "IMAGE_TOKENS",
    "INPUT_PRICE",
    "OUTPUT_PRICE",
    "AnswerTokens",
    "PromptTokens",
    "cost",
    "count_message",
    "count_prompt",
    "count_tokens",
    "usage",
]

IMAGE_TOKENS: Final = 85
"""The tokens of an image, regardless of its size."""

INPUT_PRICE: Final = "0.000001"
"""US dollars per token of the prompt; text, as in the price lists of servers."""

OUTPUT_PRICE: Final = "0.000002"
"""US dollars per token of the answer."""

_MILLIONTHS: Final = 1_000_000


class PromptTokens(NamedTuple):
    """The tokens of a request.

    Attributes:
        all: The tokens of the whole request.
        cached: The tokens that the previous request of the conversation already contained, or that were read from the
            cache.
        written: The tokens that were written into the cache; None where nobody says.
    """

    all: int
    cached: int
    written: int | None = None


def count_tokens(text: str) -> int:
    """The tokens of `text`: its bytes in UTF-8 divided by four, rounded up."""
    return _of_bytes(_size(text))


def count_prompt(asked: InboundRequest) -> PromptTokens:
    """The tokens of a request."""
    always = count_tokens("".join(map(_said_of_tool, asked.options.tools)))
    counts = [count_message(message) for message in asked.messages]
    earlier = _last_model_turn(asked.messages)
    return PromptTokens(always + sum(counts), 0 if earlier is None else always + sum(counts[:earlier]))


def count_message(message: ChatMessage) -> int:
    """The tokens of a message: the sum for its text, its thinking, each call, each result and each image."""
    joined = (TextPart, ThinkingPart)
    texts = ["".join(part.value for part in message.content if isinstance(part, kind)) for kind in joined]
    return sum(map(count_tokens, texts)) + sum(
        count_tokens(_said_in(part)) + IMAGE_TOKENS * len(images_in(part))
        for part in message.content
        if not isinstance(part, joined)
    )


class AnswerTokens:
    """The tokens of an answer so far; consecutive pieces of text, or of thinking, count as one text.

    Attributes:
        all: The tokens of the whole answer.
        reasoning: The tokens of the thinking.
    """

    __slots__ = ("_kind", "_size", "all", "reasoning")

    def __init__(self) -> None:
        self.all = 0
        self.reasoning = 0
        self._kind: type[ResponsePart] | None = None
        self._size = 0

    def add(self, part: ResponsePart) -> None:
        """Adds the next part."""
        if isinstance(part, TextPart | ThinkingPart):
            before = _of_bytes(self._size) if self._kind is type(part) else 0
            self._size = _size(part.value) + (self._size if self._kind is type(part) else 0)
            grown = _of_bytes(self._size) - before
            self.reasoning += grown if isinstance(part, ThinkingPart) else 0
            self._kind = type(part)
            self.all += grown
        elif isinstance(part, ToolCallPart):
            self._kind = None
            self.all += count_tokens(_arguments(part.input))


def usage(prompt: PromptTokens, answer: AnswerTokens) -> Usage:
    """The usage of an exchange."""
    total = prompt.all + answer.all
    return Usage(prompt.all, answer.all, total, prompt.cached, answer.reasoning, cache_write_tokens=prompt.written)


def cost(prompt: PromptTokens, answer: AnswerTokens) -> str:
    """The cost of an exchange in US dollars, with six decimal places."""
    prices = round(float(INPUT_PRICE) * _MILLIONTHS), round(float(OUTPUT_PRICE) * _MILLIONTHS)
    dollars = prompt.all * prices[0] + answer.all * prices[1]
    return f"{dollars // _MILLIONTHS}.{dollars % _MILLIONTHS:06d}"


def _of_bytes(size: int) -> int:
    return (size + 3) // 4


def _size(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


def _said_of_tool(tool: Tool) -> str:
    return tool.name + tool.description + (_arguments(tool.input_schema) if tool.input_schema else "")


def _said_in(part: MessagePart) -> str:
    if isinstance(part, ToolCallPart):
        return part.name + _arguments(part.input)
    if isinstance(part, ToolResultPart):
        return "".join(one.value for one in part.content if isinstance(one, TextPart))
    return ""


def _arguments(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _last_model_turn(messages: Sequence[ChatMessage]) -> int | None:
    """The index of the first of the last consecutive messages of the model; None if there are none."""
    start: int | None = None
    for place, message in enumerate(messages):
        if message.role is Role.ASSISTANT and (place == 0 or messages[place - 1].role is not Role.ASSISTANT):
            start = place
    return start
