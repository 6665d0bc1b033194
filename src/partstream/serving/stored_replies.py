"""The replies of the routes that read or change kept answers: a document, or the frames of a stream once more."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from partstream.protocols.serve import Effect, id_in_path
from partstream.serving.memory import asked_of_store

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from partstream.protocols.serve import ResponseWriterSpec, StoredAnswer, StoredRoute, WireRequest
    from partstream.server.replies import RecordingReplySink
    from partstream.serving.answer_run import Deliver
    from partstream.serving.memory import AnswerMemory

__all__ = ["FrameReplay", "stored_reply"]


class FrameReplay:
    """The frames of a stream from one number on: those that are kept, or those of an answer that still runs.

    Args:
        frames: All frames of an answer that is over.
        running: The answer that runs, or None.
        first: The number of the first frame that is sent.
        writes: The corner of the protocol.
    """

    def __init__(
        self, frames: Sequence[bytes], running: RecordingReplySink | None, first: int, writes: ResponseWriterSpec
    ) -> None:
        self.content_type = writes.content_type
        self._frames = frames
        self._running = running
        self._next = first
        self._end = writes.end_of_stream

    async def send(self, deliver: Deliver, client_leaves: Callable[[], Awaitable[None]]) -> None:
        """Sends the frames, as they come, until the end or until the client has left."""
        left = asyncio.ensure_future(client_leaves())
        try:
            while self._running is not None and not self._running.is_over:
                changed = self._running.changed()  # before the look: what comes while a client is slow counts too
                await self._deliver(deliver, self._running.frames or ())
                await asyncio.wait({changed, left}, return_when=asyncio.FIRST_COMPLETED)
                changed.cancel()
                if left.done():
                    return
            await self._deliver(deliver, self._frames if self._running is None else self._running.frames or ())
            await deliver(None, self._end, True)
        finally:
            left.cancel()

    async def _deliver(self, deliver: Deliver, frames: Sequence[bytes]) -> None:
        new = frames[self._next :]
        if new:
            self._next = len(frames)
            await deliver(None, b"".join(new), False)


async def stored_reply(
    memory: AnswerMemory, writes: ResponseWriterSpec, route: StoredRoute, wire: WireRequest, owner: str
) -> Mapping[str, Any] | FrameReplay:
    """The reply to a request for a kept answer.

    Raises:
        PartstreamError: There is none, none of this owner, or the request is wrong.
    """
    state = writes.state
    answer_id = id_in_path(route.path, wire.path) or ""
    assert state is not None  # noqa: S101 - the route is one of the state's
    first = None if route.resumes is None else route.resumes(wire)
    running = memory.running.get((owner, answer_id))
    if running is not None and route.effect is not Effect.READ:
        await running.stop_and_keep()
        running = None
    chain = await _chain(memory, owner, answer_id, running)
    if not chain:
        raise state.unknown(answer_id)
    if first is not None:
        frames = running.frames if running is not None else await _frames(memory, owner, answer_id)
        if frames is None:
            raise state.unstreamed(answer_id)
        return FrameReplay(frames, running, first, writes)
    if route.effect is Effect.DELETE and memory.store is not None:
        await asked_of_store(memory.store.delete(owner, answer_id))
    return route.document(wire, chain)


async def _chain(
    memory: AnswerMemory, owner: str, answer_id: str, running: RecordingReplySink | None
) -> Sequence[StoredAnswer]:
    if running is not None:
        now = running.now()
        return () if now is None else (now,)
    return () if memory.store is None else await asked_of_store(memory.store.chain(owner, answer_id))


async def _frames(memory: AnswerMemory, owner: str, answer_id: str) -> tuple[bytes, ...] | None:
    return None if memory.store is None else await asked_of_store(memory.store.frames(owner, answer_id))
