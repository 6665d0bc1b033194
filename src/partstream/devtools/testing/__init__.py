"""A real model server with selectable answers and faults, for tests, the demo and the development of providers."""

from partstream.devtools.testing.admission import ScriptedReply
from partstream.devtools.testing.replaying import Outcome, ReceivedRequest, ServedExchange
from partstream.devtools.testing.scripted_model import ScriptedProvider
from partstream.devtools.testing.upstream import ReplayUpstream
from partstream.server.loopback import LoopbackLimits

__all__ = [
    "LoopbackLimits",
    "Outcome",
    "ReceivedRequest",
    "ReplayUpstream",
    "ScriptedProvider",
    "ScriptedReply",
    "ServedExchange",
]
