"""Reads the reasoning of a run: messages with an id, and the older thinking without one.

AG-UI 1.0 dropped the names in THINKING; older packages still send them (docs/wires/ai-sdk.md#ag-ui-reasoning).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.outputs import StreamOutput, ThinkingMode
from partstream.parts import thinking_part
from partstream.protocols.ag_ui.carried_items import ENCRYPTED, ENTITY, MESSAGE
from partstream.protocols.read_response import Wire, identifier, text

if TYPE_CHECKING:
    from partstream.outputs import StreamOptions
    from partstream.protocols.ag_ui.carrying import Carrying

__all__ = ["Thinking"]

_OLDER: Final = "thinking"
"""The id of thinking that has none."""


class Thinking:
    """The reasoning of one run.

    Args:
        options: Whether it is shown.
        carrying: Takes what goes back.
    """

    __slots__ = ("_carrying", "_last_id", "_said", "_shows", "_taken")

    def __init__(self, options: StreamOptions, carrying: Carrying) -> None:
        self._shows = options.thinking is not ThinkingMode.OFF
        self._carrying = carrying
        self._last_id: str | None = None
        self._said: dict[str, list[str]] = {}  # of messages that are not closed
        self._taken: set[str] = set()  # of messages whose item is out

    def start(self, event: Wire, _outputs: list[StreamOutput]) -> None:
        """Takes the beginning of a message."""
        self._last_id = identifier(event, "messageId") or self._last_id

    def content(self, event: Wire, outputs: list[StreamOutput]) -> None:
        """Takes a piece of a message, also of one that nothing has opened."""
        message_id = identifier(event, "messageId") or self._last_id
        self._last_id = message_id
        if piece := text(event, "delta"):
            self._said.setdefault(message_id or _OLDER, []).append(piece)
            self.show(piece, message_id, outputs)

    def show(self, value: str, message_id: str | None, outputs: list[StreamOutput]) -> None:
        """Emits a thought, of the model or about what the agent does."""
        if self._shows:
            outputs.append(thinking_part(value, message_id))

    def encrypted(self, event: Wire, _outputs: list[StreamOutput]) -> bool:
        """Takes the opaque value of a message; returns whether the message is one of reasoning."""
        entity, value = identifier(event, "entityId"), identifier(event, ENCRYPTED)
        if entity is None or value is None or entity in self._taken:
            return False
        if entity in self._said or entity == self._last_id:
            self._close(entity, value)
            return True
        return False

    def settle(self) -> None:
        """Text or a call follows: what was thought is over, but for opaque values that come late."""
        for message_id in [*self._said]:
            self._close(message_id, None)

    def _close(self, message_id: str, value: str | None) -> None:
        said = "".join(self._said.pop(message_id, ()))
        self._taken.add(message_id)
        message = {"role": "reasoning", "id": message_id, "content": self._carrying.budget.take(said)}
        self._carrying.add({MESSAGE: message | ({ENCRYPTED: value} if value else {})})

    def late(self, entity: str, value: str) -> None:
        """Carries the opaque value of a message that went out before, or that is no reasoning."""
        self._carrying.add({ENTITY: entity, ENCRYPTED: value})
