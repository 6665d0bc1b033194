"""The most tokens that the input of a request can have, so that no answer costs more than was reserved for it.

A token of text has one byte at least, in every vocabulary that falls back on bytes. So bytes are a bound that holds
without any tokenizer; where one of the model's own vocabulary is installed, its count and a margin are a closer one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import dumps
from partstream.conversation.media import MediaKind, read_media
from partstream.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, row_of_class
from partstream.tokens import MessageCounter
from partstream.tokens.counting.count import CountSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.outputs import InboundRequest
    from partstream.parts import MessagePart
    from partstream.tokens.counting.counters import Counters

__all__ = ["close_bound", "wide_bound"]

_REQUEST: Final = 64
_MESSAGE: Final = 16
_TOOLS: Final = 1024
_TOOL: Final = 64
"""Tokens that servers add around a request, a message, all tools (a prompt of their own) and each tool."""
_CALL: Final = 32
_FACTOR: Final = 2
"""By how much an image or a file may exceed its estimate."""
_FILE: Final = 1024
_MARGIN: Final = 1.05
"""What a server adds to the text that a tokenizer counts, beside the tokens above."""


def wide_bound(family: str, asked: InboundRequest) -> int:
    """The most tokens of a request by its bytes; takes microseconds.

    Args:
        family: The family of the model, for the size of its images.
        asked: The request.
    """
    counter = MessageCounter(family)
    total = _REQUEST + _around(asked)
    for message in asked.messages:
        for part in message.content:
            total += row_of_class(_BOUNDS, part)(counter, part)
    for tool in asked.options.tools:
        schema = {} if tool.input_schema is None else tool.input_schema
        total += _length(tool.name) + _length(tool.description) + len(dumps(schema))
    return total + _of_format(asked)


def close_bound(family: str, asked: InboundRequest, counters: Counters) -> int | None:
    """The most tokens of a request by a tokenizer of its model; None where there is none, or something is estimated.

    Args:
        family: The family of the model.
        asked: The request.
        counters: The tokenizers that are installed.
    """
    counter = MessageCounter(family, counters)
    if counter.source is CountSource.ESTIMATED:
        return None
    counted = [counter.count_message(one) for one in asked.messages]
    if any(one.source is CountSource.ESTIMATED for one in counted):
        return None
    tools = counter.count_tools(asked.options.tools).tokens
    text = sum(one.tokens for one in counted) + tools
    return min(math.ceil(text * _MARGIN) + _REQUEST + _around(asked) + _of_format(asked), wide_bound(family, asked))


def _around(asked: InboundRequest) -> int:
    tools = asked.options.tools
    return _MESSAGE * len(asked.messages) + (_TOOLS + _TOOL * len(tools) if tools else 0)


def _of_format(asked: InboundRequest) -> int:
    """The bytes of the options: some, such as the schema of the answer, become a part of the prompt."""
    return _length(dumps(dict(asked.options.model_options)))


def _length(text: str | bytes) -> int:
    if isinstance(text, bytes) or text.isascii():
        return len(text)
    return len(text.encode(errors="surrogatepass"))


def _of_text(_counter: MessageCounter, part: TextPart) -> int:
    return _length(part.value)


def _of_thinking(_counter: MessageCounter, part: ThinkingPart) -> int:
    text: Any = part.value
    return sum(map(_length, [text] if isinstance(text, str) else text)) + len(dumps(part.metadata or {}))


def _of_call(_counter: MessageCounter, part: ToolCallPart) -> int:
    return _CALL + _length(part.call_id) + _length(part.name) + len(dumps(part.input))


def _of_result(counter: MessageCounter, part: ToolResultPart) -> int:
    inner = sum(row_of_class(_BOUNDS, one)(counter, one) for one in part.content)
    return _CALL + _length(part.call_id) + inner


def _of_data(counter: MessageCounter, part: DataPart) -> int:
    media = read_media(part)
    if media.kind is MediaKind.TEXT:
        return _length(media.text)
    return _FACTOR * counter.count_part(part).tokens + _FILE


_BOUNDS: Final[dict[type[MessagePart], Callable[..., int]]] = {
    TextPart: _of_text,
    ThinkingPart: _of_thinking,
    ToolCallPart: _of_call,
    ToolResultPart: _of_result,
    DataPart: _of_data,
}
"""How the tokens of a part are bounded, by its class."""
