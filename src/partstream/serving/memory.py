"""What a server remembers of its answers: finds what a request refers to, keeps answers, knows those that run."""

from __future__ import annotations

import asyncio
import logging
import secrets
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from partstream.protocols.failures import FailureKind, ServedFailure
from partstream.protocols.serve import ResolvedReferences
from partstream.server.replies import RecordingReplySink
from partstream.serving.access_token import kept_token
from partstream.serving.failures import ChainTooLargeError, RequestFailedError, StoreFailedError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

    from partstream.protocols.serve import RequestReferences, ServedState, StoredAnswer, WireRequest
    from partstream.server.replies import ReplySink
    from partstream.serving.stored_answers import SQLiteAnswers

__all__ = ["AnswerMemory", "Remembered", "asked_of_store", "installation_secret"]

T = TypeVar("T")

_logger = logging.getLogger("partstream.serving")

_SECRET_FILE: Final = "serve-signing-key"  # noqa: S105 - the name of a file
_SAVE_SECONDS: Final = 10.0
_FRAME_BYTES: Final = 16 * 1024 * 1024
"""The most bytes of a stream that are kept, in memory while the answer runs and in the store after it."""


def installation_secret(folder: Path | None) -> bytes:
    """The secret with which a server signs: one for all processes with the same folder, made when there is none yet.

    Args:
        folder: The folder of what the server keeps; None for a secret of this process alone.

    Raises:
        UnusableTokenError: The file of the secret cannot be written or read.
    """
    if folder is None:
        return secrets.token_bytes(32)
    return kept_token(folder / _SECRET_FILE).secret.reveal().encode()


@dataclass(frozen=True, slots=True)
class Remembered:
    """A request with what it refers to.

    Attributes:
        asks: What the model is asked.
        own: The request as it is kept.
        earlier: What it refers to.
        is_kept: Whether its answer goes into the store.
        is_local: Whether what it continues is remembered by its socket alone.
    """

    asks: WireRequest
    own: WireRequest
    earlier: ResolvedReferences = field(default_factory=ResolvedReferences)
    is_kept: bool = False
    is_local: bool = False


class AnswerMemory:
    """What one server remembers.

    Args:
        store: Keeps answers; None to keep none.
        secret: What the server signs with.

    Attributes:
        store: Keeps answers, or None.
        secret: What the server signs with.
        running: The answers that run and are kept, by their owner and id.
    """

    def __init__(self, store: SQLiteAnswers | None, secret: bytes) -> None:
        self.store = store
        self.secret = secret
        self.running: dict[tuple[str, str], RecordingReplySink] = {}

    async def remembered(
        self,
        state: ServedState | None,
        request: WireRequest,
        owner: str,
        recall: Callable[[RequestReferences], ResolvedReferences] | None = None,
    ) -> Remembered:
        """A request with what it refers to.

        Args:
            state: What the protocol remembers, or None.
            request: The request as it came.
            owner: Who asks: nobody else's answers are found.
            recall: What a socket itself remembers, which comes first.

        Raises:
            RequestFailedError: The store cannot be asked.
            PartstreamError: What the protocol raises for what is not known.
        """
        if state is None:
            return Remembered(request, request)
        state.refuse(request)
        wanted = state.wanted(request)
        earlier = ResolvedReferences() if recall is None else recall(wanted)
        is_local = bool(earlier.chain)
        earlier = await self._found(state, wanted, earlier, owner)
        is_kept = state.keeps(request) and self.store is not None
        joined = state.join(request if is_kept else state.unkept(request), earlier, self.secret)
        return Remembered(joined.asks, joined.own, earlier, is_kept, is_local)

    async def _found(
        self, state: ServedState, wanted: RequestReferences, earlier: ResolvedReferences, owner: str
    ) -> ResolvedReferences:
        """What the store has of what is still missing."""
        store = self.store
        if store is None:
            return earlier
        if wanted.answer_id is not None and not earlier.chain:
            chain = await asked_of_store(store.chain(owner, wanted.answer_id))
            if chain and chain[0].previous_id is None:  # otherwise the beginning was deleted
                earlier = replace(earlier, chain=chain)
        missing = [one for one in wanted.item_ids if one not in earlier.items]
        if missing:
            answers = await asked_of_store(store.answers_with(owner, missing), "input")
            items: dict[str, Mapping[str, Any]] = {}
            for answer in answers:
                items |= state.items(answer)
            found = {one: items[one] for one in missing if one in items}
            earlier = replace(earlier, items={**earlier.items, **found})
        return earlier

    def recorded(
        self, state: ServedState, remembered: Remembered, owner: str, outlet: ReplySink, *, is_stream: bool
    ) -> RecordingReplySink:
        """An outlet that keeps the answer to a request."""

        async def keep(answer: StoredAnswer | None) -> None:
            if answer is None:
                return
            try:
                if remembered.is_kept:
                    chain = remembered.earlier.chain if remembered.is_local else None
                    await self._save(owner, answer if chain is None else state.whole(chain, answer), state)
            finally:
                self.running.pop((owner, answer.id), None)

        def begin(answer_id: str) -> None:
            if remembered.is_kept:
                self.running[owner, answer_id] = recorded

        recorded = RecordingReplySink(
            outlet, state.record(_FRAME_BYTES), remembered.own, is_stream=is_stream, on_begin=begin, on_end=keep
        )
        return recorded

    async def _save(self, owner: str, answer: StoredAnswer, state: ServedState) -> None:
        """Keeps an answer; one that cannot be kept reaches its client all the same."""
        if self.store is None:
            return
        try:
            async with asyncio.timeout(_SAVE_SECONDS):
                await self.store.save(owner, answer, list(state.items(answer)))
        except Exception as error:
            why = str(error) if isinstance(error, StoreFailedError) else type(error).__name__  # no word of a prompt
            _logger.error("an answer could not be stored: %s", why)  # noqa: TRY400 - a traceback may hold such words


async def asked_of_store(question: Awaitable[T], param: str = "previous_response_id") -> T:
    """What the store answers.

    Args:
        question: What it is asked.
        param: The field of the request that names what is looked for.

    Raises:
        RequestFailedError: It has too much to do, its file cannot be read, or a conversation is too long.
    """
    try:
        return await question
    except ChainTooLargeError as error:
        failure = ServedFailure(FailureKind.CONTEXT_LENGTH, str(error), param)
        raise RequestFailedError(failure) from error
    except StoreFailedError as error:
        _logger.error("the stored answers could not be asked: %s", error)  # noqa: TRY400
        failure = ServedFailure(
            FailureKind.OVERLOADED, "stored answers cannot be found now; ask again", retry_after=1.0
        )
        raise RequestFailedError(failure) from error
