"""What keeps the answers that clients ask to store, whatever it is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from partstream.errors import PartstreamError

if TYPE_CHECKING:
    from collections.abc import Collection

    from partstream.protocols.served_state import StoredAnswer

__all__ = ["AnswerStore", "ChainTooLargeError", "StoreFailedError"]


class StoreFailedError(PartstreamError):
    """A store could not keep or find an answer: it has too much to do, or its file cannot be read or written."""


class ChainTooLargeError(PartstreamError):
    """An answer continues more than a server takes into its memory."""


class AnswerStore(Protocol):
    """Keeps answers. Any method may raise :class:`StoreFailedError`."""

    async def save(self, owner: str, answer: StoredAnswer, item_ids: Collection[str]) -> None:
        """Keeps an answer, and makes those of its chain last as long. An answer with the same id is replaced."""
        ...

    async def chain(self, owner: str, answer_id: str) -> tuple[StoredAnswer, ...]:
        """An answer behind those that it continues, the oldest first, without frames; empty if it is not known.

        Raises:
            ChainTooLargeError: They are too many or too large.
        """
        ...

    async def frames(self, owner: str, answer_id: str) -> tuple[bytes, ...] | None:
        """The frames of an answer; None if none are kept."""
        ...

    async def answers_with(self, owner: str, item_ids: Collection[str]) -> tuple[StoredAnswer, ...]:
        """The answers that have one of the items, without frames."""
        ...

    async def delete(self, owner: str, answer_id: str) -> bool:
        """Deletes an answer; whether there was one."""
        ...

    async def close(self) -> None:
        """Waits until everything is written; nothing can be kept or found after it."""
        ...
