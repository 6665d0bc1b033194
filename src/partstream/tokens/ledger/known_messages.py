"""Digests of messages and of their conversations, computed once for each object.

Nobody changes a message (:mod:`partstream.lm.parts`), so its identity determines its digest as long as it lives. That also
holds for its contents: code that changes the input of a counted tool call gets the old count. Knows no ledger; the same
message in another process has the same digest, but not the same identity.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Final

from partstream.tokens.ledger.digests import message_digest, prefix_digests

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.lm.messages import ChatMessage
    from partstream.tokens.ledger.digests import Digest

__all__ = ["KnownMessages"]

_MOST: Final = 20_000
"""The most messages whose digests are kept; as many as the ledger keeps in memory."""


class KnownMessages:
    """The digests of living messages, and of the last conversation."""

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
        # Python may reuse an identity as soon as its object is gone.
        known_messages[identity] = (weakref.ref(message, lambda _: known_messages.pop(identity, None)), digest)
        return digest

    def prefixes(self, digests: Sequence[Digest]) -> list[Digest]:
        """Does the same as :func:`partstream.tokens.ledger.digests.prefix_digests`, but computes only new digests."""
        same = 0
        for one, other in zip(digests, self._last_digests, strict=False):
            if one != other:
                break
            same += 1
        prefixes = self._last_prefixes[:same]
        prefixes += prefix_digests(digests[same:], *prefixes[-1:])
        self._last_digests, self._last_prefixes = list(digests), prefixes
        return list(prefixes)
