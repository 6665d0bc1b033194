"""A conversation as the input of a run, and what the host returned as the output of its tools; without I/O.

Source: OpenAI Agents SDK 0.24, `TResponseInputItem` and `ToolOutputText`, `ToolOutputImage`, `ToolOutputFileContent`:
all of them may be dicts, so no class of the SDK is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.agents.openai_agents.wire import input_of
from partstream.conversation.media import MediaKind, data_url, file_name
from partstream.conversation.turns import Attachment, Text
from partstream.conversation.wording import FAILED, FAILED_SILENTLY
from partstream.messages import ToolMode

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.agents.adapter import AgentRequest
    from partstream.conversation.turns import Result, ResultContent

__all__ = ["chosen_settings", "run_arguments", "tool_output"]

_SETTINGS: Final = {
    "max_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
}
"""The SDK's names of a caller's options, fields of `ModelSettings`. All others stay out: they may hold headers, and the
agent chose its model and its tools itself."""


def run_arguments(request: AgentRequest) -> list[dict[str, Any]]:
    """The input of a run that knows nothing but the conversation.

    The host's instructions are a message of the system before it, so that the agent's own instructions stay as they
    are, and a handover takes them along.

    Raises:
        RequestNotExpressibleError: A part is larger than the API allows, or holds what JSON has no form for.
    """
    system = [{"role": "system", "content": request.instructions}] if request.instructions else []
    return [*system, *input_of(request.turns)]


def chosen_settings(request: AgentRequest) -> dict[str, Any]:
    """The fields of `ModelSettings` that the caller has chosen; none for one that leaves all to the agent."""
    given = request.model_options.items()
    chosen = {_SETTINGS[name]: value for name, value in given if name in _SETTINGS and value is not None}
    return chosen | ({"tool_choice": "required"} if request.tool_mode is ToolMode.REQUIRED and request.tools else {})


def tool_output(result: Result) -> str | list[dict[str, Any]]:
    """What the host returned, as the output of a function tool: a text, or a list where it holds images or files."""
    pieces = [_output(piece) for piece in result.content]
    if result.is_error:  # the SDK has no field for it
        pieces.insert(0, _text(FAILED if pieces else FAILED_SILENTLY))
    if all(piece["type"] == "text" for piece in pieces):
        return "\n".join(piece["text"] for piece in pieces)
    return pieces


def _output(piece: ResultContent) -> dict[str, Any]:
    return _text(piece.value) if isinstance(piece, Text) else _ATTACHMENTS[piece.kind](piece)


def _text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def _image(piece: Attachment) -> dict[str, Any]:
    return {"type": "image", "image_url": piece.url or data_url(piece.data, piece.media_type)}


def _file(piece: Attachment) -> dict[str, Any]:
    if piece.url:
        return {"type": "file", "file_url": piece.url}
    data = data_url(piece.data, piece.media_type)
    return {"type": "file", "filename": file_name(piece.media_type), "file_data": data}


_ATTACHMENTS: Final[dict[MediaKind, Callable[[Attachment], dict[str, Any]]]] = {
    MediaKind.IMAGE: _image,
    MediaKind.FILE: _file,
}
