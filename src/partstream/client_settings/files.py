"""The forms of settings files, each as what can be read of it and changed in its text; touches no disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from partstream.client_settings.splices import Splice

__all__ = ["FileForm", "Key", "UnusableTextError"]

Key = tuple[str, ...]
"""The names that lead to a value, from the outermost."""


class UnusableTextError(Exception):
    """A text has not the form of its file, or one in which it cannot be changed safely.

    Attributes:
        got: What stands there.
        expected: What could stand there.
    """

    def __init__(self, got: str, expected: str) -> None:
        super().__init__(f"got {got}, expected {expected}")
        self.got = got
        self.expected = expected


class FileForm(Protocol):
    """A form of settings files. All methods raise :class:`UnusableTextError`."""

    def found(self, text: str, key: Key) -> str | None:
        """The value of a key as the text writes it; None where the key is not there."""

    def means(self, text: str, key: Key, value: Any) -> bool:
        """Whether the text says this value for a key."""

    def with_value(self, text: str, key: Key, value: Any) -> tuple[Splice, ...]:
        """The changes that make a key have a value."""

    def with_written(self, text: str, key: Key, written: str) -> tuple[Splice, ...]:
        """The changes that put back a value as another text wrote it; what :meth:`found` gave."""

    def without(self, text: str, key: Key) -> tuple[Splice, ...]:
        """The changes that take a key away, and the tables around it that are empty then; none if it is not there."""

    def shown(self, values: dict[Key, Any]) -> str:
        """A file with these values alone."""
