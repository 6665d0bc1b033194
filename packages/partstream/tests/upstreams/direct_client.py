"""A client of `httpx2` whose requests go over our own connections to a server."""

from collections.abc import AsyncIterator

import httpx2

from partstream.upstream.http_connection import PORTS, AnswerBody, DirectTransport, PlainRequest, ProxiedBody


class _Stream(httpx2.AsyncByteStream):
    """The body of an answer as a client reads it."""

    def __init__(self, body: AnswerBody | ProxiedBody) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while piece := await self._body.next():
            yield piece

    async def aclose(self) -> None:
        await self._body.aclose()


class Direct(DirectTransport, httpx2.AsyncBaseTransport):
    """The transport of a client."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        url, extensions = request.url, request.extensions
        origin = (url.scheme, url.raw_host.decode(), url.port or PORTS[url.scheme], extensions.get("sni_hostname"))
        asked = PlainRequest(request.method, url.raw_path, request.headers.raw, await request.aread())
        came = await self.send(origin, asked, extensions.get("timeout", {}).get("connect"))
        body = {"body": came.body}
        return httpx2.Response(came.head.status, headers=came.fields, stream=_Stream(came.body), extensions=body)
