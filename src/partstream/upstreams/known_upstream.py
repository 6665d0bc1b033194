"""An upstream whose protocol is known: its models, and who asks them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.protocols.protocol import asking

if TYPE_CHECKING:
    from partstream.protocols.errors import Errors
    from partstream.upstream.configuration import GatewayConfiguration
    from partstream.upstream.detection_rules import Detected
    from partstream.upstream.requests import RequestSender
    from partstream.upstreams.model_list import ModelList

__all__ = ["ProtocolClient"]


class ProtocolClient:
    """One upstream in one protocol; serves any number of requests at once.

    Attributes:
        models: Its models.
        sender: Asks them.
        detected: How the protocol was found out, the last time; None where it was set.
        errors: How it says what went wrong.

    Args:
        configuration: The upstream, with its protocol.
        models: As the attribute.
        sender: As the attribute.
        detected: As the attribute.
    """

    def __init__(
        self,
        configuration: GatewayConfiguration,
        models: ModelList,
        sender: RequestSender,
        detected: Detected | None = None,
    ) -> None:
        self._configuration = configuration
        self.models = models
        self.sender = sender
        self.detected = detected
        self.errors: Errors = asking(configuration.protocol).errors

    def is_spoken_as(self, found: Detected) -> bool:
        """Whether this is the upstream with the protocol and the base URL that were found out."""
        own = self._configuration
        return (own.protocol, own.base_url) == (found.protocol, found.base_url)
