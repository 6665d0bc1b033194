"""Fetches small documents from the upstream: its list of models and what belongs to it; knows none of them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit, urlunsplit

import httpx2

from partstream._version import __version__
from partstream.errors import UpstreamConnectionError, UpstreamProtocolError
from partstream.models.discovery import FetchResponse
from partstream.protocols.registry import asking
from partstream.upstreams.client import make_client
from partstream.upstreams.credentials import FixedKey
from partstream.upstreams.secret import SECRET_HEADERS, without_secrets

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.upstreams.configuration import GatewayConfiguration
    from partstream.upstreams.credentials import CredentialSource
    from partstream.upstreams.secret import Secret

__all__ = ["DocumentFetcher"]

_MAX_BODY: Final = 8 * 1024 * 1024


class DocumentFetcher:
    """Asks one upstream, with its key and headers; the caller limits the time.

    Args:
        configuration: Which upstream.
    """

    def __init__(self, configuration: GatewayConfiguration) -> None:
        self._configuration = configuration
        self._corner = asking(configuration.protocol)
        self._credentials: CredentialSource = configuration.credentials or FixedKey(configuration.api_key)
        self._client: httpx2.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __call__(self, path: str, headers: Mapping[str, str], body: bytes | None = None) -> FetchResponse:
        """Gets a path of the upstream's host, or posts `body` to it.

        A path, never a URL: the key goes to no other host, and no redirect is followed. Asks once more when the key
        was refused and there is another.

        Raises:
            CredentialError: The key cannot be had.
            UpstreamConnectionError: There is no answer.
            UpstreamProtocolError: It is larger than 8 MiB.
        """
        key = await self._credentials.get()
        answer = await self._send(path, self._headers(headers, key), body)
        if answer.status == 401 and key is not None:
            another = await self._credentials.refresh(key)
            if another is not None:
                answer = await self._send(path, self._headers(headers, another), body)
        return answer

    async def aclose(self) -> None:
        """Closes the connections that are kept open."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _send(self, path: str, headers: Mapping[str, str], body: bytes | None) -> FetchResponse:
        url = self._url(path)
        request = self._client_of(asyncio.get_running_loop()).build_request(
            "GET" if body is None else "POST", url, content=body, headers=headers
        )
        try:
            response = await self._client_of(asyncio.get_running_loop()).send(request, stream=True)
            try:
                content = await _bounded(response, path)
            finally:
                await response.aclose()
        except httpx2.RequestError as error:
            reason = str(error) or "the upstream closed it"
            raise UpstreamConnectionError(url.partition("?")[0], reason) from error
        fields = {name.lower(): text for name, text in response.headers.items()}
        # A list may hold the words of other headers for good reasons, such as the name of a provider.
        secrets = headers if not response.is_success else {name: headers[name] for name in SECRET_HEADERS & {*headers}}
        return FetchResponse(response.status_code, fields, without_secrets(content, secrets))

    def _url(self, path: str) -> str:
        """The path on the upstream's host, with the query of its base URL."""
        address = urlsplit(self._configuration.base_url)
        return urlunsplit((address.scheme, address.netloc, path, address.query, ""))

    def _headers(self, headers: Mapping[str, str], key: Secret | None) -> dict[str, str]:
        own = {"user-agent": f"partstream/{__version__}", **self._corner.document_headers}
        if key is not None:
            own |= self._corner.authorize(key.reveal(), key.kind)
        return own | {name.lower(): text for name, text in self._configuration.headers.items()} | dict(headers)

    def _client_of(self, loop: asyncio.AbstractEventLoop) -> httpx2.AsyncClient:
        """The client of this event loop; connections cannot move to another."""
        if self._client is None or self._loop is not loop:
            self._client = make_client(self._configuration)
            self._loop = loop
        return self._client


async def _bounded(response: httpx2.Response, path: str) -> bytes:
    chunks: list[bytes] = []
    size = 0
    async for chunk in response.aiter_bytes():
        size += len(chunk)
        if size > _MAX_BODY:
            raise UpstreamProtocolError(
                event_type=f"the answer of {path}",
                field=None,
                got=f"more than {size - len(chunk):,} bytes",
                expected=f"at most {_MAX_BODY:,}",
            )
        chunks.append(chunk)
    return b"".join(chunks)
