"""The conversation as messages of LangChain. Builds values only; imports the classes that the person's file has loaded.

Shapes: core 1.x, `langchain_core.messages`; content blocks of `langchain_core.messages.content`.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any, Final

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from partstream.conversation.media import MediaKind
from partstream.conversation.turns import Attachment, Call, Result, Text, TurnRole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from partstream.agents.adapter import AgentRequest
    from partstream.conversation.turns import Turn

__all__ = ["INSTRUCTIONS_ID", "messages_of", "result_message", "system_message", "with_results"]

INSTRUCTIONS_ID: Final = "partstream-instructions"
"""The id of the message with the host's instructions: newer ones take its place in a graph that keeps messages."""


def messages_of(turns: Iterable[Turn]) -> list[Any]:
    """The turns as messages, without the host's instructions."""
    return [message for turn in turns for message in _OF_ROLE[turn.role](turn)]


def system_message(request: AgentRequest) -> list[Any]:
    """The host's instructions as a message; none without instructions."""
    return [SystemMessage(content=request.instructions, id=INSTRUCTIONS_ID)] if request.instructions else []


def result_message(result: Result, message_id: str | None = None) -> Any:
    """The result of a tool.

    Args:
        result: The result.
        message_id: The id of the message whose place it takes, such as that of a placeholder.
    """
    return ToolMessage(
        content=_content(result.content),
        tool_call_id=result.call_id,
        name=result.name,
        status="error" if result.is_error else "success",
        id=message_id,
    )


def with_results(messages: Sequence[Any], results: Mapping[str, Result], is_placeholder: Callable[[Any], bool]) -> Any:
    """Messages with the host's results in place of their placeholders, and behind calls that have none.

    Args:
        messages: The messages of the run that has stopped.
        results: The results by call id.
        is_placeholder: Says of a message whether it is a placeholder.
    """
    placed = [
        result_message(results[message.tool_call_id], message.id)
        if is_placeholder(message) and getattr(message, "tool_call_id", None) in results
        else message
        for message in messages
    ]
    answered = {message.tool_call_id for message in placed if message.type == "tool"}
    return [*placed, *(result_message(result) for call_id, result in results.items() if call_id not in answered)]


def _user(turn: Turn) -> list[Any]:
    return [HumanMessage(content=_content(turn.content, between="\n\n"))]


def _system(turn: Turn) -> list[Any]:
    return [SystemMessage(content=_content(turn.content))]


def _assistant(turn: Turn) -> list[Any]:
    calls = [
        {"name": piece.name, "args": dict(piece.input), "id": piece.call_id, "type": "tool_call"}
        for piece in turn.content
        if isinstance(piece, Call)
    ]
    return [AIMessage(content=_content(turn.content), tool_calls=calls)]


def _tool(turn: Turn) -> list[Any]:
    return [result_message(piece) for piece in turn.content if isinstance(piece, Result)]


_OF_ROLE: Final[Mapping[TurnRole, Callable[[Turn], list[Any]]]] = {
    TurnRole.SYSTEM: _system,
    TurnRole.USER: _user,
    TurnRole.ASSISTANT: _assistant,
    TurnRole.TOOL: _tool,
}


def _content(pieces: Iterable[object], between: str = "") -> Any:
    """Texts and files as content: one text where there is nothing else, which every model takes."""
    shown = [piece for piece in pieces if isinstance(piece, Text | Attachment)]
    if all(isinstance(piece, Text) for piece in shown):
        return between.join(piece.value for piece in shown if isinstance(piece, Text))
    return [_block(piece) for piece in shown]


def _block(piece: Text | Attachment) -> dict[str, Any]:
    if isinstance(piece, Text):
        return {"type": "text", "text": piece.value}
    kind = "image" if piece.kind is MediaKind.IMAGE else "file"
    if piece.url:
        return {"type": kind, "url": piece.url}
    return {"type": kind, "base64": b64encode(piece.data).decode("ascii"), "mime_type": piece.media_type}
