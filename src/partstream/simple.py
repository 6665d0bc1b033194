"""A provider from one plain function: what a Python developer writes to have a model in the picker.

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
from partstream.parts import DataPart, TextPart, ThinkingPart, ToolCallPart
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
"""An async generator function: it yields text, or parts, as they come; and, if it knows how the model's answer ended,
a :class:`~partstream.outputs.Finish` as the last of them."""


class FunctionProvider(LanguageModelChatProvider):
    """Offers one model, which a function answers for; made by :func:`chat_model`.

    Attributes:
        information: The model.
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
        """The one model."""
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
        """Runs the function; cancellation closes it where it stands, so its `finally` blocks run.

        A `Finish` that it yields goes to a progress that takes one; the error of a `Finish` is raised.

        Raises:
            TypeError: It yielded something that is neither text, a part nor a `Finish`.
            LanguageModelError: The error of the `Finish` that it yielded.
            Exception: Whatever the function raises.
        """
        del model
        await run_until_cancelled(self._report(messages, options, progress), token)

    async def provide_token_count(
        self, model: LanguageModelChatInformation, text: str | ChatMessage, token: CancellationToken
    ) -> int:
        """Counts with the function that :func:`chat_model` was given."""
        del model, token
        return self._count_tokens(text)

    def token_count(self, model: LanguageModelChatInformation, text: str | ChatMessage) -> TokenCount:
        """The same, with its source."""
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
    """Makes a provider of the async generator function below it.

    Args:
        name: What the model picker shows.
        id: The model's id; without one, the function's name.
        family: The model family, by which Copilot picks its prompt; without one, the id.
        version: The version within the family.
        max_input_tokens: The most tokens a prompt may hold.
        max_output_tokens: The most tokens an answer may hold.
        image_input: Whether messages may hold images.
        tool_calling: Whether the function yields tool calls. Copilot's agent mode lists a model only when this is
            true, so it is unless said otherwise; a model that calls no tool is free not to.
        count_tokens: Counts a text or a message; without one, an estimate.
        extra: `tooltip` and `detail`, and whatever else VS Code reads (`isUserSelectable`, ...).

    Raises:
        TypeError: What it decorates is no async generator function.
    """

    def decorate(answer: AnswerFunction) -> FunctionProvider:
        if not inspect.isasyncgenfunction(answer):
            what = getattr(answer, "__name__", repr(answer))
            raise TypeError(f"got {what}, expected an async generator function: `async def` with a `yield` in it")
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
    """The text of a message: its text parts joined."""
    return "".join(part.value for part in message.content if isinstance(part, TextPart))


def user_request(messages: Sequence[ChatMessage]) -> str:
    """What the person asked last, without what the host put around it.

    Copilot sends a person's words inside a message of context, between `<userRequest>` tags; other consumers send them
    as they are. Empty when no user message has text.
    """
    texts = (text_of(message) for message in reversed(messages) if message.role is Role.USER)
    said = next(filter(None, texts), "")
    request = _USER_REQUEST.search(said)
    return request[1].strip() if request else said


def _finish(progress: Progress, finish: Finish) -> None:
    if isinstance(progress, FinishingProgress):
        progress.finish(finish)
    if finish.error is not None:
        raise finish.error


def _as_part(piece: object) -> ResponsePart:
    if isinstance(piece, str):
        return TextPart(piece)
    if isinstance(piece, TextPart | ThinkingPart | ToolCallPart | DataPart):
        return piece
    raise TypeError(
        f"got a yielded {type(piece).__name__}, expected text, a part that a response may hold, or a Finish"
    )
