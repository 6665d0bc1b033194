"""Providers of model servers: configuration, transport, limits of time and retries around a protocol.

The names are loaded when they are first used: the table of settings needs no HTTP client, and a server of a person's
own provider needs no configuration of an upstream.
"""

from __future__ import annotations
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import partstream.codec.silent_log  # noqa: F401 - for its effect

if TYPE_CHECKING:
    from partstream.settings.kinds import ConfigurationError
    from partstream.upstream.configuration import GatewayConfiguration, RetryPolicy, Timeouts
    from partstream.upstream.endpoint import Secret
    from partstream.upstream.provider import GatewayProvider

__all__ = ["ConfigurationError", "GatewayConfiguration", "GatewayProvider", "RetryPolicy", "Secret", "Timeouts"]

_MODULES: Final = {
    "ConfigurationError": "partstream.settings.kinds",
    "GatewayConfiguration": "partstream.upstream.configuration",
    "GatewayProvider": "partstream.upstream.provider",
    "RetryPolicy": "partstream.upstream.configuration",
    "Secret": "partstream.upstream.endpoint",
    "Timeouts": "partstream.upstream.configuration",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'partstream.upstream' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
