"""A real model server with selectable answers and faults, for tests, the demo and the development of providers."""

from partstream.loopback.connection import Limits
from partstream.testing.admission import Performance
from partstream.testing.exchanges import Outcome
from partstream.testing.scripted import ScriptedProvider
from partstream.testing.upstream import ReceivedRequest, ReplayUpstream, ServedExchange

__all__ = [
    "Limits",
    "Outcome",
    "Performance",
    "ReceivedRequest",
    "ReplayUpstream",
    "ScriptedProvider",
    "ServedExchange",
]
