"""What a recorded request asks for, as the server that it was sent to reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.bundles.content import base_path_of
from partstream.codec.json_codec import JSONDecodeError, loads, nests_too_deeply
from partstream.errors import PartstreamError
from partstream.protocols.serve import WireRequest

if TYPE_CHECKING:
    from partstream.bundles.exchange import RecordedRequest
    from partstream.lm.outputs import InboundRequest
    from partstream.protocols.protocol import Protocol

__all__ = ["asked_of", "tools_asked"]


def asked_of(request: RecordedRequest, row: Protocol) -> InboundRequest | None:
    """What a request asks for; None where it cannot be read as one of the protocol.

    Args:
        request: The request.
        row: The protocol that it is in.
    """
    if row.read_request is None or nests_too_deeply(request.body):
        return None
    try:
        body = loads(request.body)
    except JSONDecodeError:
        return None
    if not isinstance(body, dict):
        return None
    corner = row.read_request()
    patterns = corner.paths or (() if row.write_request is None else (row.write_request().path,))
    for pattern in patterns:
        base_path = base_path_of(pattern, request.path)
        if base_path is None:
            continue
        headers = {name.lower(): value for name, value in request.headers}
        path = request.path[len(base_path) :]
        try:
            return corner.read(WireRequest(path, body, headers, request.query, request.method, base_path))
        except PartstreamError:
            return None  # a request that its server may have refused too
    return None


def tools_asked(request: RecordedRequest | None, row: Protocol) -> tuple[str, ...] | None:
    """The names of the tools that a request offers; None where it cannot be read."""
    asked = None if request is None else asked_of(request, row)
    return None if asked is None else tuple(tool.name for tool in asked.options.tools)
