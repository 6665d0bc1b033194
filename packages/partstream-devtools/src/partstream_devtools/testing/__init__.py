"""A real model server with selectable answers and faults, for tests, the demo and the development of providers."""

from partstream.server.loopback import LoopbackLimits
from partstream_devtools.testing.admission import ScriptedReply
from partstream_devtools.testing.replaying import Outcome, ReceivedRequest, ServedExchange
from partstream_devtools.testing.scripted_model import ScriptedProvider
from partstream_devtools.testing.upstream import ReplayUpstream

__all__ = [
    "LoopbackLimits",
    "Outcome",
    "ReceivedRequest",
    "ReplayUpstream",
    "ScriptedProvider",
    "ScriptedReply",
    "ServedExchange",
]
