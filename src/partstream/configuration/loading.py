"""Gathers every place where settings stand and makes one configuration of them; the one door for hosts and commands."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from partstream.configuration.keys import KeySurroundings, make_key
from partstream.configuration.places import (
    FILE_VARIABLE,
    Given,
    Layer,
    Place,
    configuration_file,
    editor_layer,
    environment_layer,
    file_layer,
    group_layer,
)
from partstream.configuration.resolution import resolve
from partstream.configuration.settings import KEY_SETTINGS
from partstream.upstreams.checks import ConfigurationError
from partstream.upstreams.configuration import GatewayConfiguration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from partstream.configuration.resolution import Resolved

__all__ = ["Configuration", "load_configuration"]


@dataclass(frozen=True)
class Configuration:
    """What all places together say.

    Attributes:
        resolved: The settings that are in force, each with its source.
        file: The user's file, whether it exists or not.
        environment: The environment variables.
    """

    resolved: Resolved
    file: Path
    environment: Mapping[str, str] = field(repr=False)

    def gateway(self, on_key: Callable[[str], object] = lambda key: None) -> GatewayConfiguration:
        """The configuration of the upstream; no key is read yet.

        Args:
            on_key: Told every key before it is used, so that logs can leave it out.

        Raises:
            ConfigurationError: There is no base URL, or two settings contradict each other.
        """
        values = {name: value.value for name, value in self.resolved.values.items()}
        others = {name: value for name, value in values.items() if name == "apiKey" or name not in KEY_SETTINGS}
        try:
            gateway = GatewayConfiguration.from_json(others)
        except ConfigurationError as error:
            raise self._placed(error) from None
        surroundings = KeySurroundings(self.environment, on_key)
        connection = replace(
            surroundings.connection, proxy=gateway.proxy, verify_certificates=gateway.verify_certificates
        )
        for secret in _secrets_of(gateway):
            on_key(secret)
        key = make_key(values, replace(surroundings, connection=connection))
        return gateway if key is None else replace(gateway, credentials=key)

    def _placed(self, error: ConfigurationError) -> ConfigurationError:
        """The error with the spot of the setting in the place of its bare name."""
        name = next((name for name in self.resolved.values if error.where.startswith(name)), None)
        if name is None:
            return error
        where = self.resolved.values[name].where
        return ConfigurationError(where + error.where.removeprefix(name), error.got, error.expected)


def _secrets_of(gateway: GatewayConfiguration) -> Iterator[str]:
    """What is known to be secret before any key is fetched."""
    if gateway.api_key is not None:
        yield gateway.api_key.reveal()
    for headers in (gateway.headers, gateway.request.extra_headers):
        for text in headers.values():
            yield text
            yield text.rpartition(" ")[2]  # `Bearer KEY`: the key alone too


def load_configuration(
    *,
    command_line: Mapping[str, Given] | None = None,
    group: Mapping[str, Any] | None = None,
    editor: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Configuration:
    """Reads all places.

    Args:
        command_line: Settings by name, each with the option that gave it.
        group: A VS Code group's own keys.
        editor: VS Code's own settings, under our names.
        environment: The environment variables; those of this process when left out.

    Raises:
        ConfigurationError: A setting is unknown or of no use, wherever it stands; the message shows no secret.
    """
    variables = os.environ if environment is None else environment
    path = configuration_file(variables)
    layers = (
        Layer(Place.COMMAND_LINE, command_line or {}),
        group_layer(group or {}),
        editor_layer(editor or {}),
        environment_layer(variables),
        file_layer(path, must_exist=bool(variables.get(FILE_VARIABLE))),
    )
    return Configuration(resolve(layers), path, variables)
