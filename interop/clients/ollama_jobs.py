"""The jobs of clients of Ollama's own wire."""

from __future__ import annotations
from typing import TYPE_CHECKING, Any, Final

from interop.clients.jobs import PICTURE, TOOLS, Job, Words, jobs_in
from interop.clients.wires import Wire
from partstream.lm.parts import UnifiedFinishReason
from partstream_devtools.testing.upstream import REPLAY_MODELS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream_devtools.testing.replaying import ReceivedRequest

__all__ = ["WIRE"]


def _user(text: str) -> tuple[Mapping[str, Any], ...]:
    return ({"role": "user", "content": text},)


_LOOK: Final = ({"role": "user", "content": "scenario:image_echo", "images": [PICTURE]},)


def _tool(name: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"type": "function", "function": {"name": name, "description": f"The {name}.", "parameters": schema}}


def _models(_request: ReceivedRequest) -> list[str]:
    """The names of all models."""
    return [model.id for model in REPLAY_MODELS]


def _window(_request: ReceivedRequest) -> int:
    """The window of the usual model."""
    return REPLAY_MODELS[0].max_input_tokens + REPLAY_MODELS[0].max_output_tokens


WIRE: Final = Wire(
    "ollama",
    (
        *jobs_in(Words(_user, _LOOK, {"tools": [_tool(*tool) for tool in TOOLS.items()]})),
        Job("models", asks="models", expects=_models),
        Job("window", asks="window", expects=_window),
    ),
    {
        UnifiedFinishReason.STOP: "stop",
        UnifiedFinishReason.TOOL_CALLS: "stop",
        UnifiedFinishReason.LENGTH: "length",
        UnifiedFinishReason.CONTENT_FILTER: "length",
    },
)
