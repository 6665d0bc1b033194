"""Makes a provider of one plain function: all that a Python developer writes to have a model in the picker.

::

    from partstream.simple import chat_model

    @chat_model(name="Parrot")
    async def provider(messages, options):
        yield "I heard you."

Knows no host and no wire; the result is a :class:`~partstream.provider.LanguageModelChatProvider` like any other.
"""

from __future__ import annotations

import inspect
import re
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.answering import run_until_cancelled
from partstream.checked_progress import CheckedProgress
from partstream.messages import Role
from partstream.outputs import Finish
from partstream.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, text_part
from partstream.provider import (
    DrainingProgress,
    FinishingProgress,
    LanguageModelChatCapabilities,
    LanguageModelChatInformation,
    LanguageModelChatProvider,
)
from partstream.tokens import CountSource, TokenCount, estimate_tokens

_USER_REQUEST: Final = re.compile(r"<userRequest>(.*?)</userRequest>", re.DOTALL)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from partstream.cancellation import CancellationToken
    from partstream.messages import ChatMessage, RequestOptions
    from partstream.parts import ResponsePart
    from partstream.provider import Progress

__all__ = [
    "AnswerFunction",
    "FunctionProvider",
    "chat_model",
    "text_of",
    "user_request",
]

AnswerFunction: TypeAlias = (
    "Callable[[Sequence[ChatMessage], RequestOptions], AsyncGenerator[str | ResponsePart | Finish, None]]"
)
"""An async generator function that yields texts or parts as they come and, if it knows how the answer ended, a
:class:`~partstream.outputs.Finish` last."""


class FunctionProvider(LanguageModelChatProvider):
    """Offers one model, for which a function answers; made by :func:`chat_model`.

    Attributes:
        information: The model's information.
    """

    def __init__(
        self,
        answer: AnswerFunction,
        information: LanguageModelChatInformation,
        count_tokens: Callable[[str | ChatMessage], int],
    ) -> None:
        self.information = information
        self._answer = answer
        self._count_tokens = count_tokens

    async def provide_language_model_chat_information(
        self, silent: bool, token: CancellationToken
    ) -> Sequence[LanguageModelChatInformation]:
        """Lists the one model."""
        del silent, token
        return (self.information,)

    async def provide_language_model_chat_response(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: Progress,
        token: CancellationToken,
    ) -> None:
        """Runs the function; a cancellation closes it where it is suspended, and its `finally` blocks run.

        A `Finish` that the function yields goes to `progress`, if that is a FinishingProgress; its error is raised.

        Raises:
            TypeError: The function yielded an object that is no text, no part and no `Finish`.
            LanguageModelError: The error of the `Finish` that the function yielded.
            Exception: Any error that the function raises.
        """
        del model
        await run_until_cancelled(self._report(messages, options, progress), token)

    async def provide_token_count(
        self, model: LanguageModelChatInformation, text: str | ChatMessage, token: CancellationToken
    ) -> int:
        """Counts with the function given to :func:`chat_model`."""
        del model, token
        return self._count_tokens(text)

    def token_count(self, model: LanguageModelChatInformation, text: str | ChatMessage) -> TokenCount:
        """Counts with the function given to :func:`chat_model`; the count has its source."""
        del model
        is_estimate = self._count_tokens is estimate_tokens
        return TokenCount(self._count_tokens(text), CountSource.ESTIMATED if is_estimate else CountSource.COUNTED)

    async def _report(self, messages: Sequence[ChatMessage], options: RequestOptions, progress: Progress) -> None:
        draining = progress if isinstance(progress, DrainingProgress) else None
        async with aclosing(self._answer(messages, options)) as answer:
            if isinstance(progress, CheckedProgress):
                progress.follow(answer)
            async for piece in answer:
                if isinstance(piece, Finish):
                    _finish(progress, piece)
                    continue
                progress.report(_as_part(piece))
                if draining is not None:
                    await draining.drain()


def chat_model(
    *,
    name: str,
    id: str | None = None,  # noqa: A002 - the name that the model's field has
    family: str | None = None,
    version: str = "1",
    max_input_tokens: int = 128_000,
    max_output_tokens: int = 16_000,
    image_input: bool = False,
    tool_calling: bool = True,
    count_tokens: Callable[[str | ChatMessage], int] = estimate_tokens,
    **extra: Any,
) -> Callable[[AnswerFunction], FunctionProvider]:
    """Makes a provider of the decorated async generator function.

    Args:
        name: The name in the model picker.
        id: The model's id; by default, the function's name.
        family: The model family, by which Copilot picks its prompt; by default, the id.
        version: The version within the family.
        max_input_tokens: The most tokens that a prompt may hold.
        max_output_tokens: The most tokens that an answer may hold.
        image_input: Whether messages may hold images.
        tool_calling: Whether the function may yield tool calls. True by default, because Copilot's agent mode lists
            only models that call tools; the function need not yield any.
        count_tokens: Counts the tokens of a text or a message; by default, an estimate.
        extra: `tooltip`, `detail`, and other fields that VS Code reads (`isUserSelectable`, ...).

    Raises:
        TypeError: The decorated object is not an async generator function.
    """

    def decorate(answer: AnswerFunction) -> FunctionProvider:
        if not inspect.isasyncgenfunction(answer):
            what = getattr(answer, "__name__", repr(answer))
            raise TypeError(f"got {what}, expected an async generator function: an `async def` that contains a `yield`")
        model_id = id or answer.__name__
        information = LanguageModelChatInformation(
            id=model_id,
            name=name,
            family=family or model_id,
            version=version,
            max_input_tokens=max_input_tokens,
            max_output_tokens=max_output_tokens,
            tooltip=extra.pop("tooltip", None),
            detail=extra.pop("detail", None),
            capabilities=LanguageModelChatCapabilities(image_input=image_input, tool_calling=tool_calling),
            extra=extra,
        )
        return FunctionProvider(answer, information, count_tokens)

    return decorate


def text_of(message: ChatMessage) -> str:
    """The text of a message: its joined text parts."""
    return "".join(part.value for part in message.content if isinstance(part, TextPart))


def user_request(messages: Sequence[ChatMessage]) -> str:
    """The person's last request, without the context that the host added. Empty if no user message has text.

    Copilot sends a person's words in a message with context, between `<userRequest>` tags; other consumers send the
    words alone.
    """
    texts = (text_of(message) for message in reversed(messages) if message.role is Role.USER)
    last = next(filter(None, texts), "")
    request = _USER_REQUEST.search(last)
    return request[1].strip() if request else last


def _finish(progress: Progress, finish: Finish) -> None:
    if isinstance(progress, FinishingProgress):
        progress.finish(finish)
    if finish.error is not None:
        raise finish.error


def _as_part(piece: object) -> ResponsePart:
    if isinstance(piece, str):
        return text_part(piece)
    if isinstance(piece, TextPart | ThinkingPart | ToolCallPart | DataPart):
        return piece
    raise TypeError(
        f"the answer function yielded a {type(piece).__name__}, expected a text, a part of a response or a Finish"
    )
