"""The errors of settings; no message shows a secret."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.errors import CallerError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ConfigurationError", "MisplacedSettingError", "UnknownSettingError", "closest_name"]

_ALIKE: Final = 0.7
"""How much of two names must be the same (`difflib`) for one to be taken for a slip of the other."""
_MOST_LISTED: Final = 20
_LONGEST_NAME: Final = 40


class ConfigurationError(CallerError):
    """A setting is not usable.

    Attributes:
        where: The setting, such as `models[0].id`.
        got: What stands there, without secrets.
        expected: What could stand there.
    """

    def __init__(self, where: str, got: str, expected: str) -> None:
        super().__init__(f"setting {where}: got {got}, expected {expected}")
        self.where = where
        self.got = got
        self.expected = expected


class UnknownSettingError(ConfigurationError):
    """No setting has this name.

    Attributes:
        name: The name, its first 40 characters.
        place: Where it stands, such as `request` or `the VS Code group`.
        suggestion: The setting that is probably meant, or None.
    """

    def __init__(self, where: str, name: str, place: str, known: Iterable[str]) -> None:
        names = tuple(known)
        super().__init__(where, "an unknown setting", f"one of {', '.join(names)}")
        self.name = name[:_LONGEST_NAME]
        self.place = place
        self.suggestion = closest_name(name, names)
        self._known = names

    def __str__(self) -> str:
        if self.suggestion is not None:
            rest = f"; did you mean {self.suggestion!r}?"
        else:
            rest = f"; known settings: {', '.join(self._known)}" if len(self._known) <= _MOST_LISTED else ""
        return f"unknown setting {self.name!r} in {self.place}{rest}"


class MisplacedSettingError(ConfigurationError):
    """A request setting belongs to another protocol than the upstream's.

    Attributes:
        name: The setting.
        protocol: The protocol that it belongs to.
    """

    def __init__(self, where: str, name: str, protocol: str) -> None:
        super().__init__(
            where, f"a setting of {protocol}", "none, or `extraBody` for a server that takes it in the body"
        )
        self.name = name
        self.protocol = protocol

    def __str__(self) -> str:
        return f"setting {self.where} belongs to {self.protocol}; this protocol has no place for it"


def closest_name(name: str, known: Iterable[str]) -> str | None:
    """The known name that is closest to a name, ignoring case and separators; None if none is close."""
    from difflib import get_close_matches  # noqa: PLC0415 - needed only when something is wrong

    folded = {_folded(one): one for one in known}
    found = get_close_matches(_folded(name), folded, 1, _ALIKE)
    return folded[found[0]] if found else None


def _folded(name: str) -> str:
    return name.casefold().replace("_", "").replace("-", "")
