"""Providers of model servers: configuration, transport, limits of time and retries around a protocol.

The provider and its HTTP client are loaded when first used: the table of settings needs neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partstream.settings.errors import ConfigurationError
from partstream.upstreams.configuration import GatewayConfiguration
from partstream.upstreams.connection_settings import RetryPolicy, Timeouts
from partstream.upstreams.secret import Secret

if TYPE_CHECKING:
    from partstream.upstreams.provider import GatewayProvider

__all__ = ["ConfigurationError", "GatewayConfiguration", "GatewayProvider", "RetryPolicy", "Secret", "Timeouts"]


def __getattr__(name: str) -> Any:
    if name != "GatewayProvider":
        raise AttributeError(f"module 'partstream.upstreams' has no attribute {name!r}")
    from partstream.upstreams.provider import GatewayProvider  # noqa: PLC0415

    return GatewayProvider
