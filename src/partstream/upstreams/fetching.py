"""Fetches small documents from the upstream: its list of models and what belongs to it; knows none of them."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Final

import httpx2

from partstream.errors import UpstreamProtocolError
from partstream.models.discovery import FetchResponse
from partstream.upstreams.connection_failures import connection_error
from partstream.upstreams.http import HTTPRequest
from partstream.upstreams.secret import SECRET_HEADERS, without_secrets

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.upstreams.http import HTTPAnswer, UpstreamHTTP

__all__ = ["DocumentFetcher"]

_MAX_BODY: Final = 8 * 1024 * 1024


class DocumentFetcher:
    """Asks one upstream for documents; the caller limits the time.

    Args:
        http: The connections to the upstream; whoever made them closes them.
    """

    def __init__(self, http: UpstreamHTTP) -> None:
        self._http = http

    async def __call__(self, path: str, headers: Mapping[str, str], body: bytes | None = None) -> FetchResponse:
        """Gets a path of the upstream's host, or posts `body` to it.

        Raises:
            CredentialError: The key cannot be had.
            UpstreamConnectionError: There is no answer.
            UpstreamTimeoutError: The upstream did not accept a connection in time.
            UpstreamProtocolError: The answer is larger than 8 MiB.
        """
        method = "GET" if body is None else "POST"
        request = HTTPRequest(method, path, content=body, headers=self._http.document_headers, own_headers=headers)
        async with aclosing(await self._http.send(request)) as answer:
            content = await _bounded(answer, path)
        response = answer.response
        # A list may hold the words of other headers for good reasons, such as the name of a provider.
        secrets = {name: answer.sent[name] for name in SECRET_HEADERS & {*answer.sent}}
        quiet = without_secrets(content, secrets) if response.is_success else answer.without_secrets(content)
        return FetchResponse(response.status_code, answer.headers, quiet)


async def _bounded(answer: HTTPAnswer, path: str) -> bytes:
    chunks: list[bytes] = []
    size = 0
    try:
        async for chunk in answer.response.aiter_bytes():
            size += len(chunk)
            if size > _MAX_BODY:
                raise UpstreamProtocolError(
                    event_type=f"the answer of {path}",
                    field=None,
                    got=f"more than {size - len(chunk):,} bytes",
                    expected=f"at most {_MAX_BODY:,}",
                )
            chunks.append(chunk)
    except httpx2.RequestError as error:
        raise connection_error(answer.url, error) from error
    return b"".join(chunks)
