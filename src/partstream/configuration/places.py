"""The places of settings, and their order; reads the environment and the user's file, and checks nothing.

The file is the user's own. A `partstream.toml` in the present folder is not read: the folder may be one that nobody
trusts, and a base URL in it would be where the key goes.
"""

from __future__ import annotations

import os
import stat
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.configuration.table import SETTINGS
from partstream.settings.kinds import ConfigurationError, ValueForm, closest_name, shown_name
from partstream.settings.row import SettingSource, is_left_out

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "FILE_NAME",
    "FILE_VARIABLE",
    "PROFILES",
    "Given",
    "Layer",
    "configuration_file",
    "editor_layer",
    "environment_layer",
    "file_layer",
    "group_layer",
    "is_readable_by_all",
    "profile_layer",
    "read_document",
]

FILE_NAME: Final = "partstream.toml"
FILE_VARIABLE: Final = "PARTSTREAM_CONFIG"

PROFILES: Final = "profiles"
"""The table of the file that holds further tables of settings, see :mod:`partstream.configuration.profiles`."""

_PREFIX: Final = "PARTSTREAM_"
_PREFIXES_OF_SERVERS: Final = ("PARTSTREAM_SERVE_", "PARTSTREAM_HUB_")
"""The settings of `partstream serve` and of a hub are no settings of an upstream."""
_MAX_BYTES: Final = 1024 * 1024
_OTHER_VARIABLES: Final = frozenset({FILE_VARIABLE, "PARTSTREAM_CACHE", "PARTSTREAM_DATA", "PARTSTREAM_RECORDINGS"})


class Given(NamedTuple):
    """A value and its place.

    Attributes:
        value: The value, in JSON's types.
        where: How errors and people call the spot.
    """

    value: Any
    where: str


@dataclass(frozen=True, slots=True)
class Layer:
    """The settings of one place; the values may be secret.

    Attributes:
        place: The place.
        given: The settings by name, those left empty not among them.
        notes: What is odd there, in sentences.
        name: What errors call the place as a whole; empty for the usual name.
    """

    place: SettingSource
    given: Mapping[str, Given] = field(repr=False)
    notes: tuple[str, ...] = ()
    name: str = ""

    @property
    def shown_name(self) -> str:
        """The name of the place in errors, such as `the VS Code group`."""
        return self.name or f"the {self.place}"


def group_layer(configuration: Mapping[str, Any]) -> Layer:
    """The settings of a VS Code group; the keys have their own names."""
    return Layer(SettingSource.GROUP, {name: Given(value, name) for name, value in _not_empty(configuration).items()})


def editor_layer(settings: Mapping[str, Any]) -> Layer:
    """VS Code's own settings, under the names of this table."""
    return Layer(SettingSource.EDITOR, {name: Given(value, name) for name, value in _not_empty(settings).items()})


def environment_layer(environment: Mapping[str, str]) -> Layer:
    """The settings in variables such as `PARTSTREAM_BASE_URL`; an empty variable sets nothing.

    Raises:
        ConfigurationError: One should be JSON and is not.
    """
    given: dict[str, Given] = {}
    variables = {row.variable: row for row in SETTINGS.values() if SettingSource.ENVIRONMENT in row.places}
    for variable, row in variables.items():
        text = environment.get(variable, "").strip()
        if variable in environment and not is_left_out(row, text):
            given[row.name] = Given(text if row.kind.form is ValueForm.TEXT else _json(text, variable), variable)
    others = sorted(
        name
        for name in environment
        if name.startswith(_PREFIX)
        and not name.startswith(_PREFIXES_OF_SERVERS)
        and name not in variables
        and name not in _OTHER_VARIABLES
    )
    notes = tuple(f"unknown setting {name} in the environment{_hint(name, variables)}" for name in others)
    return Layer(SettingSource.ENVIRONMENT, given, notes)


def configuration_file(environment: Mapping[str, str]) -> Path:
    """The file that is read, whether it exists or not.

    Raises:
        ConfigurationError: `PARTSTREAM_CONFIG` holds a relative path.
    """
    if named := environment.get(FILE_VARIABLE, ""):
        path = Path(named).expanduser()
        if not path.is_absolute():
            raise ConfigurationError(FILE_VARIABLE, repr(named), "an absolute path, or one that begins with ~/")
        return path
    if sys.platform == "win32":
        base = environment.get("APPDATA") or str(Path.home() / "AppData" / "Roaming")
    elif sys.platform == "darwin":
        base = environment.get("XDG_CONFIG_HOME") or str(Path.home() / "Library" / "Application Support")
    else:
        base = environment.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base) / "partstream" / FILE_NAME


def read_document(path: Path, *, must_exist: bool) -> dict[str, Any]:
    """The user's file; empty if it is not there.

    Raises:
        ConfigurationError: It cannot be read, is no TOML, or is missing although it must exist.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        if must_exist:
            raise ConfigurationError(FILE_VARIABLE, f"{str(path)!r}, which is not there", "a file") from None
        return {}
    except OSError as error:
        raise ConfigurationError(str(path), error.strerror or str(error), "a file that can be read") from error
    if len(content) > _MAX_BYTES:
        raise ConfigurationError(str(path), f"more than {_MAX_BYTES} bytes", "a short file")
    try:
        return tomllib.loads(content.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        # The message of either names the place and shows nothing of the file but a single character.
        raise ConfigurationError(str(path), f"invalid TOML: {error}", "TOML 1.0 in UTF-8") from None


def file_layer(path: Path, document: Mapping[str, Any]) -> Layer:
    """The settings of the user's file that stand in no profile.

    Args:
        path: The file.
        document: What it holds, see :func:`read_document`.
    """
    notes: tuple[str, ...] = ()
    if _holds_key(document) and is_readable_by_all(path):
        notes = (f"{path} holds a key and can be read by everyone on this machine: chmod 600 it",)
    own = {name: value for name, value in document.items() if name != PROFILES}
    given = {name: Given(value, f"{path}: {name}") for name, value in _not_empty(own).items()}
    return Layer(SettingSource.FILE, given, notes, str(path))


def profile_layer(path: Path, name: str, settings: Mapping[str, Any]) -> Layer:
    """The settings of one profile of the user's file."""
    given = {one: Given(value, f"{path}: {PROFILES}.{name}.{one}") for one, value in _not_empty(settings).items()}
    return Layer(SettingSource.PROFILE, given, name=f"the profile {shown_name(name)} in {path}")


def _holds_key(document: Mapping[str, Any]) -> bool:
    profiles = document.get(PROFILES)
    within = profiles.values() if isinstance(profiles, dict) else ()
    return any(isinstance(one, dict) and "apiKey" in one for one in (document, *within))


def is_readable_by_all(path: Path) -> bool:
    """Whether any user of this machine may read a file; False where its mode does not tell (Windows)."""
    return os.name == "posix" and bool(path.stat().st_mode & stat.S_IROTH)


def _not_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if not is_left_out(SETTINGS.get(name), value)}


def _json(text: str, variable: str) -> Any:
    try:
        return loads(text.encode())
    except JSONDecodeError:
        raise ConfigurationError(variable, "invalid JSON", "JSON, such as true, 5, [...] or {...}") from None


def _hint(name: str, variables: Mapping[str, object]) -> str:
    close = closest_name(name.removeprefix(_PREFIX), [one.removeprefix(_PREFIX) for one in variables])
    return f"; did you mean {_PREFIX}{close}?" if close else ""
