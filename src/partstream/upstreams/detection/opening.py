"""Opens an upstream in the protocol that is set or found out, for those who ask it no question: lists, examinations."""

from __future__ import annotations

from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from partstream.errors import UpstreamError
from partstream.upstream.http import Connections, UpstreamHTTP
from partstream.upstream.http_errors import NO_LIST_ADVICE, says_path_is_missing
from partstream.upstreams.detection.finding import detect

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from partstream.upstream.configuration import GatewayConfiguration
    from partstream.upstream.detection_rules import Detected

__all__ = ["OpenUpstream", "open_upstream"]


@dataclass(frozen=True, slots=True)
class OpenUpstream:
    """An upstream whose protocol is known.

    Attributes:
        configuration: The upstream, with its protocol and its base URL.
        http: Sends requests to it.
        connections: The connections to it.
        detected: How the protocol was found out; None where it is set.
    """

    configuration: GatewayConfiguration
    http: UpstreamHTTP
    connections: Connections
    detected: Detected | None


@asynccontextmanager
async def open_upstream(configuration: GatewayConfiguration) -> AsyncIterator[OpenUpstream]:
    """Finds out what an upstream speaks, unless it is set, and keeps its connections for the block.

    An error of the upstream in the block gets the advice that belongs to a guess, and a missing list of models what
    helps where the endpoint is there.

    Raises:
        CredentialError: The key cannot be had.
        ConnectionSetupError: The proxy or the certificates that this machine names are of no use.
        ConfigurationError: A setting is of no use in the protocol that was found out.
    """
    async with aclosing(Connections(configuration)) as connections:
        detected = await detect(configuration, connections) if configuration.is_detected else None
        known = configuration if detected is None else configuration.spoken(detected.protocol, detected.base_url)
        try:
            yield OpenUpstream(known, UpstreamHTTP(known, connections), connections, detected)
        except UpstreamError as error:
            if detected is not None and not detected.is_certain:
                error.advise(detected.advice)
            elif detected is not None and says_path_is_missing(error):
                error.advise(NO_LIST_ADVICE)
            raise
