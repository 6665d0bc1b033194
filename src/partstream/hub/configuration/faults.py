"""What is wrong in `hub.toml`: each fault with its place, what is there and what could be; no message shows a key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from partstream.errors import CallerError
from partstream.settings.errors import HIDDEN, KEY_IN_A_NAME, closest_name

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ConfigurationFault", "FaultError", "UnusableHubFileError", "shown_value", "unknown_name"]

_LONGEST: Final = 60
"""Characters of a wrong value that are shown."""


@dataclass(frozen=True, slots=True)
class ConfigurationFault:
    """One fault.

    Attributes:
        where: The place in the file, such as `teams.research.budgets[1]`.
        got: What stands there.
        expected: What could stand there.
    """

    where: str
    got: str
    expected: str

    def __str__(self) -> str:
        return f"{self.where}: got {self.got}, expected {self.expected}"


class FaultError(Exception):
    """Carries one fault from the reader of a value to whoever collects them.

    Attributes:
        fault: The fault.
    """

    def __init__(self, where: str, got: Any, expected: str) -> None:
        self.fault = ConfigurationFault(where, shown_value(got), expected)
        super().__init__(str(self.fault))


class UnusableHubFileError(CallerError):
    """A file is of no use; nothing of it was applied.

    Attributes:
        file: Its name, as it was given.
        faults: All faults that were found.
    """

    def __init__(self, file: str, faults: Iterable[ConfigurationFault]) -> None:
        self.file = file
        self.faults = tuple(faults)
        super().__init__("\n".join(f"{file}: {fault}" for fault in self.faults))


def shown_value(value: Any) -> str:
    """A value from the file in an error: its beginning, hidden where it may be a key."""
    if isinstance(value, str):
        return HIDDEN if KEY_IN_A_NAME.search(value) else f"{value[:_LONGEST]!r}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return f"a table with {', '.join(map(str, value))[:_LONGEST]}" if value else "an empty table"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    return "nothing" if value is None else str(value)[:_LONGEST]


def unknown_name(where: str, name: str, known: Iterable[str], what: str) -> ConfigurationFault:
    """The fault of a name that stands for nothing, with the one that is probably meant.

    Args:
        where: Its place.
        name: The name.
        known: The names that could stand there.
        what: What they are names of, as in `one of the fields`.
    """
    names = sorted(known)
    close = closest_name(name, names)
    hint = f"; did you mean {close!r}?" if close else ""
    listed = f"one of the {what} {', '.join(names)}" if names else f"none: there are no {what}"
    return ConfigurationFault(where, shown_value(name), listed + hint)
