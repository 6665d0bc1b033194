"""What tests, the demo and providers under test stand on: a real model server that answers as it is told."""

from partstream.testing.connection import Limits, Outcome
from partstream.testing.upstream import Exchange, ReceivedRequest, ReplayUpstream

__all__ = ["Exchange", "Limits", "Outcome", "ReceivedRequest", "ReplayUpstream"]
