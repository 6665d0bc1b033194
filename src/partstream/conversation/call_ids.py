"""Makes call ids that a server accepts, and maps them back to the given ids.

In the conversation, the ids of this upstream have our prefix, which is removed here; ids of other providers stay, as
far as the server takes them. A sent id depends only on the conversation before it, so later requests send the same id.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from partstream.conversation.digest import short_digest
from partstream.conversation.texts import well_formed

if TYPE_CHECKING:
    import re

__all__ = ["ANY_IDS", "MAX_ID_LENGTH", "CallIdRule", "CallIds", "IdForm"]

MAX_ID_LENGTH: Final = 64


@dataclass(frozen=True, slots=True)
class IdForm:
    """The form of the ids that a server accepts.

    Attributes:
        longest: The most characters.
        shortest: The fewest characters.
        refused: Matches a character that is refused; None where every character is accepted.
        filler: What an id of ours has in place of refused characters.
    """

    longest: int = MAX_ID_LENGTH
    shortest: int = 1
    refused: re.Pattern[str] | None = None
    filler: str = "_"

    def fits(self, call_id: str) -> bool:
        """Whether a server accepts the id."""
        if not self.shortest <= len(call_id) <= self.longest:
            return False
        return self.refused is None or not self.refused.search(call_id)

    def derive(self, call_id: str, seed: str) -> str:
        """An id of this form, readable as far as there is room: `search_9f86d081884c7d65`.

        Args:
            call_id: What it is derived from.
            seed: What makes it another id than those of other seeds.
        """
        digest = short_digest(seed)
        suffix = f"{self.filler}{digest}"
        if self.longest <= len(suffix):
            return digest[: self.longest]
        readable = call_id if self.refused is None else self.refused.sub(self.filler, call_id)
        return (readable or "call")[: self.longest - len(suffix)] + suffix


_ANY_ID: Final = IdForm()


@dataclass(frozen=True, slots=True)
class CallIdRule:
    """Which ids of calls a server accepts.

    Attributes:
        own: The form of ids that it gave itself. Some know the call again by nothing else, so they change only where
            the server would refuse them.
        foreign: The form of ids that others gave.
    """

    own: IdForm = _ANY_ID
    foreign: IdForm = _ANY_ID


ANY_IDS: Final = CallIdRule()


class CallIds:
    """The call ids of one request, assigned call by call in the order of the conversation.

    Args:
        prefix: The prefix of this upstream's ids; may be empty.
        rule: Which ids the server accepts.
    """

    def __init__(self, prefix: str, rule: CallIdRule = ANY_IDS) -> None:
        self._prefix = prefix
        self._rule = rule
        self._given: dict[str, str] = {}
        self._changed: set[str] = set()

    def open(self, call_id: str, *, is_foreign: bool = False) -> str:
        """The id to send for a call: its own, or one derived from it if the server refuses it, or if it was used.

        Args:
            call_id: The given id.
            is_foreign: Whether another upstream gave it, whatever its prefix.
        """
        own = well_formed(call_id.removeprefix(self._prefix))
        is_own = call_id.startswith(self._prefix) and not is_foreign
        form = self._rule.own if is_own else self._rule.foreign
        sent, attempt = own, 0
        while not form.fits(sent) or sent in self._given:
            sent = form.derive(own, f"{attempt or ''}{call_id}")
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
