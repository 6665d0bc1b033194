"""The errors of settings; no message shows a secret."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from partstream.errors import CallerError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "HIDDEN",
    "KEY_IN_A_NAME",
    "ConfigurationError",
    "MisplacedSettingError",
    "PlainHttpError",
    "SeveralFaultsError",
    "UnknownSettingError",
    "closest_name",
    "shown_name",
]

_ALIKE: Final = 0.7
"""How much of two names must be the same (`difflib`) for one to be taken for a slip of the other."""
_MOST_LISTED: Final = 20
_LONGEST_NAME: Final = 40
HIDDEN: Final = "***"
KEY_IN_A_NAME: Final = re.compile(
    r"(?<![A-Za-z0-9])(?=[A-Za-z]{0,40}[0-9])[A-Za-z0-9]{12,}|^(?:sk|pk|rk|gsk|xai|vck|psk|psj)[-_]"
)
"""What a key that stands in the place of a name looks like: a long word with a digit, or an issuer's first letters."""


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


class SeveralFaultsError(ConfigurationError):
    """Several settings of one place are not usable.

    Attributes:
        faults: Each of them; `where`, `got` and `expected` are those of the first.
    """

    def __init__(self, faults: Sequence[ConfigurationError]) -> None:
        super().__init__(faults[0].where, faults[0].got, faults[0].expected)
        self.faults = tuple(faults)

    def __str__(self) -> str:
        return "\n".join(map(str, self.faults))


class PlainHttpError(ConfigurationError):
    """The base URL is plain http to another machine, and nothing allows that.

    Attributes:
        host: The other machine, with its port.
        has_key: Whether requests hold a key, or headers that may be one.
        allowed_by: What allows it, such as an option.
    """

    def __init__(self, where: str, host: str, *, has_key: bool, allowed_by: str = "the setting allowInsecureHttp"):
        super().__init__(where, f"plain HTTP to {host}", f"https://, or {allowed_by}")
        self.host = host
        self.has_key = has_key
        self.allowed_by = allowed_by

    def __str__(self) -> str:
        texts = "prompts, answers and the key" if self.has_key else "prompts and answers"
        return (
            f"{self.where}: refusing plain HTTP to {self.host}: {texts} would be readable on the network; "
            f"use https://, or allow plain HTTP by {self.allowed_by}"
        )


class UnknownSettingError(ConfigurationError):
    """No setting has this name.

    Attributes:
        name: The name, its first 40 characters; hidden where it may be a key.
        place: Where it stands, such as `request` or `the VS Code group`.
        suggestion: The setting that is probably meant, or None.

    Args:
        where: Its whole path.
        name: The name.
        place: Where it stands.
        known: The names of the settings that may stand there.
        inside: The setting there that has one of this name inside, or None.
    """

    def __init__(self, where: str, name: str, place: str, known: Iterable[str], inside: str | None = None) -> None:
        names = tuple(known)
        if (shown := shown_name(name)) == HIDDEN:
            where = where.removesuffix(name) + shown
        super().__init__(where, "an unknown setting", f"one of {', '.join(names)}")
        self.name = shown
        self.place = place
        self.suggestion = closest_name(name, names) if inside is None else f"{inside}.{name}"
        self._known = names

    def __str__(self) -> str:
        if self.suggestion is not None:
            rest = f"; did you mean {self.suggestion!r}?"
        elif len(self._known) <= _MOST_LISTED:
            rest = f"; known settings: {', '.join(self._known)}"
        else:
            is_outside = "request" in self._known
            rest = "; a field that the server reads in requests goes into `request.extraBody`" if is_outside else ""
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


def shown_name(name: str) -> str:
    """A name from settings, its first 40 characters; hidden where it may be a key in the place of a name."""
    return HIDDEN if KEY_IN_A_NAME.search(name) else name[:_LONGEST_NAME]


def closest_name(name: str, known: Iterable[str]) -> str | None:
    """The known name that is closest to a name, ignoring case and separators; None if none is close."""
    from difflib import get_close_matches  # noqa: PLC0415 - needed only when something is wrong

    folded = {_folded(one): one for one in known}
    found = get_close_matches(_folded(name), folded, 1, _ALIKE)
    return folded[found[0]] if found else None


def _folded(name: str) -> str:
    return name.casefold().replace("_", "").replace("-", "")
