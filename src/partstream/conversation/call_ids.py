"""Call ids that every server takes, 1 to 64 characters and each of one call, and the way back to the given ones.

The ids of this upstream carry our prefix in the conversation and lose it here; ids of other providers pass as they
are. An id depends on the conversation before it alone, so later requests say it the same way.
"""

from __future__ import annotations

from typing import Final

from partstream.conversation.digest import short_digest
from partstream.conversation.texts import well_formed

__all__ = ["MAX_ID_LENGTH", "CallIds"]

MAX_ID_LENGTH: Final = 64


class CallIds:
    """The ids of one request, handed out call by call in the order of the conversation.

    Args:
        prefix: What was put before the ids of this upstream; may be empty.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._given: dict[str, str] = {}
        self._changed: set[str] = set()

    def open(self, call_id: str) -> str:
        """The id that is sent for a call: its own, or one made of it where that is too long, empty or taken."""
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
        """The id that was given for a call, by the one that was sent.

        Raises:
            KeyError: It was not sent.
        """
        return self._given[sent]

    def is_changed(self, sent: str) -> bool:
        """Whether an id is not the upstream's own: a response that the server has stored knows the call by another."""
        return sent in self._changed
