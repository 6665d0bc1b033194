"""A conversation as the arguments of a run of a pydantic-ai agent; no I/O.

Of the framework it takes the classes of messages and tools, from modules that the agent's own file has imported
already.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.media import MediaKind
from partstream.conversation.turns import Attachment, Call, Result, Text, TurnRole
from partstream.messages import ToolMode
from partstream.parts import ThinkingPart

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydantic_ai.messages import ModelMessage, ModelResponsePart, UserContent
    from pydantic_ai.toolsets import ExternalToolset

    from partstream.agents.adapter import AgentRequest
    from partstream.conversation.turns import ResultContent, Turn
    from partstream.messages import ChatMessage, Tool

__all__ = ["THINKING_KEY", "common_arguments", "history_of", "model_settings_of", "result_value", "run_arguments"]

THINKING_KEY: Final = "partstream.pydantic-ai"
"""The key of the metadata of a thinking part under which the model's thinking stands with its signature."""

_SETTINGS: Final[Mapping[str, str]] = {
    "max_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "seed": "seed",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
    "stop": "stop_sequences",
    "stop_sequences": "stop_sequences",
}
"""The framework's names of a caller's options. All others stay out: they may hold headers, and the agent chose its
model and its tools itself."""


def run_arguments(request: AgentRequest) -> dict[str, Any]:
    """The arguments of a run that is rebuilt from the conversation, without those that say what the run may hand out.

    Args:
        request: The request; its last turn is of the user, of tools, or of the assistant.
    """
    history = [*request.turns]
    prompt = None
    if history and history[-1].role is TurnRole.USER:
        prompt = _user_content(history.pop().content)
    elif not history or history[-1].role is TurnRole.ASSISTANT:
        prompt = ""  # the framework refuses a run without anything to answer
    return {
        "user_prompt": prompt,
        "message_history": history_of(history, request.messages),
        **common_arguments(request),
    }


def common_arguments(request: AgentRequest) -> dict[str, Any]:
    """The arguments that a rebuilt run and one that goes on have in common."""
    from pydantic_ai.capabilities import ReinjectSystemPrompt  # noqa: PLC0415 - the agent's file has imported it

    return {
        "instructions": request.instructions or None,
        "toolsets": [_toolset_of(request.tools)] if request.tools else None,
        # With a history the framework leaves out the agent's system prompt, which it expects to be in there.
        "capabilities": [ReinjectSystemPrompt()],
    }


def model_settings_of(request: AgentRequest, own: Mapping[str, Any]) -> Any:
    """The settings of the model: those of the person, and above them what the caller has chosen for this request.

    A caller that demands a call of one of its tools gets it of the first request to the model; the framework refuses
    the demand for all requests, because such a run has no end.

    Args:
        request: The request.
        own: The person's.

    Returns:
        The settings, a function that gives them for each request to the model, or None for none.
    """
    options = request.model_options
    chosen = {_SETTINGS[name]: value for name, value in options.items() if name in _SETTINGS and value is not None}
    settings = {**own, **chosen}
    if request.tool_mode is not ToolMode.REQUIRED or not request.tools:
        return settings or None
    demanding = {**settings, "tool_choice": [tool.name for tool in request.tools]}
    return lambda context: demanding if context.run_step <= 1 else settings


def _toolset_of(tools: Iterable[Tool]) -> ExternalToolset[Any]:
    """The host's tools as a toolset whose tools the framework hands out."""
    from pydantic_ai import ExternalToolset, ToolDefinition  # noqa: PLC0415 - as above

    return ExternalToolset(
        [
            ToolDefinition(
                name=tool.name, description=tool.description, parameters_json_schema=dict(tool.input_schema or {})
            )
            for tool in tools
        ]
    )


def history_of(turns: Iterable[Turn], messages: Sequence[ChatMessage] = ()) -> list[ModelMessage]:
    """Turns as messages of the framework.

    Args:
        turns: The turns, every call with a result behind it.
        messages: The messages of the host, whose thinking holds the signatures that some servers want back.
    """
    from pydantic_ai.messages import ModelRequest, ModelResponse, UserPromptPart  # noqa: PLC0415 - as above

    history: list[ModelMessage] = []
    for turn in turns:
        if turn.role is TurnRole.ASSISTANT:
            parts = [*_thinking(turn, messages), *_response_parts(turn)]
            if parts:
                history.append(ModelResponse(parts=parts))
        elif turn.role is TurnRole.TOOL:
            history.append(ModelRequest(parts=[_return_part(one) for one in turn.content if isinstance(one, Result)]))
        else:
            history.append(ModelRequest(parts=[UserPromptPart(content=_user_content(turn.content))]))
    return history


def result_value(content: Iterable[ResultContent]) -> Any:
    """What a tool of the host returned, as the framework takes it: a text, or a list with its images and files."""
    values = [piece.value if isinstance(piece, Text) else _file(piece) for piece in content]
    if all(isinstance(value, str) for value in values):
        return "".join(values)
    return values


def _user_content(content: Iterable[Any]) -> str | list[UserContent]:
    pieces: list[Any] = [
        piece.value if isinstance(piece, Text) else _file(piece)
        for piece in content
        if isinstance(piece, Text | Attachment)
    ]
    return pieces[0] if len(pieces) == 1 and isinstance(pieces[0], str) else pieces


def _file(attachment: Attachment) -> Any:
    from pydantic_ai.messages import BinaryContent, DocumentUrl, ImageUrl  # noqa: PLC0415 - as above

    if attachment.url:
        of_kind = ImageUrl if attachment.kind is MediaKind.IMAGE else DocumentUrl
        return of_kind(url=attachment.url, media_type=attachment.media_type or None)
    return BinaryContent(data=attachment.data, media_type=attachment.media_type)


def _return_part(result: Result) -> Any:
    from pydantic_ai.messages import ToolReturnPart  # noqa: PLC0415 - as above

    return ToolReturnPart(
        tool_name=result.name,
        content=result_value(result.content),
        tool_call_id=result.call_id,
        outcome="failed" if result.is_error else "success",
    )


def _response_parts(turn: Turn) -> list[ModelResponsePart]:
    from pydantic_ai.messages import TextPart, ToolCallPart  # noqa: PLC0415 - as above

    parts: list[ModelResponsePart] = []
    for piece in turn.content:
        if isinstance(piece, Text):
            parts.append(TextPart(content=piece.value))
        elif isinstance(piece, Call):
            parts.append(ToolCallPart(tool_name=piece.name, args=dict(piece.input), tool_call_id=piece.call_id))
    return parts


def _thinking(turn: Turn, messages: Sequence[ChatMessage]) -> list[ModelResponsePart]:
    """The thinking that a message carries with its signature; what comes from the conversation is checked by the
    model's server."""
    from pydantic_ai.messages import ThinkingPart as FrameworkThinking  # noqa: PLC0415 - as above

    content = messages[turn.message].content if turn.message < len(messages) else ()
    parts: list[ModelResponsePart] = []
    for part in content:
        kept = (part.metadata or {}).get(THINKING_KEY) if isinstance(part, ThinkingPart) else None
        if not isinstance(kept, Mapping) or not isinstance(text := kept.get("content"), str):
            continue
        item, signature, provider = (kept.get(name) for name in ("id", "signature", "provider_name"))
        if isinstance(item, str | None) and isinstance(signature, str | None) and isinstance(provider, str | None):
            parts.append(FrameworkThinking(content=text, id=item, signature=signature, provider_name=provider))
    return parts
