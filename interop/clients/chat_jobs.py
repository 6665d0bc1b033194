"""The jobs of clients of Chat Completions."""

from __future__ import annotations
from typing import TYPE_CHECKING, Any, Final

from interop.clients.jobs import PICTURE, TOOLS, Words, jobs_in
from interop.clients.wires import Wire
from partstream.lm.parts import UnifiedFinishReason

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["WIRE"]


def _user(content: Any) -> tuple[Mapping[str, Any], ...]:
    return ({"role": "user", "content": content},)


def _tool(name: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    # The helper of the Python package takes tools only with `strict`.
    function = {"name": name, "description": f"The {name}.", "parameters": schema, "strict": True}
    return {"type": "function", "function": function}


_LOOK: Final = [
    {"type": "text", "text": "scenario:image_echo"},
    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}},
]

WIRE: Final = Wire(
    "chat-completions",
    jobs_in(Words(_user, _user(_LOOK), {"tools": [_tool(*tool) for tool in TOOLS.items()]})),
    {
        UnifiedFinishReason.STOP: "stop",
        UnifiedFinishReason.TOOL_CALLS: "tool_calls",
        UnifiedFinishReason.LENGTH: "length",
        UnifiedFinishReason.CONTENT_FILTER: "content_filter",
    },
)
