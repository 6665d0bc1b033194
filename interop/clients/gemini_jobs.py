"""The jobs of clients of Gemini. The field `messages` holds contents."""

from __future__ import annotations
from typing import TYPE_CHECKING, Any, Final

from interop.clients.jobs import PICTURE, TOOLS, Job, Words, jobs_in
from interop.clients.wires import Wire
from partstream.lm.parts import UnifiedFinishReason
from partstream_devtools.testing.admission import endpoint_at
from partstream_devtools.testing.scripted_model import count_prompt
from partstream_devtools.testing.upstream import REPLAY_MODELS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream_devtools.testing.replaying import ReceivedRequest

__all__ = ["WIRE"]


def _user(text: str) -> tuple[Mapping[str, Any], ...]:
    return ({"role": "user", "parts": [{"text": text}]},)


_LOOK: Final = (
    {
        "role": "user",
        "parts": [{"text": "scenario:image_echo"}, {"inline_data": {"mime_type": "image/png", "data": PICTURE}}],
    },
)
_DECLARED: Final = [
    {"name": name, "description": f"The {name}.", "parameters_json_schema": schema} for name, schema in TOOLS.items()
]
_TOOLS: Final = {"tools": [{"function_declarations": _DECLARED}]}


def _models(_request: ReceivedRequest) -> list[str]:
    """The names of all models."""
    return [f"models/{model.id}" for model in REPLAY_MODELS]


def _count(request: ReceivedRequest) -> int:
    """The tokens of one text of the user."""
    endpoint = endpoint_at("/v1beta/models/text:generateContent")
    asked = endpoint.reads.read(endpoint.request("/v1beta/models/text:generateContent", request.body, request.headers))
    return count_prompt(asked).all


WIRE: Final = Wire(
    "gemini",
    (
        *jobs_in(Words(_user, _LOOK, _TOOLS)),
        # The upstream refuses what a real server refuses: a call that comes back without its signature.
        Job(
            "two signed calls, then text",
            _user("scenario:tools The weather in Lisbon, the time in Porto?"),
            {**_TOOLS, "model": "gemini-3-flash"},
        ),
        Job("models", asks="models", expects=_models),
        Job("count", _user("How many tokens are these words?"), asks="count", expects=_count),
    ),
    {
        UnifiedFinishReason.STOP: "STOP",
        UnifiedFinishReason.TOOL_CALLS: "STOP",
        UnifiedFinishReason.LENGTH: "MAX_TOKENS",
        UnifiedFinishReason.CONTENT_FILTER: "SAFETY",
    },
)
