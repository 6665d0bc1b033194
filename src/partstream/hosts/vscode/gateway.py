"""Makes the built-in gateway provider from a group's configuration; the one place here that knows its fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.hosts.vscode.loading import Stamp
    from partstream.provider import LanguageModelChatProvider

__all__ = ["GatewayLoader"]


class GatewayLoader:
    """Loads the gateway for one group; a changed configuration needs another loader.

    Attributes:
        name: How the log and errors call it: the host that it speaks to.
    """

    def __init__(self, configuration: Mapping[str, Any]) -> None:
        self._configuration = configuration
        self.name = urlsplit(str(configuration.get("baseUrl") or "")).hostname or "gateway"

    def __repr__(self) -> str:
        return f"<gateway to {self.name}>"  # never the configuration: it holds keys

    def stamp(self) -> Stamp:
        """Always the same."""
        return (0, 0, 0)

    def load(self) -> LanguageModelChatProvider:
        """Makes the provider.

        Raises:
            LanguageModelError: The configuration is wrong.
        """
        from partstream import gateway  # noqa: PLC0415 - costs 0.1 s, which the start cannot spare

        return gateway.GatewayProvider(gateway.GatewayConfiguration.from_json(self._configuration))
