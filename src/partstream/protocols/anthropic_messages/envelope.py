"""What the events of an answer say about the answer as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.errors import UpstreamProtocolError
from partstream.protocols.read_response import Wire, identifier, mapping, objects

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.protocols.anthropic_messages.finish import StopReason

__all__ = ["Envelope"]

_METADATA: Final = "anthropic"
"""The name that the AI SDK has for the facts of this wire."""


class Envelope:
    """Who answers, under which id, and where the server's tools ran.

    Attributes:
        response_id: The server's id of the message, or None. Of several after pauses, the last.
        model: The server's name of the model that answers, or None.
        container: The container of the server's tools, whose id the next request repeats; empty without one.
    """

    __slots__ = ("_earlier_edits", "_edits", "_is_begun", "container", "model", "response_id")

    def __init__(self) -> None:
        self.response_id: str | None = None
        self.model: str | None = None
        self.container: Wire = {}
        self._is_begun = False
        self._edits: list[Wire] = []
        self._earlier_edits: list[Wire] = []

    def begin(self, message: Wire, *, is_empty: bool) -> bool | UpstreamProtocolError:
        """Takes the message of a `message_start`.

        Args:
            message: The message.
            is_empty: Whether no block has come yet.

        Returns:
            Whether the message begins with it: LiteLLM sends it twice, with the same id. The error, where
            another message begins in the middle of one.
        """
        given = identifier(message, "id")
        if self._is_begun:
            if given in (None, self.response_id):
                return False
            if not is_empty:
                return UpstreamProtocolError(
                    event_type="message_start", field="message.id", got=repr(given), expected=repr(self.response_id)
                )
        self._is_begun = True
        self.response_id = given or self.response_id
        self.model = identifier(message, "model") or self.model
        self.container = mapping(message, "container") or self.container
        self._earlier_edits += self._edits
        self._edits = objects(mapping(message, "context_management"), "applied_edits")
        return True

    def pause(self) -> None:
        """Another message may go on with the answer."""
        self._is_begun = False

    def say(self, event: Wire) -> None:
        """Takes a `message_delta`."""
        self.container = mapping(mapping(event, "delta"), "container") or self.container
        self._edits = objects(mapping(event, "context_management"), "applied_edits") or self._edits

    def metadata(self, stop: StopReason, *, was_compacted: bool) -> Mapping[str, Any]:
        """The server's other facts about the answer, in the words of the AI SDK."""
        edits = [_renamed(edit) for edit in (*self._earlier_edits, *self._edits)]
        edits += [{"type": "compaction"}] if was_compacted else []
        facts = {
            "contextManagement": {"appliedEdits": edits} if edits else None,
            "container": _renamed(self.container) or None,
            "stopSequence": stop.sequence,
            "stopDetails": _renamed(stop.details) or None,
        }
        known = {name: fact for name, fact in facts.items() if fact is not None}
        return {_METADATA: known} if known else {}


def _renamed(facts: Wire) -> Wire:
    """Facts under names in camel case, as the AI SDK writes them: `cleared_tool_uses` is `clearedToolUses`."""
    return {_camel(name): value for name, value in facts.items()}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
