"""The requests of a replay upstream that put a question to a model, without those that find out what it speaks."""

from partstream_devtools.testing.replaying import ReceivedRequest
from partstream_devtools.testing.upstream import ReplayUpstream

_EMPTY = ({}, {"max_tokens": 1})
"""The bodies that find out what a server speaks."""


def questions(upstream: ReplayUpstream) -> list[ReceivedRequest]:
    """What was asked, in order."""
    return [request for request in upstream.requests if request.method == "POST" and request.body not in _EMPTY]
