"""Fetches small documents from the upstream, such as its list of models."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Final

import httpx2

from partstream.errors import UpstreamProtocolError
from partstream.upstream.discovery import FetchResponse
from partstream.upstreams.http import OutboundHTTPRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.codec.redaction import Redactor
    from partstream.upstreams.http import HTTPAnswer, UpstreamHTTP

__all__ = ["DocumentFetcher"]

_MAX_BODY: Final = 8 * 1024 * 1024
_MOST_AT_ONCE: Final = 256 * 1024
"""Bytes that are searched for secrets on the event loop; more of them are searched in a thread."""


class DocumentFetcher:
    """Asks one upstream for documents; the caller limits the time.

    Args:
        http: The connections to the upstream; whoever made them closes them.
    """

    def __init__(self, http: UpstreamHTTP) -> None:
        self._http = http

    async def __call__(self, path: str, headers: Mapping[str, str], body: bytes | None = None) -> FetchResponse:
        """Gets a path of the upstream's host, with its query if it has one, or posts `body` to it.

        Raises:
            CredentialError: The key cannot be had.
            UpstreamConnectionError: There is no answer.
            UpstreamTimeoutError: The upstream did not accept a connection in time.
            UpstreamProtocolError: The answer is larger than 8 MiB.
        """
        method = "GET" if body is None else "POST"
        path, _, query = path.partition("?")
        request = OutboundHTTPRequest(
            method, path, query, content=body, headers=self._http.document_headers, own_headers=headers
        )
        async with aclosing(await self._http.send(request)) as answer:
            content = await _bounded(answer, path)
        response = answer.response
        redactor = answer.redactor_of_lists if response.is_success else answer.redactor
        return FetchResponse(response.status_code, answer.headers, await _redacted(content, redactor))


async def _bounded(answer: HTTPAnswer, path: str) -> bytes:
    body = bytearray()  # not a list of chunks: a server may send them byte by byte
    try:
        async for chunk in answer.response.aiter_bytes():
            if len(body) + len(chunk) > _MAX_BODY:
                raise UpstreamProtocolError(
                    event_type=f"the answer of {path}",
                    field=None,
                    got=f"more than {len(body):,} bytes",
                    expected=f"at most {_MAX_BODY:,}",
                )
            body += chunk
    except httpx2.RequestError as error:
        failure = answer.broke(error)
    else:
        return bytes(body)
    raise failure


async def _redacted(content: bytes, redactor: Redactor) -> bytes:
    if len(content) < _MOST_AT_ONCE:
        return redactor.redact_bytes(content)
    return await asyncio.to_thread(redactor.redact_bytes, content)
