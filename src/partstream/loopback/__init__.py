"""A small HTTP host on 127.0.0.1: serves an ASGI application in pure Python, and can break its connections off."""

from partstream.loopback.connection import BREAK_OFF, LoopbackLimits, LoopbackRequest, ServerConnection
from partstream.loopback.host import Host

__all__ = ["BREAK_OFF", "Host", "LoopbackLimits", "LoopbackRequest", "ServerConnection"]
