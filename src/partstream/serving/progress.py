"""The progress that a provider gets from a server: writes each part at once; counts nothing but the text it keeps."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from threading import get_ident
from typing import TYPE_CHECKING, Any

from partstream.codec.checks import MOST_DOLLARS, as_amount, as_count
from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.lm.parts import COST_KEY, USAGE_MIME_TYPE, DataPart, TextPart, ThinkingPart, ToolCallPart, Usage
from partstream.runtime.progress import KeptAnswer, thinking_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.capturing.capture import AnswerCapture
    from partstream.lm.outputs import Finish
    from partstream.lm.parts import ResponsePart
    from partstream.server.replies import ReplySink, ReplyWriter

__all__ = ["ReplyProgress"]


class ReplyProgress:
    """Writes the parts of one answer, which keep the contract.

    It is a :class:`~partstream.lm.provider.DrainingProgress` and a :class:`~partstream.lm.provider.FinishingProgress`.

    Args:
        reply: Writes the parts.
        outlet: Where the bytes go.
        on_failure: Told of an error that a part caused which a thread of the provider's own reported.
        capture: Keeps the parts; None where nobody does.
        look: Looks at each part behind its writing; None where nobody has to.

    Attributes:
        first_part_at: When the first part came, in the time of the event loop; None before it.
        usage: The tokens that the provider reported as a part; None while it has not.
        cost: The cost in US dollars that came with it, or None.
        has_calls: Whether a part was a call of a tool.
        kept: What is kept of the answer.
        state: The last metadata of thinking, which lists the state of all of it; None while there is none.
    """

    __slots__ = (
        "_keep",
        "_loop",
        "_on_failure",
        "_outlet",
        "_take",
        "_thread",
        "cost",
        "first_part_at",
        "has_calls",
        "kept",
        "state",
        "usage",
    )

    def __init__(
        self,
        reply: ReplyWriter,
        outlet: ReplySink,
        on_failure: Callable[[BaseException], object],
        capture: AnswerCapture | None = None,
        look: Callable[[ResponsePart], object] | None = None,
    ) -> None:
        self.first_part_at: float | None = None
        self.usage: Usage | None = None
        self.cost: float | None = None
        self.has_calls = False
        self.state: Mapping[str, Any] | None = None
        take = reply.take if capture is None else _followed_by(capture.part, reply.take)
        self._take = take if look is None else _followed_by(look, take)
        self._outlet = outlet
        self._on_failure = on_failure
        self._loop = asyncio.get_running_loop()
        self._thread = get_ident()
        self.kept = KeptAnswer()
        self._keep = self.kept.keep

    def report(self, part: ResponsePart, /) -> None:
        """Writes a part; a thread of the provider's own hands it to the event loop.

        Raises:
            ClientTooSlowError: The provider never waits, and the client is far behind.
        """
        if get_ident() != self._thread:
            self._loop.call_soon_threadsafe(self._report_later, part)
            return
        if part.__class__ is not TextPart:
            self._report_other(part)
            return
        if self.first_part_at is None:
            self.first_part_at = self._loop.time()
        self._take(part)
        self._keep(part)

    def _report_later(self, part: ResponsePart) -> None:
        try:
            self.report(part)
        except Exception as error:
            self._on_failure(error)

    def _report_other(self, part: ResponsePart) -> None:
        if isinstance(part, DataPart) and part.mime_type == USAGE_MIME_TYPE:
            self._note_usage(part)
            return
        if isinstance(part, ThinkingPart):
            text = thinking_text(part)
            part = part if text is part.value else replace(part, value=text)
            self.state = part.metadata or self.state
        if self.first_part_at is None:
            self.first_part_at = self._loop.time()
        self.has_calls = self.has_calls or isinstance(part, ToolCallPart)
        self._take(part)
        self._keep(part)

    def _note_usage(self, part: DataPart) -> None:
        """Keeps the tokens and the cost in the data part that :func:`partstream.lm.parts.usage_part` makes."""
        try:
            said = loads(part.data)
        except JSONDecodeError:
            return
        if isinstance(said, dict):
            self.usage = _usage_in(said) or self.usage
            self.cost = as_amount(said.get(COST_KEY), MOST_DOLLARS)

    def finish(self, finish: Finish, /) -> None:
        """Takes the end; :attr:`partstream.runtime.progress.CheckedProgress.said_finish` keeps it."""

    async def drain(self) -> None:
        """Waits while the client is slow."""
        await self._outlet.drain()


def _followed_by(
    look: Callable[[ResponsePart], object], take: Callable[[ResponsePart], None]
) -> Callable[[ResponsePart], None]:
    def take_and_look(part: ResponsePart) -> None:
        take(part)
        look(part)

    return take_and_look


def _usage_in(said: Mapping[str, Any]) -> Usage | None:
    """The tokens; None without the two numbers that VS Code wants."""
    given, completion = as_count(said.get("prompt_tokens")), as_count(said.get("completion_tokens"))
    if given is None or completion is None:
        return None
    details, more = said.get("prompt_tokens_details"), said.get("completion_tokens_details")
    return Usage(
        given,
        completion,
        given + completion,
        _count_in(details, "cached_tokens"),
        _count_in(more, "reasoning_tokens"),
        cache_write_tokens=_count_in(details, "cache_creation_input_tokens"),
    )


def _count_in(details: object, name: str) -> int | None:
    return as_count(details.get(name)) if isinstance(details, dict) else None
