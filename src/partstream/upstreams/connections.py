"""The connections to one upstream, shared by everybody who asks it, whatever protocol they speak."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from partstream.upstreams.client import make_client
from partstream.upstreams.proxies import find_proxy

if TYPE_CHECKING:
    import httpx2

    from partstream.upstream.configuration import GatewayConfiguration
    from partstream.upstreams.proxies import Proxy

__all__ = ["Connections"]


class Connections:
    """The HTTP client of one upstream; made when it is first needed, and again in another event loop.

    Args:
        configuration: Where the upstream is and how it is reached.
    """

    def __init__(self, configuration: GatewayConfiguration) -> None:
        self._configuration = configuration
        self._client: httpx2.AsyncClient | None = None
        self._proxy: Proxy | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def proxy(self) -> Proxy | None:
        """The proxy of the client that was given last; None where there is none."""
        return self._proxy

    def client(self) -> httpx2.AsyncClient:
        """The client of the running event loop; connections cannot move to another.

        Raises:
            ConnectionSetupError: The proxy or the certificates that this machine names are of no use.
        """
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._proxy = find_proxy(self._configuration)
            self._client = make_client(self._configuration, self._proxy)
            self._loop = loop
        return self._client

    async def aclose(self) -> None:
        """Closes the connections that are kept open for the next request."""
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():  # another loop took its connections along
            await client.aclose()
