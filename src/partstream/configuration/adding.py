"""Adds a profile to the user's file, and removes one: its key in the keyring and its settings in the file."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from partstream.config.loading import load_configuration
from partstream.config.table import DEFAULT_PROFILE, PROFILES, read_document
from partstream.configuration.file_edits import edit_file, with_default_profile, with_profile, without_profile
from partstream.configuration.key_keeping import KeyFile, KeyringEntry
from partstream.settings.kinds import ConfigurationError, shown_name

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from partstream.configuration.key_keeping import KeyPlace
    from partstream.upstream.configuration import GatewayConfiguration
    from partstream.upstream.endpoint import Secret

__all__ = [
    "Addition",
    "UserConfigurationFile",
    "check_profile_name",
    "free_name",
    "keep",
    "read_user_file",
    "remove",
    "trial_of",
]

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}", re.ASCII)


@dataclass(frozen=True, slots=True)
class UserConfigurationFile:
    """The user's file as it was read.

    Attributes:
        path: The file, whether it exists or not.
        content: Its bytes; empty if it does not exist.
        profiles: The names of its profiles.
        has_upstream: Whether it says which upstream is in force where nobody names one.
    """

    path: Path
    content: bytes = field(repr=False)  # it may hold a key
    profiles: tuple[str, ...]
    has_upstream: bool


@dataclass(frozen=True, slots=True)
class Addition:
    """A profile that is to be added.

    Attributes:
        name: Its name.
        settings: Its settings by name, as TOML holds them; no key is among them.
        key: The key to be kept, or None.
        entry: Where it is kept, or None.
        is_default: Whether it becomes the `defaultProfile`.
    """

    name: str
    settings: Mapping[str, Any]
    key: Secret | None = None
    entry: KeyPlace | None = None
    is_default: bool = False


def read_user_file(path: Path) -> UserConfigurationFile:
    """The user's file.

    Raises:
        ConfigurationError: It cannot be read, or is no TOML.
    """
    document = read_document(path, must_exist=False)
    profiles = document.get(PROFILES, {})
    names = tuple(profiles) if isinstance(profiles, dict) else ()
    content = path.read_bytes() if path.is_file() else b""
    return UserConfigurationFile(
        path, content, names, bool(names) or bool({"baseUrl", DEFAULT_PROFILE} & document.keys())
    )


def check_profile_name(name: str, where: str) -> str:
    """A name for a new profile.

    Raises:
        ConfigurationError: It is hard to type, or may be a key.
    """
    if not _NAME.fullmatch(name) or shown_name(name) != name:
        raise ConfigurationError(where, shown_name(name), "letters, digits, dots, dashes and underscores, at most 40")
    return name


def free_name(wanted: str, taken: tuple[str, ...]) -> str:
    """A name that no profile has yet: the wanted one, or one with a number behind it."""
    name = re.sub(r"[^a-z0-9._-]+", "-", wanted.lower()).strip("-._")[:36] or "server"
    numbered = (f"{name}-{number}" for number in range(2, len(taken) + 3))
    return name if name not in taken else next(one for one in numbered if one not in taken)


def trial_of(addition: Addition, environment: Mapping[str, str]) -> GatewayConfiguration:
    """The configuration that the profile will have, with its key, though nothing is kept yet.

    It is read as a group of VS Code is, which is as narrow a place as a profile: nothing that belongs to another
    upstream takes part.

    Raises:
        ConfigurationError: A setting is of no use.
    """
    settings = dict(addition.settings)
    if addition.key is not None and addition.entry is not None:
        settings.pop(addition.entry.name, None)
        settings["apiKey"] = addition.key.reveal()
    settings.pop("defaultModel", None)  # whoever tries a server wants to see all its models
    return load_configuration(group=settings, environment=environment, may_lack_file=True).gateway()


async def keep(addition: Addition, file: UserConfigurationFile) -> None:
    """Keeps the key and writes the file; after a failure, and after Ctrl-C, both are as they were.

    Raises:
        ConfigurationError: The file has a form that is not changed by a program, or was changed meanwhile.
        KeyNotKeptError: The place of the key does not take it.
        OSError: The file cannot be written.
    """
    text = with_profile(file.path, file.content.decode(), addition.name, addition.settings)
    if addition.is_default:
        text = with_default_profile(file.path, text, addition.name)
    if addition.key is None or addition.entry is None:
        edit_file(file.path, file.content, text)
        return
    before = await addition.entry.keep(addition.key)
    try:
        edit_file(file.path, file.content, text)
    except BaseException:  # Ctrl-C too
        await addition.entry.put_back(before)
        raise


async def remove(name: str, file: UserConfigurationFile) -> KeyPlace | None:
    """Removes a profile, and its key from the place where :func:`keep` has put it, unless another profile names that.

    Returns:
        The place from which the key was removed; None if there was none.

    Raises:
        ConfigurationError: The file has a form that is not changed by a program, or was changed meanwhile.
        KeyNotKeptError: The key cannot be removed; the profile is.
        OSError: The file cannot be written.
    """
    text = file.content.decode()
    edit_file(file.path, file.content, without_profile(file.path, text, name))
    document = tomllib.loads(text)
    others = (document, *(one for other, one in document[PROFILES].items() if other != name))
    own = document[PROFILES][name]
    places: tuple[KeyPlace, ...] = (KeyringEntry(name), KeyFile(name))
    entry = next((one for one in places if own.get(one.name) == one.setting), None)
    if entry is None or any(other.get(entry.name) == entry.setting for other in others):
        return None
    return entry if await entry.remove() else None
