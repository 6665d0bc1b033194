"""Makes call ids that every server accepts (1 to 64 characters, unique), and maps them back to the given ids.

In the conversation, the ids of this upstream have our prefix, which is removed here; ids of other providers stay. A
sent id depends only on the conversation before it, so later requests send the same id.
"""

from __future__ import annotations

from typing import Final

from partstream.conversation.digest import short_digest
from partstream.conversation.texts import well_formed

__all__ = ["MAX_ID_LENGTH", "CallIds"]

MAX_ID_LENGTH: Final = 64


class CallIds:
    """The call ids of one request, assigned call by call in the order of the conversation.

    Args:
        prefix: The prefix of this upstream's ids; may be empty.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._given: dict[str, str] = {}
        self._changed: set[str] = set()

    def open(self, call_id: str) -> str:
        """The id to send for a call: its own, or one derived from it if that is too long, empty or already used."""
        own = well_formed(call_id.removeprefix(self._prefix))
        sent, attempt = own, 0
        while not 1 <= len(sent) <= MAX_ID_LENGTH or sent in self._given:
            suffix = f"_{short_digest(f'{attempt or str()}{call_id}')}"
            sent = (own or "call")[: MAX_ID_LENGTH - len(suffix)] + suffix
            attempt += 1
        if sent != own:
            self._changed.add(sent)
        self._given[sent] = call_id
        return sent

    def from_upstream(self, sent: str) -> str:
        """The given id of a call, by its sent id.

        Raises:
            KeyError: No call was sent with this id.
        """
        return self._given[sent]

    def is_changed(self, sent: str) -> bool:
        """Whether a sent id differs from the upstream's own, by which a stored response knows the call."""
        return sent in self._changed
