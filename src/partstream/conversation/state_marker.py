"""Our stateful marker: what an answer leaves in the conversation for the requests after it; pure text to values.

Copilot keeps the bytes of a `stateful_marker` part on the assistant message and sends them back in every later
request, under the name of whichever model is asked then, also to other providers' models. It keeps only what stands
between the first and the second backslash. So a marker of ours names its upstream and model, carries a checksum and
holds no backslash, and whatever is not ours is read as None.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.markers import STATEFUL_MARKER_MIME_TYPE
from partstream.conversation.sealing import seal, unseal
from partstream.parts import DataPart

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MAX_MARKER_LENGTH", "Origin", "StateMarker", "marker_part", "read_marker"]

MAX_MARKER_LENGTH: Final = 65_536
"""Characters; VS Code was seen to keep 64 KB of metadata whole."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Who answered: what carried state is good for.

    Attributes:
        upstream: A fingerprint of the server.
        model: The model as the server names it.
    """

    upstream: str
    model: str

    @property
    def key(self) -> str:
        """Both in one text."""
        return f"{self.upstream}/{self.model}"


@dataclass(frozen=True, slots=True)
class StateMarker:
    """What an answer leaves behind.

    Attributes:
        origin: Who answered.
        response_id: The server's identifier of the response, where the server was asked to store it; else None.
        history: The digest of the messages that the answer was given to.
        answer: The digest of the answer itself.
        reasoning: The reasoning items of the answer, as its protocol wants them back.
    """

    origin: Origin
    response_id: str | None = None
    history: str = ""
    answer: str = ""
    reasoning: tuple[Mapping[str, Any], ...] = field(default=())

    def encode(self) -> str:
        """The marker as text, at most :data:`MAX_MARKER_LENGTH` long: reasoning that makes it longer is left out."""
        text = seal(self._fields())
        if len(text) > MAX_MARKER_LENGTH and self.reasoning:
            return replace(self, reasoning=()).encode()
        return text

    def _fields(self) -> dict[str, Any]:
        return {
            "u": self.origin.upstream,
            "m": self.origin.model,
            "r": self.response_id,
            "h": self.history,
            "a": self.answer,
            "t": [dict(item) for item in self.reasoning],
        }


def marker_part(model_id: str, marker: StateMarker) -> DataPart:
    """The part that gives a marker to the host; core's agent host reads the model's id before the backslash.

    Args:
        model_id: The model as the host names it.
        marker: What to carry.
    """
    name = model_id.replace("\\", "/")  # a second backslash would cut the marker off
    return DataPart.text(f"{name}\\{marker.encode()}", STATEFUL_MARKER_MIME_TYPE)


def read_marker(part: DataPart) -> StateMarker | None:
    """The marker in a data part, or None: another kind of part, another provider's marker, or a damaged one."""
    if part.mime_type != STATEFUL_MARKER_MIME_TYPE or len(part.data) > 2 * MAX_MARKER_LENGTH:
        return None
    for piece in part.data.decode(errors="replace").split("\\"):
        fields = unseal(piece)
        if fields is not None:
            return _marker_of(fields)
    return None


def _marker_of(fields: Any) -> StateMarker | None:
    if not isinstance(fields, dict):
        return None
    upstream, model, history, answer = (fields.get(name) for name in "umha")
    response_id, reasoning = fields.get("r"), fields.get("t")
    if not (
        isinstance(upstream, str)
        and isinstance(model, str)
        and isinstance(history, str)
        and isinstance(answer, str)
        and isinstance(response_id, str | None)
        and isinstance(reasoning, list)
    ):
        return None
    items = tuple(item for item in reasoning if isinstance(item, dict))
    return StateMarker(Origin(upstream, model), response_id, history, answer, items)
