"""Reads settings from all places and makes one configuration of them; hosts and commands load it here."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from partstream.config.table import (
    FILE_VARIABLE,
    KEY_SETTINGS,
    Given,
    Layer,
    chosen_profile,
    configuration_file,
    editor_layer,
    environment_layer,
    faults_of_profiles,
    file_layer,
    group_layer,
    read_document,
    read_profiles,
    resolve,
)
from partstream.configuration.keys import KeySurroundings, make_key
from partstream.settings.kinds import ConfigurationError, PlainHttpError
from partstream.settings.row import SettingSource, secrets_in
from partstream.upstream.configuration import GatewayConfiguration, upstream_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from partstream.config.table import Resolved

__all__ = ["Configuration", "load_configuration"]


@dataclass(frozen=True)
class Configuration:
    """The configuration that all places make together.

    Attributes:
        resolved: The settings that are in force, each with its source.
        file: The user's file, whether it exists or not.
        environment: The environment variables.
        profile: The name of the profile in force, or None.
        profiles: The names of all profiles of the file.
    """

    resolved: Resolved
    file: Path
    environment: Mapping[str, str] = field(repr=False)
    profile: str | None = None
    profiles: tuple[str, ...] = ()

    def gateway(self, on_key: Callable[[str], object] = lambda key: None) -> GatewayConfiguration:
        """The configuration of the upstream; no key is read yet.

        Args:
            on_key: Told every key before it is used, so that logs can leave it out.

        Raises:
            ConfigurationError: There is no base URL, or two settings contradict each other.
        """
        for secret in self._secrets():
            on_key(secret)
        values = {name: value.value for name, value in self.resolved.values.items()}
        own = upstream_rows()
        try:
            gateway = GatewayConfiguration.from_values({name: values[name] for name in values if name in own})
        except ConfigurationError as error:
            raise self._placed(error) from None
        surroundings = KeySurroundings(self.environment, on_key)
        connection = replace(
            surroundings.connection, proxy=gateway.proxy, verify_certificates=gateway.verify_certificates
        )
        key = make_key(values, replace(surroundings, connection=connection))
        place = "" if key is None else repr(sorted((name, values[name]) for name in KEY_SETTINGS if name in values))
        return replace(gateway, credentials=key, key_place=place, warnings=self.resolved.warnings)

    def _secrets(self) -> set[str]:
        """The secrets that are known before any key is fetched."""
        values = self.resolved.values.values()
        return secrets_in([value.row for value in values], {value.row.name: value.given for value in values})

    def _placed(self, error: ConfigurationError) -> ConfigurationError:
        """The error, with the exact place of the setting in place of its name."""
        values = self.resolved.values
        if isinstance(error, PlainHttpError):
            url = values["baseUrl"]
            has_key = any(name in values for name in (*KEY_SETTINGS, "headers"))
            # A group is of VS Code, which has no command line.
            by = (
                error.allowed_by
                if url.place is SettingSource.GROUP
                else "--allow-insecure-http or the setting allowInsecureHttp"
            )
            return PlainHttpError(url.where, error.host, has_key=has_key, allowed_by=by)
        name = next((name for name in values if error.where.startswith(name)), None)
        if name is None:
            # What is missing may stand there under a misspelt name.
            odd = "; ".join(self.resolved.warnings)
            return ConfigurationError(error.where, f"{error.got} ({odd})", error.expected) if odd else error
        where = values[name].where
        return ConfigurationError(where + error.where.removeprefix(name), error.got, error.expected)


def load_configuration(
    *,
    command_line: Mapping[str, Given] | None = None,
    group: Mapping[str, Any] | None = None,
    editor: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    defaults: Mapping[str, Any] | None = None,
    may_lack_file: bool = False,
) -> Configuration:
    """Reads all places.

    Args:
        command_line: Settings by name, each with the option that gave it.
        group: A VS Code group's own keys.
        editor: VS Code's own settings, under our names.
        environment: The environment variables; those of this process when left out.
        defaults: What holds for this program when nobody sets it, where that is not the general default.
        may_lack_file: Whether a file that `PARTSTREAM_CONFIG` names need not be there yet.

    Raises:
        ConfigurationError: A setting is unknown or of no use, wherever it stands; the message shows no secret.
    """
    variables = os.environ if environment is None else environment
    path = configuration_file(variables)
    document = read_document(path, must_exist=bool(variables.get(FILE_VARIABLE)) and not may_lack_file)
    layers = (
        Layer(SettingSource.COMMAND_LINE, command_line or {}),
        group_layer(group or {}),
        editor_layer(editor or {}),
        environment_layer(variables),
        file_layer(path, document),
        Layer(SettingSource.DEFAULT, {name: Given(value, name) for name, value in (defaults or {}).items()}),
    )
    profiles = read_profiles(path, document)
    profile = chosen_profile(profiles, layers)
    resolved = resolve(layers if profile is None else (*layers, profiles[profile]))
    faults = faults_of_profiles(profiles, besides=profile)
    return Configuration(replace(resolved, notes=(*resolved.notes, *faults)), path, variables, profile, tuple(profiles))
