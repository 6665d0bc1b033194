"""Providers of model servers: configuration, transport, limits of time and retries around a protocol."""

from partstream.gateway.configuration import ConfigurationError, GatewayConfiguration, RetryPolicy, Timeouts
from partstream.gateway.provider import GatewayProvider
from partstream.gateway.secret import Secret

__all__ = ["ConfigurationError", "GatewayConfiguration", "GatewayProvider", "RetryPolicy", "Secret", "Timeouts"]
