"""Makes the built-in gateway provider from a group's configuration; the one place here that knows its fields."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.hosts.vscode.loading import Stamp
    from partstream.provider import LanguageModelChatProvider

__all__ = ["PROVIDER_KEY", "GatewayLoader"]

PROVIDER_KEY: Final = "provider"
"""The field of a group that names a provider file, which answers in the gateway's place."""


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
            ConfigurationError: A setting is missing, unknown or of the wrong type.
        """
        from partstream.gateway import GatewayConfiguration, GatewayProvider  # noqa: PLC0415 - takes 0.1 s to import
        from partstream.models.disk_cache import default_cache_folder  # noqa: PLC0415 - comes with it

        # The empty field of the other kind of group is no setting of the gateway's.
        settings = {name: value for name, value in self._configuration.items() if name != PROVIDER_KEY}
        configuration = GatewayConfiguration.from_json(settings)
        return GatewayProvider(replace(configuration, cache_folder=default_cache_folder()))
