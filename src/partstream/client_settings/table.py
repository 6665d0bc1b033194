"""All clients that are known by name."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from partstream.client_settings.agents import AGENTS
from partstream.client_settings.libraries import LIBRARIES

__all__ = ["CLIENTS"]

CLIENTS: Final = MappingProxyType({client.name: client for client in (*AGENTS, *LIBRARIES)})
"""The clients by name."""
