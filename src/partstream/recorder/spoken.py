"""Which protocol a document of a server is of, by the path of its request: a stream tells that by its events."""

from __future__ import annotations

from functools import cache

from partstream.protocols.protocol import loadable_protocols
from partstream.protocols.serve import fits_path

__all__ = ["protocol_at"]


def protocol_at(method: str, path: str) -> str | None:
    """The protocol whose answers stand at a path, below whatever a server puts before it; None for any other path.

    Args:
        method: The method of the request.
        path: The path, such as `/openai/v1/chat/completions`.
    """
    if method != "POST":
        return None
    ends = [path[at:] for at, sign in enumerate(path) if sign == "/"]
    fitting = (name for pattern, name in _patterns() for end in ends if fits_path(pattern, end))
    return next(fitting, None)


@cache
def _patterns() -> tuple[tuple[str, str], ...]:
    """The paths of a server at which answers stand, each with the name of its protocol."""
    known, _ = loadable_protocols()
    return tuple(
        (base_path + pattern, protocol.name)
        for protocol in known.values()
        if protocol.write_request and protocol.read_request and protocol.write_response
        for base_path in protocol.write_response().base_paths
        for pattern in protocol.read_request().paths or (protocol.write_request().path,)
    )
