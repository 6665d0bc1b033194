"""The response that a consumer reads; does not know how the provider runs.

Source: `@types/vscode` 1.140, `LanguageModelChatResponse`.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from partstream.lm.parts import TextPart

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from types import TracebackType

    from partstream.consumer.running_request import RunningRequest
    from partstream.lm.outputs import Finish
    from partstream.lm.parts import FinishReason, ResponsePart, Usage

__all__ = ["LanguageModelChatResponse"]


class LanguageModelChatResponse:
    """The answer to one request, while it comes; the counterpart of `vscode.LanguageModelChatResponse`.

    :attr:`stream`, :attr:`text` and :meth:`read_text` are independent of each other: each starts at the first part,
    at any time and as often as wanted. Iterating over the response itself iterates over :attr:`stream`. The response
    therefore keeps all its parts: its memory grows with the answer, because a provider reports without waiting for
    readers.

    Every reader raises an error of the provider after the parts that came before it: a
    :class:`~partstream.errors.LanguageModelError`, with the provider's exception as `__cause__` if that was of
    another class; in strict mode also a :class:`~partstream.errors.ContractViolationError`.

    Cancelling the request's token ends every iteration at once and normally: parts that were reported but not yet
    read are no longer delivered, but stay in :attr:`parts`. Once an iteration has reached the end, the response is
    final, and a cancellation has no effect. Leaving an iteration early also cancels the request, unless another
    iteration is running. CPython closes an iteration as soon as nothing refers to it; to control the moment, use
    `async with response:` or `contextlib.aclosing(response.stream)`.

    Example:
        >>> import asyncio
        >>> from partstream import chat_model, connect, user_request
        >>> @chat_model(name="Parrot")
        ... async def parrot(messages, options):
        ...     yield f"You said: {user_request(messages)}"
        >>> async def main():
        ...     async with connect(parrot) as model:
        ...         response = model.stream("Hello")
        ...         return await response.read_text(), response.parts, response.is_cancelled
        >>> asyncio.run(main())
        ('You said: Hello', (TextPart(value='You said: Hello'),), False)
    """

    def __init__(self, request: RunningRequest) -> None:
        self._request = request
        self._readers = 0

    @property
    def stream(self) -> AsyncGenerator[ResponsePart, None]:
        """All parts from the first, in the order in which the provider reports them."""
        return self._read()

    @property
    def text(self) -> AsyncGenerator[str, None]:
        """All fragments of the visible text from the first; joined without a separator, they are the text."""
        return self._read_fragments()

    @property
    def parts(self) -> tuple[ResponsePart, ...]:
        """The parts reported so far; valid also after a failure or a cancellation."""
        return tuple(self._request.buffer.parts)

    @property
    def is_cancelled(self) -> bool:
        """Whether the response ended by a cancellation."""
        return self._request.buffer.cancelled

    @property
    def finish(self) -> Finish | None:
        """How the provider reports that the answer ended: outcome, reason, usage, the response's id, and more.

        None until the provider has reported it at the end of the answer: read the stream to its end first. Stays None
        if the provider reports no finish, and after a cancellation. Valid also after a failure.
        """
        return self._request.finish

    @property
    def usage(self) -> Usage | None:
        """The tokens of the request and its answer.

        None before the end of the answer (see :attr:`finish`), and if the provider reports no usage.
        """
        finish = self._request.finish
        return None if finish is None else finish.usage

    @property
    def finish_reason(self) -> FinishReason | None:
        """Why the model stopped: it had finished, reached a limit, was filtered, or wants tools called.

        None before the end of the answer (see :attr:`finish`), and if the provider reports no reason.
        """
        finish = self._request.finish
        return None if finish is None else finish.reason

    async def read_text(self) -> str:
        """Waits for the end and returns the whole text; after a cancellation, the text until then.

        Raises:
            LanguageModelError: The provider failed; :attr:`parts` holds the parts that came before.
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
        """Cancels the request if it still runs, and waits until the provider has stopped; may be called repeatedly."""
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
