"""The jobs of clients of Anthropic Messages: answers, and the documents beside them."""

from __future__ import annotations
from typing import TYPE_CHECKING, Any, Final

from interop.clients.jobs import PICTURE, TOOLS, Job, Words, jobs_in
from interop.clients.wires import Wire
from partstream.lm.parts import UnifiedFinishReason
from partstream_devtools.testing.admission import endpoint_at
from partstream_devtools.testing.scripted_model import MODELS, count_prompt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream_devtools.testing.replaying import ReceivedRequest

__all__ = ["WIRE"]

_TOOLS: Final = [
    {"name": name, "description": f"The {name}.", "input_schema": schema} for name, schema in TOOLS.items()
]
_LOOK: Final = [
    {"type": "text", "text": "scenario:image_echo"},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}},
]


def _user(content: Any) -> tuple[Mapping[str, Any], ...]:
    return ({"role": "user", "content": content},)


def _count(request: ReceivedRequest) -> int:
    endpoint = endpoint_at("/v1/messages")
    asked = endpoint.reads.read(endpoint.request(request.path, request.body, request.headers))
    return count_prompt(asked).all


def _ids(_request: ReceivedRequest) -> list[str]:
    """The ids of all models, each a second time for Claude Code.

    The reason: docs/wires/serving.md#models-in-the-menu-of-claude-code.
    """
    ids = [model.id for model in MODELS]
    return [*ids, *(f"anthropic/{model_id}" for model_id in ids)]


def _one(_request: ReceivedRequest) -> list[Any]:
    model = next(model for model in MODELS if model.id == "text")
    return [model.id, model.name, model.max_input_tokens, model.max_output_tokens, True]


_WORDS: Final = Words(
    _user,
    _user(_LOOK),
    {"tools": _TOOLS},
    {"max_tokens": 4096, "thinking": {"type": "adaptive", "display": "summarized"}},
)

WIRE: Final = Wire(
    "anthropic-messages",
    (
        *jobs_in(_WORDS),
        Job("count", _user("How many tokens are these?"), {"tools": _TOOLS}, asks="count", expects=_count),
        Job("models", asks="models", expects=_ids),
        Job("one model", asks="model", expects=_one),
    ),
    {
        UnifiedFinishReason.STOP: "end_turn",
        UnifiedFinishReason.TOOL_CALLS: "tool_use",
        UnifiedFinishReason.LENGTH: "max_tokens",
        UnifiedFinishReason.CONTENT_FILTER: "refusal",
    },
)
