"""What a client needs to ask a server: its settings as values, and its own files, changed as text and back again.

Knows no socket and no screen: `partstream connect` asks the server for its models and says what was done.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from partstream.client_settings.agents import AGENTS
from partstream.client_settings.libraries import LIBRARIES

__all__ = ["CLIENTS"]

CLIENTS: Final = MappingProxyType({client.name: client for client in (*AGENTS, *LIBRARIES)})
"""The clients by name."""
