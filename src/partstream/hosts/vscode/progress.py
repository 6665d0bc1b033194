"""The progress of a hosted provider: puts parts into the request's stream of the outbox; knows no provider."""

from __future__ import annotations

import asyncio
from threading import get_ident
from typing import TYPE_CHECKING

from partstream.codec.json_codec import dumps
from partstream.vscode.methods import encode_response_part

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.lm.parts import ResponsePart
    from partstream.vscode.rpc import ItemStream, Outbox, RequestId

__all__ = ["StreamProgress", "open_progress_stream"]


def open_progress_stream(outbox: Outbox, token: RequestId) -> ItemStream:
    """Opens a stream whose items go out as the parts of `$/progress` with this token."""
    head = b'{"jsonrpc":"2.0","method":"$/progress","params":{"token":%s,"value":{"parts":[' % dumps(token)
    return outbox.open(head, b"]}}}")


class StreamProgress:
    """A progress over one stream, for parts that keep the contract.

    It is a :class:`~partstream.lm.provider.DrainingProgress` and a :class:`~partstream.lm.provider.WaitingProgress`.

    Args:
        stream: Takes the parts.
        on_wait: Takes why the answer does not begin yet, and for how many seconds.
    """

    __slots__ = ("_loop", "_on_wait", "_stream", "_thread")

    def __init__(self, stream: ItemStream, on_wait: Callable[[str, float], None]) -> None:
        self._stream = stream
        self._on_wait = on_wait
        self._loop = asyncio.get_running_loop()
        self._thread = get_ident()

    def report(self, part: ResponsePart) -> None:
        """Puts a part into the stream; a thread of the provider's own hands it to the event loop.

        Raises:
            TypeError: `part` is not a part, is a part for messages only, or holds a value that JSON cannot represent.
            BacklogError: The provider never waits and the reader is far behind.
        """
        item = dumps(encode_response_part(part))
        if get_ident() != self._thread:
            self._loop.call_soon_threadsafe(self._put, item)
        # Nobody waits for the parts of a request that was cancelled while its usage was counted.
        elif not self._stream.closed:
            self._stream.put(item)

    def _put(self, item: bytes) -> None:
        if not self._stream.closed:
            self._stream.put(item)

    def wait(self, reason: str, seconds: float) -> None:
        """Tells why the answer does not begin yet."""
        if not self._stream.closed:
            self._on_wait(reason, seconds)

    async def drain(self) -> None:
        """Waits until the reader has caught up; returns at once if it keeps up."""
        if not self._stream.is_full:
            return
        low: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def resume() -> None:
            if not low.done():
                low.set_result(None)

        self._stream.when_low(resume)
        await low
