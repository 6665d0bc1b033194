"""The most tokens that a request can have, before it is sent: budgets reserve by it.

A token of text has at least one byte in every vocabulary that falls back on bytes, so the bytes of a request bound its
input without a tokenizer; where a tokenizer of the model's own vocabulary is installed, its count with a margin is a
closer bound. What files take at most is in :mod:`partstream.tokens.files`. The output is bounded by the limit that is
sent.
"""

from __future__ import annotations
import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from partstream.codec.checks import as_count
from partstream.codec.json_codec import dumps
from partstream.conversation.media import MediaKind, read_media
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, is_mark, row_of_class
from partstream.protocols.options import Option
from partstream.tokens import MessageCounter
from partstream.tokens.families import CountSource
from partstream.tokens.files import FileBound, file_bound, most_input

if TYPE_CHECKING:
    from partstream.lm.messages import ChatMessage, RequestOptions
    from partstream.lm.parts import MessagePart
    from partstream.tokens.counting import Counters


class Asked(Protocol):
    """What is asked of a model."""

    @property
    def messages(self) -> Sequence[ChatMessage]:
        """The conversation."""

    @property
    def options(self) -> RequestOptions:
        """The tools and the other options."""


MOST_ROUNDS: Final = 64
"""How often a model may be asked for one answer where a tool of the upstream or an agent has it asked again, each time
with at most a whole context window."""
_REQUEST: Final = 64
_MESSAGE: Final = 16
_TOOLS: Final = 1024
_TOOL: Final = 64
"""Tokens that servers add around a request, a message, all tools (a prompt of their own) and each tool."""
_CALL: Final = 32
_FILE: Final = 64
"""Tokens around a file, beside its name."""
_MARGIN: Final = 1.05
"""What a server adds to the text that a tokenizer counts, beside the tokens above."""


def wide_bound(family: str, asked: Asked, files: FileBound | None = None) -> int:
    """The most tokens of a request by its bytes, which takes microseconds, and of its files, where these are known."""
    total = _REQUEST + _around(asked) + (files or bound_of_files(family, asked)).tokens
    for message in asked.messages:
        total += sum(row_of_class(_BOUNDS, part)(part) for part in message.content)
    for tool in asked.options.tools:
        schema = {} if tool.input_schema is None else tool.input_schema
        total += _length(tool.name) + _length(tool.description) + len(dumps(schema))
    return total + _of_format(asked)


def bound_of_files(family: str, asked: Asked) -> FileBound:
    """The most tokens of all files of a request, and why the dearest takes as many. Reads large files whole."""
    bounds = [FileBound(0, "")]
    for part in _files_of(asked):
        media = read_media(part)
        if media.kind is not MediaKind.TEXT:
            bounds.append(file_bound(family, media.media_type, None if media.url else part.data))
    if len(bounds) == 1:
        return bounds[0]
    return FileBound(min(sum(one.tokens for one in bounds), most_input(family)), max(bounds).why)


def data_size(asked: Asked) -> int:
    """The bytes that the files of a request take in its body: four characters of base64 for three bytes."""
    return sum(len(part.data) // 3 * 4 for part in _files_of(asked))


def _files_of(asked: Asked) -> Iterator[DataPart]:
    parts = [part for message in asked.messages for part in message.content]
    while parts:
        part = parts.pop()
        if isinstance(part, ToolResultPart):
            parts += part.content
        elif isinstance(part, DataPart) and not is_mark(part.mime_type):  # marks of the host are never sent
            yield part


def close_bound(family: str, asked: Asked, counters: Counters) -> int | None:
    """The most tokens of a request by a tokenizer of its model; None where there is none, or something is estimated."""
    counter = MessageCounter(family, counters)
    if counter.source is CountSource.ESTIMATED:
        return None
    counted = [counter.count_message(one) for one in asked.messages]
    if any(one.source is CountSource.ESTIMATED for one in counted):
        return None
    tools = counter.count_tools(asked.options.tools).tokens
    text = sum(one.tokens for one in counted) + tools
    return min(math.ceil(text * _MARGIN) + _REQUEST + _around(asked) + _of_format(asked), wide_bound(family, asked))


def _around(asked: Asked) -> int:
    tools = asked.options.tools
    return _MESSAGE * len(asked.messages) + (_TOOLS + _TOOL * len(tools) if tools else 0)


def _of_format(asked: Asked) -> int:
    """The bytes of the options: some, such as the schema of the answer, become a part of the prompt."""
    return _length(dumps(dict(asked.options.model_options)))


def _length(text: str | bytes) -> int:
    if isinstance(text, bytes) or text.isascii():
        return len(text)
    return len(text.encode(errors="surrogatepass"))


_BOUNDS: Final[dict[type[MessagePart], Callable[..., int]]] = {
    TextPart: lambda part: _length(part.value),
    ThinkingPart: lambda part: (
        sum(map(_length, [part.value] if isinstance(part.value, str) else part.value)) + len(dumps(part.metadata or {}))
    ),
    ToolCallPart: lambda part: _CALL + _length(part.call_id) + _length(part.name) + len(dumps(part.input)),
    ToolResultPart: lambda part: (
        _CALL + _length(part.call_id) + sum(row_of_class(_BOUNDS, one)(one) for one in part.content)
    ),
    DataPart: lambda part: _FILE + _length(read_media(part).text) + len(read_media(part).url),
}
"""How the tokens of a part are bounded, by its class; those of files by :func:`bound_of_files`."""

OUTPUT_NAMES: Final = frozenset(Option.LIMIT.value)
"""What the wires call the most tokens of an answer."""


def asked_output(asked: Asked) -> int | None:
    """The most tokens of the answer that a request asks for; of several, the smallest. None if it does not say."""
    said = (as_count(value) for name, value in asked.options.model_options.items() if name in OUTPUT_NAMES)
    return min((one for one in said if one), default=None)
