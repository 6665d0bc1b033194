"""Which profile of the user's file is in force.

A profile is a table `[profiles.NAME]` of the file: the settings of one upstream among several. It is as narrow a place
as a group of VS Code, so it wins over the environment (docs/decisions/0005-one-configuration.md): a key that was
exported for one server must not go to each of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.configuration.places import PROFILES, profile_layer
from partstream.configuration.resolution import resolve
from partstream.configuration.table import DEFAULT_PROFILE
from partstream.settings.kinds import ConfigurationError, closest_name, shown_name
from partstream.settings.row import SettingSource

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from partstream.configuration.places import Layer

__all__ = ["chosen_profile", "faults_of_profiles", "read_profiles"]

_PROFILE: Final = "profile"
_BASE_URL: Final = "baseUrl"


def faults_of_profiles(profiles: Mapping[str, Layer], *, besides: str | None) -> tuple[str, ...]:
    """What is wrong in the profiles that are not in force, in sentences: a mistake shall show when it is made."""
    return tuple(note for name, layer in profiles.items() if name != besides for note in _fault(layer))


def _fault(layer: Layer) -> tuple[str, ...]:
    try:
        resolve((layer,))
    except ConfigurationError as error:
        return (f"{layer.name} is of no use: {error}",)
    return ()


def read_profiles(path: Path, document: Mapping[str, Any]) -> dict[str, Layer]:
    """The settings of each profile of the user's file, by its name.

    Raises:
        ConfigurationError: What stands under `profiles` is not made of tables.
    """
    given = document.get(PROFILES, {})
    where = f"{path}: {PROFILES}"
    if not isinstance(given, dict):
        raise ConfigurationError(where, type(given).__name__, "tables such as [profiles.work]")
    for name, settings in given.items():
        if not isinstance(settings, dict):
            spot = f"{where}.{shown_name(name)}"
            raise ConfigurationError(spot, type(settings).__name__, f"a table [profiles.{shown_name(name)}]")
    return {name: profile_layer(path, name, settings) for name, settings in given.items()}


def chosen_profile(profiles: Mapping[str, Layer], layers: Iterable[Layer]) -> str | None:
    """The name of the profile in force; None for none.

    It is the one that the command line names, else that of the environment, else the file's `defaultProfile`. A base
    URL of a place that is narrower than the one that names the profile means another upstream: no profile then.

    Args:
        profiles: The profiles of the file by name.
        layers: The other places.

    Raises:
        ConfigurationError: There is no profile of that name.
    """
    by_place = {layer.place: layer.given for layer in layers}
    for place, setting, narrower in _CHOICES:
        if any(_BASE_URL in by_place.get(one, {}) for one in narrower):
            return None
        given = by_place.get(place, {}).get(setting)
        if given is not None:
            return _known(profiles, given.value, given.where)
    return None


_CHOICES: Final = (
    (SettingSource.COMMAND_LINE, _PROFILE, ()),
    (SettingSource.ENVIRONMENT, _PROFILE, (SettingSource.COMMAND_LINE, SettingSource.GROUP)),
    (SettingSource.FILE, DEFAULT_PROFILE, (SettingSource.COMMAND_LINE, SettingSource.GROUP, SettingSource.ENVIRONMENT)),
)
"""Where a profile is named, the strongest first: by which setting, and the places that are narrower."""


def _known(profiles: Mapping[str, Layer], name: Any, where: str) -> str:
    if isinstance(name, str) and name in profiles:
        return name
    names = ", ".join(map(shown_name, profiles))
    close = closest_name(name, profiles) if isinstance(name, str) else None
    hint = f"; did you mean {shown_name(close)}?" if close else ""
    got = shown_name(name) if isinstance(name, str) else type(name).__name__
    expected = f"one of the profiles {names}{hint}" if names else "a profile; `partstream add` makes one"
    raise ConfigurationError(where, got, expected)
