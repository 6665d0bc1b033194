"""The settings that name the place of a key; reads no key."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any, Final

from partstream.codec.checks import MOST_SECONDS
from partstream.settings.kinds import BODY, TEXT, ConfigurationError, Kind, ValueForm, number, string, text
from partstream.settings.row import Contents, Dialog, Nesting, Secrecy, Setting

__all__ = ["KEY_ROWS", "LIFETIME"]

LIFETIME: Final = "apiKeyLifetime"
"""The setting that goes with the others and names no place itself."""


def _variable(name: str, where: str) -> str:
    if not name.isprintable() or not name or "=" in name or " " in name:
        raise ConfigurationError(where, "an invalid name", "the name of an environment variable")
    return name


# A key that stands in the wrong setting must not be shown: these errors do not repeat the value.


def _file(value: str, where: str) -> Path:
    """The absolute path; the current folder may be untrusted."""
    path = os.path.expanduser(value)
    if not os.path.isabs(path):
        raise ConfigurationError(where, "a relative path", "an absolute path, or one that begins with ~/")
    return Path(path)


def _keyring(value: str, where: str) -> tuple[str, str]:
    service, _, user = value.rpartition("/")
    if not service or not user:
        raise ConfigurationError(where, "no service and user", "an entry such as service/user")
    return service, user


def _command(value: Any, where: str) -> list[str]:
    expected = 'a list of a program and its arguments, such as ["gcloud", "auth", "print-access-token"]'
    if isinstance(value, str):
        raise ConfigurationError(where, "one string, which would need a shell", expected)
    if not isinstance(value, list) or not value:
        raise ConfigurationError(where, type(value).__name__, expected)
    for index, part in enumerate(value):
        if "\0" in string(part, f"{where}[{index}]"):
            raise ConfigurationError(f"{where}[{index}]", "a null character", "text")
    if not value[0]:
        raise ConfigurationError(f"{where}[0]", "nothing", "a program")
    return value


def _is_lifetime(value: float) -> bool:
    return 1 <= value <= MOST_SECONDS


KEY_ROWS: Final = (
    Setting(
        "apiKeyEnv",
        text(_variable),
        "The environment variable that holds the key",
        option="--api-key-env",
        metavar="VARIABLE",
        dialog=Dialog("API key variable"),
    ),
    Setting(
        "apiKeyFile",
        text(_file),
        "The file that holds the key: an absolute path, or one that begins with `~/`",
        dialog=Dialog("API key file"),
    ),
    Setting(
        "apiKeyKeyring",
        text(_keyring),
        "The entry of the system's keyring that is the key, as `service/user`; needs the package `keyring`",
        dialog=Dialog("API key keyring"),
    ),
    Setting(
        "apiKeyCommand",
        Kind(ValueForm.LIST, _command, {"type": "array", "minItems": 1, "items": {"type": "string"}}),
        "A program and its arguments, whose output is the key; no shell is involved",
        secrecy=Secrecy.ARGUMENTS,
        dialog=Dialog("API key command"),
    ),
    Setting(
        LIFETIME,
        Kind(
            ValueForm.NUMBER,
            partial(number, fits=_is_lifetime, expected="a number of seconds from 1"),
            {"type": "number", "minimum": 1},
        ),
        "For how many seconds a key from a file, the keyring or a command is good",
        otherwise="until the `exp` of a JWT, else for ever",
        dialog=Dialog("API key lifetime"),
    ),
    Setting(
        "vercelOidc",
        BODY,
        "The Vercel project whose token is the key: that of `VERCEL_OIDC_TOKEN`, or one that the login of the Vercel "
        "CLI gets",
        contents=Contents(
            Nesting.OBJECT,
            (
                Setting("project", TEXT, "The id of the project"),
                Setting("team", TEXT, "The id of its team"),
            ),
        ),
        dialog=Dialog("Vercel OIDC"),
    ),
)
"""The settings beside `apiKey` that concern the key."""
