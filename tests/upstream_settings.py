"""The configuration of an upstream from the settings of a VS Code group alone, without places and profiles."""

from __future__ import annotations
from collections.abc import Mapping
from typing import Any

from partstream.protocols.protocol import AUTO
from partstream.settings.kinds import UnknownSettingError
from partstream.settings.row import holder_of, is_left_out
from partstream.upstream.configuration import GatewayConfiguration, check_protocol, upstream_rows

__all__ = ["gateway_of"]


def gateway_of(settings: Mapping[str, Any]) -> GatewayConfiguration:
    """Reads settings by the names that they have in a group; raises a ConfigurationError for an unusable one."""
    known = upstream_rows()
    given = {name: value for name, value in settings.items() if not is_left_out(known.get(name), value)}
    rows = upstream_rows(check_protocol(given.get("protocol", AUTO), "protocol"))
    for name in given.keys() - rows.keys():
        raise UnknownSettingError(name, name, "the configuration", rows, holder_of(name, rows.values()))
    return GatewayConfiguration.from_values({name: rows[name].read(value, name) for name, value in given.items()})
