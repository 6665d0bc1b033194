"""The requests of a replay upstream that put a question to a model, without those that find out what it speaks."""

import json

from partstream_devtools.testing.replaying import ReceivedRequest
from partstream_devtools.testing.upstream import ReplayUpstream

EMPTY = (b"{}", b'{"max_tokens":1}')
"""The bodies that find out what a server speaks: they lack the model and the question, and hold no key."""


def questions(upstream: ReplayUpstream) -> list[ReceivedRequest]:
    """What was asked, in order."""
    empty = [json.loads(body) for body in EMPTY]
    return [request for request in upstream.requests if request.method == "POST" and request.body not in empty]
