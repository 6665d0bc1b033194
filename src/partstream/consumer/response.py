"""What a consumer reads an answer from; knows nothing of how the provider is run.

Source: `@types/vscode` 1.140, `LanguageModelChatResponse`.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from partstream.parts import TextPart

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from types import TracebackType

    from partstream.consumer.running_request import RunningRequest
    from partstream.outputs import Finish
    from partstream.parts import ResponsePart
    from partstream.usage import FinishReason, Usage

__all__ = ["LanguageModelChatResponse"]


class LanguageModelChatResponse:
    """The answer to one request, while it comes; stands for `vscode.LanguageModelChatResponse`.

    :attr:`stream`, :attr:`text` and :meth:`read_text` are independent of each other: each starts at the first part,
    at any time and as often as wanted. Iterating over the response itself is iterating over :attr:`stream`. The parts
    are therefore kept as long as the response is; memory is bounded by the answer, and not below it, because a provider
    reports without waiting.

    An error of the provider is raised from whatever reads, after the parts that came before it:
    :class:`~partstream.errors.LanguageModelError`, with the provider's exception as `__cause__` where that was
    another one; in strict mode :class:`~partstream.errors.ContractViolationError` too.

    Cancelling the request's token ends every iteration at once and normally: what was reported but not yet read is
    not delivered any more and stays readable as :attr:`parts`. Once an iteration has come to its end the response is
    final, and a cancellation changes nothing. Leaving an iteration early cancels the request as
    well, unless another iteration is going on. CPython closes an iteration as soon as nothing holds it; to be exact
    about the moment, use the response (`async with response:`) or `contextlib.aclosing(response.stream)`.
    """

    def __init__(self, request: RunningRequest) -> None:
        self._request = request
        self._readers = 0

    @property
    def stream(self) -> AsyncGenerator[ResponsePart, None]:
        """The parts in the order in which they were reported, from the first."""
        return self._read()

    @property
    def text(self) -> AsyncGenerator[str, None]:
        """The fragments of the visible text, from the first; joined without a separator they are the text."""
        return self._read_fragments()

    @property
    def parts(self) -> tuple[ResponsePart, ...]:
        """What was reported so far; valid also when the response fails or is cancelled."""
        return tuple(self._request.buffer.parts)

    @property
    def is_cancelled(self) -> bool:
        """Whether the response ended because somebody cancelled it."""
        return self._request.buffer.cancelled

    @property
    def finish(self) -> Finish | None:
        """How the model's answer ended, as the provider said it: outcome, reason, usage, the response's id, and more.

        None before the provider has said it, which it does at the end of the answer: read the stream to its end first.
        None stays where the provider says nothing, and after a cancellation. Valid also when the response fails.
        """
        return self._request.finish

    @property
    def usage(self) -> Usage | None:
        """The tokens of the request and of its answer, in counts of tokens.

        None before the end of the answer, see :attr:`finish`, and where nobody said them.
        """
        finish = self._request.finish
        return None if finish is None else finish.usage

    @property
    def finish_reason(self) -> FinishReason | None:
        """Why the model stopped: at its own end, at a limit, at a filter, to have tools called.

        None before the end of the answer, see :attr:`finish`, and where nobody said it.
        """
        finish = self._request.finish
        return None if finish is None else finish.reason

    async def read_text(self) -> str:
        """Waits for the end and returns the whole text; after a cancellation, the text that had come.

        Raises:
            LanguageModelError: The provider failed; :attr:`parts` holds what came before.
        """
        index = 0
        self._readers += 1
        try:
            while await self._request.buffer.has(index):
                index = len(self._request.buffer.parts)
        finally:
            await self._leave()
        return "".join(part.value for part in self._request.buffer.parts if isinstance(part, TextPart))

    async def aclose(self) -> None:
        """Cancels the request if it still runs, and waits until the provider is gone; harmless when repeated."""
        await self._request.stop()

    def __aiter__(self) -> AsyncGenerator[ResponsePart, None]:
        return self.stream

    async def __aenter__(self) -> LanguageModelChatResponse:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _read(self) -> AsyncGenerator[ResponsePart, None]:
        buffer = self._request.buffer
        index = 0
        self._readers += 1
        try:
            while await buffer.has(index):
                yield buffer.parts[index]
                index += 1
        finally:
            await self._leave()

    async def _read_fragments(self) -> AsyncGenerator[str, None]:
        async with aclosing(self._read()) as parts:
            async for part in parts:
                if isinstance(part, TextPart):
                    yield part.value

    async def _leave(self) -> None:
        self._readers -= 1
        if self._request.buffer.delivered:
            self._request.forget_token()
        elif not self._readers and not self._request.buffer.settled:
            await self._request.stop()
