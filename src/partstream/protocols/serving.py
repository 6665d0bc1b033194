"""The served side of a protocol: what a model server reads from a request and what it answers, for every protocol.

Pure values and one row type. They know no wire form, no socket and no scenario; a protocol's folder turns them into
its own events with the functions of its :class:`ServedProtocol`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from partstream.messages import Tool
    from partstream.outputs import Reply

__all__ = [
    "Answer",
    "AnswerBlock",
    "Citation",
    "Completed",
    "Ending",
    "Failed",
    "Incomplete",
    "RefusalBlock",
    "ServedProtocol",
    "ServedRequest",
    "TextBlock",
    "ThinkingBlock",
    "ToolCallBlock",
    "ToolOutput",
    "count_tokens",
    "grouped",
]


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What the client says that one tool call gave.

    Attributes:
        call_id: The identifier that the server gave the call.
        name: The tool's name, or None where the request does not hold the call.
        text: The textual part of the output.
    """

    call_id: str
    name: str | None
    text: str


@dataclass(frozen=True, slots=True)
class ServedRequest:
    """A request as every protocol says it.

    Attributes:
        body: The JSON object as it came.
        model: The model that was asked for.
        stream: Whether the client wants events and not one document.
        user_text: The text of the last run of user messages that has any, joined with line breaks.
        tools: The tools that the model may call now: those of the request that its tool choice leaves.
        tool_outputs: What came back from tools since the last user text, in order.
        images: One description (media type or URL) for each image since the last answer of the model.
        prompt_tokens: The tokens of everything that the request holds, by :func:`count_tokens`.
        cached_tokens: Those of them that the request before this one in the conversation held as well.
        dialect: Which form of the protocol the client asked for, where there are several; the protocol's own word.
    """

    body: Mapping[str, Any]
    model: str
    stream: bool
    user_text: str
    tools: tuple[Tool, ...]
    tool_outputs: tuple[ToolOutput, ...]
    images: tuple[str, ...]
    prompt_tokens: int
    cached_tokens: int
    dialect: str = ""


@dataclass(frozen=True, slots=True)
class Citation:
    """A source of a span of the answer; `start` and `end` count characters of the block's text."""

    url: str
    title: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Visible text, in the pieces in which it is generated."""

    pieces: tuple[str, ...]
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class RefusalBlock:
    """What the model says where it will not answer, in pieces."""

    pieces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ThinkingBlock:
    """A summary of the model's reasoning, in pieces."""

    pieces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ToolCallBlock:
    """One call of a tool; the arguments are JSON text in pieces. Neighbouring calls are generated in parallel."""

    name: str
    pieces: tuple[str, ...]


AnswerBlock: TypeAlias = TextBlock | RefusalBlock | ThinkingBlock | ToolCallBlock
"""A part of an answer that stands on its own."""


@dataclass(frozen=True, slots=True)
class Completed:
    """The model said all that it wanted to say."""


@dataclass(frozen=True, slots=True)
class Incomplete:
    """A limit or a filter stopped the model in the last block; `reason` is the protocol family's word for it."""

    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The server broke while the last block was under way."""

    code: str
    message: str


Ending: TypeAlias = Completed | Incomplete | Failed
"""How an answer ends."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model says to one request; no blocks is an answer without output."""

    blocks: tuple[AnswerBlock, ...] = ()
    ending: Ending = Completed()


def grouped(
    blocks: Iterable[AnswerBlock],
) -> list[TextBlock | RefusalBlock | ThinkingBlock | list[ToolCallBlock]]:
    """The blocks in order, neighbouring tool calls as one list."""
    groups: list[TextBlock | RefusalBlock | ThinkingBlock | list[ToolCallBlock]] = []
    for block in blocks:
        if not isinstance(block, ToolCallBlock):
            groups.append(block)
        elif groups and isinstance(groups[-1], list):
            groups[-1].append(block)
        else:
            groups.append([block])
    return groups


@dataclass(frozen=True, slots=True)
class ServedProtocol:
    """How one protocol is served: a row of pure functions.

    Attributes:
        read_request: The body (and the headers, names in lower case) to a request; raises
            :class:`InvalidRequestError`.
        write_events: A request, the answer to it and what identifies the reply, to the events of the wire.
        write_document: The same events to what a client gets that did not ask for a stream: HTTP status and JSON.
        frame: One event to its bytes.
        end_of_stream: The bytes after the last event.
        error_body: HTTP status and message to the JSON of an error.
    """

    read_request: Callable[[Mapping[str, Any], Mapping[str, str]], ServedRequest]
    write_events: Callable[[ServedRequest, Answer, Reply], list[dict[str, Any]]]
    write_document: Callable[[Sequence[Mapping[str, Any]]], tuple[int, dict[str, Any]]]
    frame: Callable[[Mapping[str, Any]], bytes]
    end_of_stream: bytes
    error_body: Callable[[int, str], dict[str, Any]]


def count_tokens(text: str) -> int:
    """The tokens of `text` as the served models count them: one for every four bytes of UTF-8 begun.

    No real model's tokenizer; a rule that a test can work out by hand.
    """
    return (len(text.encode(errors="surrogatepass")) + 3) // 4
