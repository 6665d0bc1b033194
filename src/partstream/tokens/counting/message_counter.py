"""Counts the tokens of messages, tools and whole requests in a model family; each count has its source.

A table holds the counting functions of the part classes. Knows no upstream, no ledger and no calibration: a count has
no margin and no correction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.media import MediaKind, read_media
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, is_mark, row_of_class
from partstream.tokens.counting.estimator import estimate_text
from partstream.tokens.counting.json_text import json_text
from partstream.tokens.families import (
    NO_TOKENS,
    CountSource,
    Dimensions,
    TokenCount,
    estimate_file_tokens,
    image_cost_of,
    overheads_of,
    read_dimensions,
    vocabulary_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from partstream.lm.messages import ChatMessage, Tool
    from partstream.lm.parts import MessagePart
    from partstream.tokens.counting.counters import Counters

__all__ = ["MessageCounter"]

_UNREADABLE_IMAGE: Final = Dimensions(1024, 1024)
"""The assumed size of an image whose header cannot be read."""

_CHARACTERS_OF_HIDDEN_THINKING: Final = 4 / 3 * 4
"""The characters of encrypted thinking per token: base64 of the text's bytes, about four of which are a token."""

_HIDDEN_THINKING: Final = frozenset({"encrypted_content", "redactedData", "encrypted"})
"""The keys in a thinking part's metadata under which upstreams put hidden thinking."""


class MessageCounter:
    """Counts for one model family; holds no state of a request and serves any number of requests.

    Args:
        family: The family of the model, such as `gpt-4o` or `claude-sonnet-4.5`; any text is valid.
        counters: The available exact counters; without them, all text is estimated.
    """

    def __init__(self, family: str, counters: Counters | None = None) -> None:
        self.family = family
        self._counter = None if counters is None else counters.of_family(family)
        self._counter_version = "" if counters is None else counters.version_of(family)
        self._vocabulary = vocabulary_of(family)
        self._overheads = overheads_of(family)
        self._image_cost = image_cost_of(family)

    @property
    def source(self) -> CountSource:
        """The source of the counts of text."""
        return CountSource.ESTIMATED if self._counter is None else CountSource.COUNTED

    @property
    def version(self) -> str:
        """Identifies the way of counting: by a tokenizer, and by which, or by estimate."""
        return f"{self.source} {self._counter_version}".rstrip()

    def count_text(self, text: str) -> TokenCount:
        """The tokens of a single text."""
        if self._counter is None:
            return TokenCount(estimate_text(text, self._vocabulary), CountSource.ESTIMATED)
        return TokenCount(self._counter.count(text), CountSource.COUNTED)

    def count_message(self, message: ChatMessage) -> TokenCount:
        """The tokens of a message: of its parts, and the overhead around them; no protocol sends its author's name."""
        total = TokenCount(self._overheads.message, self.source)
        for part in message.content:
            total += self.count_part(part)
        return total

    def count_part(self, part: MessagePart) -> TokenCount:
        """The tokens of a part and all its contents; the host's marks have none, because they are never sent."""
        return row_of_class(_COUNTS, part)(self, part)

    def count_tools(self, tools: Sequence[Tool]) -> TokenCount:
        """The tokens of all tools of a request: names, descriptions, schemas, and the overhead around them."""
        if not tools:
            return NO_TOKENS
        total = TokenCount(self._overheads.tools, CountSource.ESTIMATED)  # servers do not publish the wording of tools
        for tool in tools:
            total += self._count_tool(tool)
        return total

    def count_request(self, messages: Sequence[ChatMessage], tools: Sequence[Tool] = ()) -> TokenCount:
        """The tokens of a whole request."""
        total = TokenCount(self._overheads.request, self.source) + self.count_tools(tools)
        for message in messages:
            total += self.count_message(message)
        return total

    def count_json(self, value: Any) -> TokenCount:
        """The tokens of a JSON value in its shortest form."""
        return self.count_text(json_text(value))

    def count_image(self, data: bytes) -> TokenCount:
        """The tokens of an encoded image; always an estimate, because a provider may scale the image first."""
        found = read_dimensions(data)
        return TokenCount(self._image_cost.tokens(found or _UNREADABLE_IMAGE), CountSource.ESTIMATED)

    def _count_tool(self, tool: Tool) -> TokenCount:
        schema = self.count_json({} if tool.input_schema is None else tool.input_schema)
        words = self.count_text(tool.name) + self.count_text(tool.description)
        return words + schema + TokenCount(self._overheads.tool, self.source)


def _count_words(counter: MessageCounter, part: TextPart) -> TokenCount:
    return counter.count_text(part.value)


def _count_thinking(counter: MessageCounter, part: ThinkingPart) -> TokenCount:
    if part.value:
        return counter.count_text(part.value)
    hidden = 0 if part.metadata is None else _hidden_characters(part.metadata)
    tokens = round(hidden / _CHARACTERS_OF_HIDDEN_THINKING)
    return TokenCount(tokens, CountSource.ESTIMATED) if tokens else NO_TOKENS


def _count_call(counter: MessageCounter, part: ToolCallPart) -> TokenCount:
    return counter.count_text(part.name) + counter.count_json(part.input)


def _count_result(counter: MessageCounter, part: ToolResultPart) -> TokenCount:
    return sum((counter.count_part(item) for item in part.content), NO_TOKENS)


def _count_data(counter: MessageCounter, part: DataPart) -> TokenCount:
    if is_mark(part.mime_type):
        return NO_TOKENS
    media = read_media(part)
    if media.kind is MediaKind.TEXT:
        return counter.count_text(media.text)
    if media.kind is MediaKind.IMAGE:
        return counter.count_image(b"" if media.url else part.data)
    if media.url:
        return counter.count_text(media.url)
    tokens = estimate_file_tokens(counter.family, media.media_type, part.data)
    return TokenCount(tokens, CountSource.ESTIMATED)


_COUNTS: Final[dict[type[MessagePart], Callable[..., TokenCount]]] = {
    TextPart: _count_words,
    ThinkingPart: _count_thinking,
    ToolCallPart: _count_call,
    ToolResultPart: _count_result,
    DataPart: _count_data,
}
"""The counting functions by part class."""


def _hidden_characters(metadata: Any) -> int:
    """The characters of all hidden thinking in metadata, at any depth."""
    if isinstance(metadata, list | tuple):
        return sum(map(_hidden_characters, metadata))
    if not hasattr(metadata, "items"):
        return 0
    return sum(
        len(value) if name in _HIDDEN_THINKING and isinstance(value, str) else _hidden_characters(value)
        for name, value in metadata.items()
    )
