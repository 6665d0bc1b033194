"""A value that must not be seen: it shows itself only when asked by name."""

from __future__ import annotations

__all__ = ["Secret"]


class Secret:
    """Holds a key; its `repr` and `str` never show it, so that no log and no error can."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The key itself, for the one header that needs it."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)
