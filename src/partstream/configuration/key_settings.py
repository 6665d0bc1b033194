"""Checks of the settings that say where a key comes from; reads no key."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from partstream.upstreams.checks import ConfigurationError, mapping, refuse_unknown, string

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["KEY_CHECKS", "LIFETIME", "check_file", "check_keyring"]

LIFETIME: Final = "apiKeyLifetime"
"""The setting that goes with the others and names no place itself."""


def _variable(value: Any, where: str) -> str:
    name = string(value, where)
    if not name.isprintable() or not name or "=" in name or " " in name:
        raise ConfigurationError(where, "no name of a variable", "the name of an environment variable")
    return name


def check_file(value: Any, where: str) -> str:
    """The path of a file, wherever the process was started.

    Raises:
        ConfigurationError: It would depend on the present folder, which may be one that nobody trusts.
    """
    path = os.path.expanduser(string(value, where))
    if not os.path.isabs(path):
        raise ConfigurationError(where, repr(value), "an absolute path, or one that begins with ~/")
    return path


def check_keyring(value: Any, where: str) -> tuple[str, str]:
    """The service and the user of an entry.

    Raises:
        ConfigurationError: One is missing.
    """
    service, _, user = string(value, where).rpartition("/")
    if not service or not user:
        raise ConfigurationError(where, repr(value), "an entry such as service/user")
    return service, user


def _command(value: Any, where: str) -> list[str]:
    expected = 'a list of a program and its arguments, such as ["gcloud", "auth", "print-access-token"]'
    if isinstance(value, str):
        raise ConfigurationError(where, "one string, which would need a shell", expected)
    if not isinstance(value, list) or not value:
        raise ConfigurationError(where, type(value).__name__, expected)
    for number, part in enumerate(value):
        if "\0" in string(part, f"{where}[{number}]"):
            raise ConfigurationError(f"{where}[{number}]", "a NUL", "text")
    if not value[0]:
        raise ConfigurationError(f"{where}[0]", "nothing", "a program")
    return value


def _lifetime(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value < float("inf"):
        raise ConfigurationError(where, repr(value), "a number of seconds from 1")
    return float(value)


def _vercel(value: Any, where: str) -> dict[str, Any]:
    given = mapping(value, where)
    refuse_unknown(given, {"project": None, "team": None}, f"{where}.")
    for name, item in given.items():
        string(item, f"{where}.{name}")
    return given


KEY_CHECKS: Final[Mapping[str, Callable[[Any, str], object]]] = {
    "apiKeyEnv": _variable,
    "apiKeyFile": check_file,
    "apiKeyKeyring": check_keyring,
    "apiKeyCommand": _command,
    LIFETIME: _lifetime,
    "vercelOidc": _vercel,
}
"""The settings beside `apiKey` that concern the key, and how each is checked."""
