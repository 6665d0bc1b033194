"""A conversation as messages of the framework; only classes of the framework that the person's file has imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.turns import Attachment, Call, Result, Text, TurnRole
from partstream.conversation.wording import FAILED, FAILED_SILENTLY
from partstream.messages import ToolMode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent_framework import Content, Message

    from partstream.agents.adapter import AgentRequest, Decision
    from partstream.conversation.turns import Piece, ResultContent

__all__ = ["chosen_options", "resumed_messages", "run_messages"]

_ROLES: Final = {TurnRole.USER: "user", TurnRole.ASSISTANT: "assistant", TurnRole.TOOL: "tool"}
_OPTIONS: Final = {
    "max_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "seed": "seed",
    "stop": "stop",
    "stop_sequences": "stop",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
}
"""The framework's names of a caller's options, fields of `ChatOptions`. All others stay out: they may hold headers, and
the agent chose its model and its tools itself."""


def chosen_options(request: AgentRequest) -> dict[str, Any]:
    """The fields of `ChatOptions` that the caller has chosen; none for one that leaves all to the agent."""
    given = request.model_options.items()
    chosen = {_OPTIONS[name]: value for name, value in given if name in _OPTIONS and value is not None}
    return chosen | ({"tool_choice": "required"} if request.tool_mode is ToolMode.REQUIRED and request.tools else {})


def run_messages(request: AgentRequest) -> list[Message]:
    """The messages of a run that knows nothing but the conversation. The host's instructions are a message of the
    system before it, so that the agent's own instructions stay as they are."""
    from agent_framework import Message  # noqa: PLC0415 - see above

    system = [Message("system", [request.instructions])] if request.instructions else []
    spoken = [turn for turn in request.turns if turn.role in _ROLES]
    return [*system, *(Message(_ROLES[turn.role], list(_contents(turn.content))) for turn in spoken)]


def resumed_messages(request: AgentRequest, asked: Iterable[Mapping[str, Any]]) -> list[Message]:
    """What a run that has stopped goes on with: what the host returned, and what the person decided.

    Args:
        request: The request.
        asked: The contents by which the framework has asked, as JSON.
    """
    from agent_framework import Content, Message  # noqa: PLC0415 - see above

    results = [_result(result) for result in request.results.values()]
    decided: list[Content] = []
    for content in map(Content.from_dict, asked):
        call = content.function_call
        decision = None if call is None else request.decisions.get(call.call_id or "")
        if decision is not None:
            decided += _decided(content, decision)
    messages = (("tool", results), ("user", decided))
    return [Message(role, contents) for role, contents in messages if contents]


def _decided(asked: Content, decision: Decision) -> list[Content]:
    """An approval has no place for a reason; the model gets to read it as a message."""
    from agent_framework import Content  # noqa: PLC0415 - see above

    response = asked.to_function_approval_response(decision.approved)
    return [response, Content.from_text(decision.reason)] if decision.reason else [response]


def _contents(pieces: Iterable[Piece]) -> Iterable[Content]:
    from agent_framework import Content  # noqa: PLC0415 - see above

    for piece in pieces:
        if isinstance(piece, Text | Attachment):
            yield _content(piece)
        elif isinstance(piece, Call):
            yield Content.from_function_call(piece.call_id, piece.name, arguments=dict(piece.input))
        elif isinstance(piece, Result):
            yield _result(piece)


def _result(result: Result) -> Content:
    from agent_framework import Content  # noqa: PLC0415 - see above

    items = [_content(piece) for piece in result.content]
    if result.is_error:  # servers have no field for it, and the framework's own says nothing to the model
        items.insert(0, Content.from_text(FAILED if items else FAILED_SILENTLY))
    texts = [item.text or "" for item in items if item.type == "text"]
    return Content.from_function_result(result.call_id, result="\n".join(texts) if len(texts) == len(items) else items)


def _content(piece: ResultContent) -> Content:
    from agent_framework import Content  # noqa: PLC0415 - see above

    if isinstance(piece, Text):
        return Content.from_text(piece.value)
    if piece.url:
        return Content.from_uri(piece.url, media_type=piece.media_type)
    return Content.from_data(piece.data, piece.media_type)
