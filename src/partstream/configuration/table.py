"""The table of all settings, in the order of the documentation.

Made from it are the checks, `partstream config show`, what logs leave out, docs/configuration.md, the schema of a group
in extension/package.json, the names of environment variables and the options of the command line.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from partstream.configuration.key_settings import KEY_ROWS
from partstream.protocols.protocol import ProtocolLoadError
from partstream.settings.kinds import TEXT
from partstream.settings.row import Dialog, Setting, SettingSource, by_name, secrets_in
from partstream.upstream.configuration import upstream_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DEFAULT_PROFILE", "KEY_SETTINGS", "SETTINGS", "secrets_of_settings", "settings_of"]

DEFAULT_PROFILE: Final = "defaultProfile"
_KEY: Final = "apiKey"
_PROVIDER: Final = Setting(
    "provider",
    TEXT,
    "A Python provider of your own that answers for this group in the place of a server: `path/to/file.py` or "
    "`module:attribute`",
    places=frozenset({SettingSource.GROUP}),
    dialog=Dialog("Provider file", hint="The key baseUrl is the empty string then."),
)

_PROFILE_ROWS: Final = (
    Setting(
        "profile",
        TEXT,
        "The profile to use: the table `[profiles.NAME]` of the file, with the settings of one upstream",
        otherwise="`defaultProfile`, unless another place names a base URL",
        places=frozenset({SettingSource.COMMAND_LINE, SettingSource.ENVIRONMENT}),
        is_bound=False,
        option="--profile",
        metavar="NAME",
    ),
    Setting(
        DEFAULT_PROFILE,
        TEXT,
        "The profile that is used when nobody names a profile or a base URL",
        places=frozenset({SettingSource.FILE}),
        is_bound=False,
    ),
)


@cache
def settings_of(protocol: str | None = None) -> Mapping[str, Setting]:
    """All settings by name; those of a protocol stand among the request settings.

    Args:
        protocol: What the upstream speaks; `auto` or None for the settings of all protocols of this package.

    Raises:
        KeyError: There is no such protocol.
        ProtocolLoadError: It cannot be loaded.
    """
    rows: list[Setting] = []
    for row in upstream_rows(protocol).values():
        rows += (row, *KEY_ROWS) if row.name == _KEY else (row,)
    return by_name((*_PROFILE_ROWS, *rows, _PROVIDER))


def secrets_of_settings(given: Mapping[str, Any]) -> set[str]:
    """Every text in unchecked settings that may be a secret."""
    protocol = given.get("protocol")
    try:
        rows = settings_of(protocol if isinstance(protocol, str) else None)
    except (KeyError, ProtocolLoadError):
        rows = SETTINGS
    return secrets_in(rows.values(), given)


SETTINGS: Final[Mapping[str, Setting]] = settings_of()
"""All settings of all protocols of this package."""

KEY_SETTINGS: Final = (_KEY, *(row.name for row in KEY_ROWS))
"""Those that say where the key comes from: one of them, and perhaps `apiKeyLifetime`."""
