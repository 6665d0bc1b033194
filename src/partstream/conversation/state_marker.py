"""Our stateful marker: the state that an answer leaves in the conversation for later requests, as text and as a value.

Copilot keeps the bytes of a `stateful_marker` part on the assistant message and sends them back in every later request,
under the name of the then requested model, also to other providers' models. It keeps only the text between the first
and the second backslash (docs/wires/vscode.md#stateful-markers). Our marker therefore names its upstream and model,
carries a checksum and holds no backslash; any other marker reads as None.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.sealing import seal, unseal
from partstream.lm.parts import STATEFUL_MARKER_MIME_TYPE, DataPart

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MAX_MARKER_LENGTH", "Origin", "StateMarker", "marker_part", "read_marker"]

MAX_MARKER_LENGTH: Final = 65_536
"""The most characters of a marker. VS Code was observed to keep 64 KB of metadata."""

_OF_CALL: Final = "toolCallId"
"""The field of an item that names the call to which it belongs."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The upstream and model that answered, for which alone carried state is valid.

    Attributes:
        upstream: A fingerprint of the server.
        model: The model's id on the server.
    """

    upstream: str
    model: str

    @property
    def key(self) -> str:
        """Upstream and model in one text."""
        return f"{self.upstream}/{self.model}"


@dataclass(frozen=True, slots=True)
class StateMarker:
    """The state that an answer leaves in the conversation.

    Attributes:
        origin: The upstream and model that answered.
        response_id: The server's id of the response if the server was asked to store it, otherwise None.
        history: The digest of the answered messages.
        answer: The digest of the answer where something depends on it: a stored response, or the place of reasoning
            in a text; otherwise empty.
        reasoning: The reasoning items of the answer, in the form that its protocol wants back.
    """

    origin: Origin
    response_id: str | None = None
    history: str = ""
    answer: str = ""
    reasoning: tuple[Mapping[str, Any], ...] = field(default=())

    def encode(self) -> str:
        """The marker as text of at most :data:`MAX_MARKER_LENGTH` characters.

        Reasoning that would exceed it is left out. What belongs to single calls, such as their signatures, is short,
        and servers refuse the calls without it: it stays as far as it fits.
        """
        text = seal(self._fields())
        if len(text) > MAX_MARKER_LENGTH and self.reasoning:
            of_calls = tuple(item for item in self.reasoning if _OF_CALL in item)
            return replace(self, reasoning=of_calls if len(of_calls) < len(self.reasoning) else ()).encode()
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
    """The data part with a marker for the host; VS Code core's agent host reads the model's id before the backslash.

    Args:
        model_id: The host's id of the model.
        marker: The marker.
    """
    name = model_id.replace("\\", "/")  # a second backslash would end the marker
    return DataPart.text(f"{name}\\{marker.encode()}", STATEFUL_MARKER_MIME_TYPE)


def read_marker(part: DataPart) -> StateMarker | None:
    """The marker in a data part; None for another kind of part, another provider's marker or a damaged marker."""
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
