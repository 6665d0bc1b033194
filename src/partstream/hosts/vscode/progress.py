"""Where a hosted provider reports its parts: into the request's own stream of the outbox; knows no provider."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from partstream.hosts.vscode.conversion import encode_response_part
from partstream.json_codec import dumps

if TYPE_CHECKING:
    from partstream.parts import ResponsePart
    from partstream.rpc.connection import RequestId
    from partstream.rpc.outbox import ItemStream, Outbox

__all__ = ["StreamProgress", "open_progress_stream"]

_logger = logging.getLogger("partstream.hosts.vscode")


def open_progress_stream(outbox: Outbox, token: RequestId) -> ItemStream:
    """A stream whose items go out as the parts of `$/progress` with this token."""
    head = b'{"jsonrpc":"2.0","method":"$/progress","params":{"token":%s,"value":{"parts":[' % dumps(token)
    return outbox.open(head, b"]}}}")


class StreamProgress:
    """A :class:`~partstream.provider.DrainingProgress` over one stream."""

    __slots__ = ("_stream", "_warned")

    def __init__(self, stream: ItemStream) -> None:
        self._stream = stream
        self._warned = False

    def report(self, part: ResponsePart) -> None:
        """Hands on one part; after the request was settled it is dropped, and that is logged once.

        Raises:
            TypeError: It is no part, a part that only messages may hold, or holds what JSON has no form for.
            BacklogError: The provider never waits and the reader is far behind.
        """
        item = dumps(encode_response_part(part))
        if not self._stream.closed:
            self._stream.put(item)
        elif not self._warned:
            self._warned = True
            _logger.debug("a provider goes on reporting after its request was settled; its parts are dropped")

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
