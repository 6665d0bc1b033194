"""Where a hosted provider reports its parts: into the request's own stream of the outbox; knows no provider."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from partstream.hosts.vscode.conversion import encode_response_part
from partstream.json_codec import dumps

if TYPE_CHECKING:
    from partstream.parts import ResponsePart
    from partstream.rpc.connection import RequestId
    from partstream.rpc.outbox import ItemStream, Outbox

__all__ = ["StreamProgress", "open_progress_stream"]


def open_progress_stream(outbox: Outbox, token: RequestId) -> ItemStream:
    """A stream whose items go out as the parts of `$/progress` with this token."""
    head = b'{"jsonrpc":"2.0","method":"$/progress","params":{"token":%s,"value":{"parts":[' % dumps(token)
    return outbox.open(head, b"]}}}")


class StreamProgress:
    """A :class:`~partstream.provider.DrainingProgress` over one stream, for parts that keep the contract."""

    __slots__ = ("_stream",)

    def __init__(self, stream: ItemStream) -> None:
        self._stream = stream

    def report(self, part: ResponsePart) -> None:
        """Hands on one part.

        Raises:
            TypeError: It is no part, a part that only messages may hold, or holds what JSON has no form for.
            BacklogError: The provider never waits and the reader is far behind.
        """
        item = dumps(encode_response_part(part))
        # Of a request that was cancelled while its usage was counted there is nobody to tell.
        if not self._stream.closed:
            self._stream.put(item)

    async def drain(self) -> None:
        """Returns at once while the reader keeps up; otherwise when it has caught up."""
        if not self._stream.is_full:
            return
        low: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def go_on() -> None:
            if not low.done():
                low.set_result(None)

        self._stream.when_low(go_on)
        await low
