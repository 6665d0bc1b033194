"""The progress that a provider gets from a server: writes each part at once; counts nothing but the text it keeps."""

from __future__ import annotations

import asyncio
from threading import get_ident
from typing import TYPE_CHECKING, Final

from partstream.json_codec import JSONDecodeError, loads
from partstream.messages import ChatMessage
from partstream.numbers import as_count
from partstream.parts import DataPart, TextPart, ThinkingPart
from partstream.usage import USAGE_MIME_TYPE, Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.outputs import Finish
    from partstream.parts import ResponsePart
    from partstream.serving.outgoing import Outlet
    from partstream.serving.replies import AnswerReply

__all__ = ["AnswerProgress"]

_KEPT: Final = 32_768
"""The characters of an answer that are kept for counting, to bound the memory; the rest is assumed to be like them."""


class AnswerProgress:
    """Writes the parts of one answer, which keep the contract.

    It is a :class:`~partstream.provider.DrainingProgress` and a :class:`~partstream.provider.FinishingProgress`.

    Args:
        reply: Writes the parts.
        outlet: Where the bytes go.
        on_failure: Told of an error that a part caused which a thread of the provider's own reported.

    Attributes:
        first_part_at: When the first part came, in the time of the event loop; None before it.
        usage: The tokens that the provider reported as a part; None while it has not.
        has_calls: Whether a part was a call of a tool.
    """

    __slots__ = (
        "_kept",
        "_left_out",
        "_loop",
        "_on_failure",
        "_outlet",
        "_parts",
        "_take",
        "_thread",
        "first_part_at",
        "has_calls",
        "usage",
    )

    def __init__(self, reply: AnswerReply, outlet: Outlet, on_failure: Callable[[BaseException], object]) -> None:
        self.first_part_at: float | None = None
        self.usage: Usage | None = None
        self.has_calls = False
        self._take = reply.take
        self._outlet = outlet
        self._on_failure = on_failure
        self._loop = asyncio.get_running_loop()
        self._thread = get_ident()
        self._parts: list[ResponsePart] = []
        self._kept = self._left_out = 0

    def report(self, part: ResponsePart, /) -> None:
        """Writes a part; a thread of the provider's own hands it to the event loop.

        Raises:
            ClientTooSlowError: The provider never waits, and the client is far behind.
        """
        if get_ident() != self._thread:
            self._loop.call_soon_threadsafe(self._report_later, part)
            return
        if part.__class__ is TextPart:
            if self.first_part_at is None:
                self.first_part_at = self._loop.time()
            self._take(part)
            size = len(part.value)
            if self._kept < _KEPT:
                self._parts.append(part)
                self._kept += size
            else:
                self._left_out += size
        else:
            self._report_other(part)

    def _report_later(self, part: ResponsePart) -> None:
        try:
            self.report(part)
        except Exception as error:
            self._on_failure(error)

    def _report_other(self, part: ResponsePart) -> None:
        if isinstance(part, DataPart) and part.mime_type == USAGE_MIME_TYPE:
            self.usage = _usage_in(part) or self.usage
            return
        if self.first_part_at is None:
            self.first_part_at = self._loop.time()
        self._take(part)
        if isinstance(part, TextPart | ThinkingPart):
            size = len(part.value)
            if self._kept >= _KEPT:
                self._left_out += size
                return
            self._kept += size
        elif not isinstance(part, DataPart):
            self.has_calls = True
        self._parts.append(part)

    def finish(self, finish: Finish, /) -> None:
        """Takes the end; :attr:`partstream.checked_progress.CheckedProgress.said_finish` keeps it."""

    async def drain(self) -> None:
        """Waits while the client is slow."""
        await self._outlet.drain()

    def answer(self) -> ChatMessage:
        """The answer so far, as the message in the next request; only the beginning of a long answer."""
        return ChatMessage.assistant(self._parts)

    @property
    def length(self) -> float:
        """The ratio of the whole answer's text to that of :meth:`answer`."""
        return (self._kept + self._left_out) / self._kept if self._kept else 1.0


def _usage_in(part: DataPart) -> Usage | None:
    """The tokens in a data part of media type `usage`, see :func:`partstream.usage.usage_part`."""
    try:
        said = loads(part.data)
    except JSONDecodeError:
        return None
    if not isinstance(said, dict):
        return None
    given, completion = as_count(said.get("prompt_tokens")), as_count(said.get("completion_tokens"))
    details = said.get("prompt_tokens_details")
    cached = as_count(details.get("cached_tokens")) if isinstance(details, dict) else None
    if given is None or completion is None:
        return None
    return Usage(given, completion, given + completion, cached)
