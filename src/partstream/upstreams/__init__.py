"""Providers of model servers: configuration, transport, limits of time and retries around a protocol."""

from partstream.settings.errors import ConfigurationError
from partstream.upstreams.configuration import GatewayConfiguration
from partstream.upstreams.connection_settings import RetryPolicy, Timeouts
from partstream.upstreams.provider import GatewayProvider
from partstream.upstreams.secret import Secret

__all__ = ["ConfigurationError", "GatewayConfiguration", "GatewayProvider", "RetryPolicy", "Secret", "Timeouts"]
