"""What a server remembers of its responses: to be continued, stored, read again, resumed and stopped.

:class:`AnswerMemory` finds what a request refers to: an earlier response, or items of it. What a socket itself
remembers comes first, then the store. It replies to requests for responses that it has. A :class:`RecordingReplySink`
keeps a response on its way to the client.
"""

from __future__ import annotations
import asyncio
import hmac
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import dataclass, field, replace
from partstream.codec.json_codec import loads
from partstream.codec.system import SharedRoom
from partstream.protocols import serve as wires
from partstream.server import requests
from partstream.server.replies import BufferedReplySink

if TYPE_CHECKING:
    from partstream.server.replies import Deliver, FileFrame, Head
    from partstream.server.stored_answers import SQLiteAnswers

_logger = logging.getLogger("partstream.serving")

_SAVE_SECONDS: Final = 10.0
_KEPT_BY: Final = "kept_by"
"""The only field of a stored request whose response an upstream alone keeps: the model."""
_MOST_ELSEWHERE: Final = 10_000
_MANY_ITEMS: Final = 256
"""More items of the responses that a request continues are joined in a thread."""
_FRAME_BYTES: Final = 16 * 1024 * 1024
"""The most bytes of a stream that are kept, in memory while the answer runs and in the store after it."""


@dataclass(slots=True)  # not frozen, see `RawRequest`
class Remembered:
    """A request with the earlier responses that it refers to.

    Attributes:
        is_kept: Whether its response goes into the store.
        is_local: Whether its socket alone remembers what it continues.
    """

    asks: wires.WireRequest
    own: wires.WireRequest
    earlier: wires.ResolvedReferences = field(default_factory=wires.ResolvedReferences)
    is_kept: bool = False
    is_local: bool = False


class AnswerMemory:
    """What one server remembers of its responses.

    Attributes:
        running: The responses that run and will be stored, by their owner and id.
        elsewhere: The models whose upstreams keep a response, by its owner and id; each owner has a share.
    """

    def __init__(self, store: SQLiteAnswers | None, secret: bytes) -> None:
        self.store = store
        self._secret = secret
        self.running: dict[tuple[str, str], RecordingReplySink] = {}
        self.elsewhere: SharedRoom[str] = SharedRoom(_MOST_ELSEWHERE)

    def secret_of(self, owner: str) -> bytes:
        """What the server signs with for an owner: what it has signed for another one is worth nothing to him."""
        return hmac.digest(self._secret, owner.encode(errors="surrogatepass"), "sha256")

    async def remembered(
        self,
        state: wires.ServedState,
        request: wires.WireRequest,
        owner: str,
        recall: Callable[[wires.RequestReferences], wires.ResolvedReferences] | None,
        apart: Callable[..., Awaitable[wires.ResolvedRequest]],
        *,
        generates: bool = True,
    ) -> tuple[Remembered, bool]:
        """A request with what it refers to, and whether that is much.

        Args:
            owner: The caller, whose responses alone are found.
            recall: What a socket itself remembers, which comes first.
            apart: Does work on the request in a thread, where the request is large.
            generates: Whether a model answers. Otherwise the client only announces its conversation to its socket,
                which alone remembers it: what takes no answer must not fill the store.

        Raises:
            RequestFailedError: The store cannot be asked, or the request has too many items with what it refers to.
            PartstreamError: What the protocol raises for what is not known.
        """
        state.refuse(request)
        wanted = state.wanted(request)
        earlier = wires.ResolvedReferences() if recall is None else recall(wanted)
        is_local = bool(earlier.chain)
        if self.store is not None:
            earlier = await self._found(self.store, state, wanted, earlier, owner)
        is_kept = generates and state.keeps(request) and self.store is not None
        work = request if is_kept else state.unkept(request), earlier, self.secret_of(owner)
        values = (value for one in earlier.chain for of in (one.request, one.response) for value in of.values())
        is_long = sum(len(value) for value in values if isinstance(value, list)) > _MANY_ITEMS
        joined = await (asyncio.to_thread if is_long else apart)(state.join, *work)
        if earlier.chain:
            requests.check_items(joined.asks.body)
        return Remembered(joined.asks, joined.own, earlier, is_kept, is_local), is_long

    async def _found(
        self,
        store: SQLiteAnswers,
        state: wires.ServedState,
        wanted: wires.RequestReferences,
        earlier: wires.ResolvedReferences,
        owner: str,
    ) -> wires.ResolvedReferences:
        """Adds what the store has of the references that are missing."""
        if wanted.answer_id is not None and not earlier.chain:
            chain = await store.chain(owner, wanted.answer_id)
            if chain and chain[0].previous_id is None and not kept_by(chain):  # otherwise the beginning was deleted
                earlier = replace(earlier, chain=chain)
        missing = [one for one in wanted.item_ids if one not in earlier.items]
        if missing:
            items: dict[str, Mapping[str, Any]] = {}
            for answer in await store.answers_with(owner, missing):
                items |= state.items(answer)
            found = {one: items[one] for one in missing if one in items}
            earlier = replace(earlier, items={**earlier.items, **found})
        return earlier

    async def reply(
        self, state: wires.ServedState, route: wires.StoredRoute, wire: wires.WireRequest, owner: str
    ) -> Mapping[str, Any] | FrameReplay | str:
        """The reply to a request for a stored response: a document, the frames of its stream once more, or the model
        whose upstream alone keeps it.

        Raises:
            PartstreamError: There is none, none of this owner, or the request is wrong.
        """
        answer_id = wires.id_in_path(route.path, wire.path) or ""
        first = None if route.resumes is None else route.resumes(wire)
        running = self.running.get((owner, answer_id))
        if running is not None and route.effect is not wires.Effect.READ:
            running.stop()
            await running.ended()
            running = None
        if (model_id := self.elsewhere.find(owner, answer_id)) is not None:
            return model_id
        chain: Sequence[wires.StoredAnswer] = ()
        frames: Sequence[bytes] | None = None
        if running is not None:  # by itself: what it continues is not asked for
            chain, frames = tuple(filter(None, (running.now(),))), running.frames
        elif self.store is not None:
            chain = await self.store.chain(owner, answer_id)
            frames = None if first is None else await self.store.frames(owner, answer_id)
        if not chain:
            raise state.unknown(answer_id)
        if model_id := kept_by(chain):
            return model_id
        if first is not None:
            if frames is None:
                raise state.unstreamed(answer_id)
            return FrameReplay(frames, running, first)
        if route.effect is wires.Effect.DELETE:
            await self.forget(owner, answer_id)
        return route.document(wire, chain)

    async def forget(self, owner: str, answer_id: str) -> None:
        """Deletes a response, or the note of who keeps it."""
        self.elsewhere.forget(owner, answer_id)
        if self.store is not None:
            await self.store.delete(owner, answer_id)

    async def save(self, owner: str, answer: wires.StoredAnswer, items: Collection[str]) -> bool:
        """Puts a response into the store, if there is one; its client gets it all the same where that fails."""
        try:
            if self.store is not None:
                async with asyncio.timeout(_SAVE_SECONDS):
                    await self.store.save(owner, answer, items)
        except Exception as error:
            # No word of a prompt, which a traceback may hold too.
            why = str(error) if isinstance(error, requests.StoreFailedError) else type(error).__name__
            _logger.error("an answer could not be stored: %s", why)  # noqa: TRY400
            return False
        return True


def kept_by(chain: Sequence[wires.StoredAnswer]) -> str:
    """The model whose upstream alone keeps the last of these responses; empty for none."""
    model_id = chain[-1].request.get(_KEPT_BY) if chain else None
    return model_id if isinstance(model_id, str) else ""


# ---- Keeping responses ----


class RecordingReplySink(BufferedReplySink):
    """A sink that keeps what passes through it. It sends the end of a response after the response is stored: a client
    that has the end may name the response in its next request, which another process may get. A response that cannot be
    stored reaches its client all the same, and its end says so.

    Args:
        owner: The caller, whose requests alone find the response.
        stop: Ends the response on behalf of its client.
        is_stream: Whether the bytes are frames; otherwise they are one document.
        model_id: The model whose upstream alone keeps the response, which is noted then; empty for none.
        about: The arguments of every sink.

    Attributes:
        stored: The response as it is stored; None before its end.
    """

    def __init__(
        self,
        memory: AnswerMemory,
        state: wires.ServedState,
        remembered: Remembered,
        owner: str,
        stop: Callable[[], object],
        *about: Any,
        is_stream: bool,
        model_id: str,
    ) -> None:
        super().__init__(*about)
        self.stored: wires.StoredAnswer | None = None
        self.stop = stop
        self._memory = memory
        self._state = state
        self._remembered = remembered
        self._owner = owner
        self._is_stream = is_stream
        self._model_id = model_id
        self._record = state.record(0 if model_id else _FRAME_BYTES)
        self._document_head: Head | None = None  # its length may still change
        self._last = b""
        self._is_good = False
        self._has_begun = False
        self._ending: asyncio.Task[None] | None = None
        self._over = asyncio.Event()
        self._change: asyncio.Future[None] | None = None

    def start(self, head: Head) -> None:
        """Takes the head; that of a document goes with it. A reply that reports a failure is not kept."""
        self._is_good = 200 <= head.status < 300
        if self._is_good and self._remembered.is_kept and not self._is_stream:
            self._document_head = head
        else:
            super().start(head)

    def send(self, data: bytes, /) -> None:
        """Takes the next bytes, and reads those of a response: its last event waits until it is stored."""
        if self._is_good and (self._last or self._note(data)) and self._remembered.is_kept:
            self._last += data
        else:
            super().send(data)

    send_soon = send

    def send_file(self, frame: FileFrame, /) -> None:
        """Takes bytes with files: no wire that keeps state writes any."""
        self.send(bytes(frame))

    def end(self, data: bytes = b"", /) -> None:
        """Stores the response, and sends its last bytes then."""
        if self._ending is None:
            if self._is_good and data:
                self._note(data)
            self._ending = self.loop.create_task(self._keep(self._last + data))

    def _note(self, data: bytes) -> bool:
        """Reads bytes of the response; says whether its last event, or all of a document, is in them."""
        if not self._is_stream:
            document = loads(data)
            self._record.take_document(document if isinstance(document, dict) else {})
            return True
        is_last = self._record.add(data)
        if not self._has_begun and (answer_id := self._record.answer_id) is not None:
            self._has_begun = True
            if self._model_id:
                self._memory.elsewhere.keep(self._owner, answer_id, self._model_id)
            elif self._remembered.is_kept:
                self._memory.running[self._owner, answer_id] = self
        self._tell()
        return is_last

    async def _keep(self, data: bytes) -> None:
        try:
            if self._is_good:
                self.stored = self._record.stored(self._remembered.own)
            if self.stored is not None and not await self._is_kept(self.stored):
                data = self._record.unkept(data)
        finally:
            if (head := self._document_head) is not None:
                size = ("content-length", str(len(data)))
                headers = (size if name == "content-length" else (name, value) for name, value in head.headers)
                super().start(replace(head, headers=tuple(headers)))
            super().end(data)
            self._over.set()
            self._tell()

    async def _is_kept(self, answer: wires.StoredAnswer) -> bool:
        """Keeps the response where it is to be kept; says whether that worked."""
        memory, owner = self._memory, self._owner
        if self._model_id:
            memory.elsewhere.keep(owner, answer.id, self._model_id)
            await memory.save(owner, wires.StoredAnswer(answer.id, None, {_KEPT_BY: self._model_id}, {}), ())
            return True  # the upstream keeps it
        try:
            if not self._remembered.is_kept:
                return True
            if self._remembered.is_local:
                answer = self._state.whole(self._remembered.earlier.chain, answer)
            return await memory.save(owner, answer, list(self._state.items(answer)))
        finally:
            memory.running.pop((owner, answer.id), None)

    def cancel(self) -> None:
        """Records that the answer is stopped on behalf of its client; the end still has to be written."""
        self._record.cancel()

    async def ended(self) -> wires.StoredAnswer | None:
        """Waits until the response is over; returns it as it is stored."""
        await self._over.wait()
        return self.stored

    def changed(self) -> asyncio.Future[None]:
        """Is done with the next bytes after this call, or with the end; the same for all who wait."""
        if self._change is None:
            self._change = self.loop.create_future()
        return self._change

    def _tell(self) -> None:
        change, self._change = self._change, None
        if change is not None:
            change.set_result(None)

    @property
    def is_over(self) -> bool:
        """Whether no further frames come."""
        return self._over.is_set()

    def now(self) -> wires.StoredAnswer | None:
        """The response so far; None before it has begun."""
        response, answer_id = self._record.response, self._record.answer_id
        if self.stored is not None or response is None or answer_id is None:
            return self.stored
        return wires.StoredAnswer(answer_id, None, {}, response)

    @property
    def frames(self) -> Sequence[bytes] | None:
        """The frames of a stream so far; None for one that is too long to be kept."""
        return self._record.frames if self.stored is None else self.stored.frames


# ---- Requests for stored responses ----


@dataclass(frozen=True, slots=True)
class FrameReplay:
    """The frames of a stream from the number `first` on: all of a response that is over, or those of one that runs."""

    frames: Sequence[bytes]
    running: RecordingReplySink | None
    first: int

    async def send(self, deliver: Deliver, client_leaves: Callable[[], Awaitable[None]], end: bytes) -> None:
        """Sends the frames, as they come, until the `end` or until the client has left."""
        sent, running, left = self.first, self.running, asyncio.ensure_future(client_leaves())
        try:
            while True:
                # Before the look: what comes while a client is slow counts too.
                changed = None if running is None or running.is_over else running.changed()
                frames = self.frames if running is None else running.frames or ()
                if new := frames[sent:]:
                    sent = len(frames)
                    await deliver(None, b"".join(new), False)
                if changed is None:
                    break
                await asyncio.wait({changed, left}, return_when=asyncio.FIRST_COMPLETED)
                if left.done():
                    return
            await deliver(None, end, True)
        finally:
            left.cancel()
