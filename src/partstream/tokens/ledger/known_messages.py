"""Digests of messages and of the conversations that they make, worked out once for each object.

Messages are values that nobody changes (:mod:`partstream.parts`), so a message is known by its identity for as long as
it lives. That holds for what is in it, too: who changes the input of a tool call that was counted is told the old
count. Knows no ledger; what is the same in another process has the same digest and not the same identity.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Final

from partstream.tokens.ledger.digests import message_digest, prefix_digests

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.messages import ChatMessage
    from partstream.tokens.ledger.digests import Digest

__all__ = ["KnownMessages"]

_MOST: Final = 20_000
"""How many messages are known at once; as many digests as the ledger keeps in memory."""


class KnownMessages:
    """What was worked out of messages that still live, and of the conversation that was asked for last."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[ChatMessage], Digest]] = {}
        self._last_digests: list[Digest] = []
        self._last_prefixes: list[Digest] = []

    def digest(self, message: ChatMessage) -> Digest:
        """The digest of a message."""
        identity = id(message)
        known = self._known.get(identity)
        if known is not None and known[0]() is message:
            return known[1]
        if len(self._known) >= _MOST:
            self._known.clear()
        known_messages, digest = self._known, message_digest(message)
        # An identity is given to another object as soon as this one is gone.
        known_messages[identity] = (weakref.ref(message, lambda _: known_messages.pop(identity, None)), digest)
        return digest

    def prefixes(self, digests: Sequence[Digest]) -> list[Digest]:
        """See :func:`partstream.tokens.ledger.digests.prefix_digests`; works out only what is new."""
        same = 0
        for one, other in zip(digests, self._last_digests, strict=False):
            if one != other:
                break
            same += 1
        prefixes = self._last_prefixes[:same]
        prefixes += prefix_digests(digests[same:], *prefixes[-1:])
        self._last_digests, self._last_prefixes = list(digests), prefixes
        return list(prefixes)
