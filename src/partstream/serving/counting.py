"""Counts the tokens of requests and answers with the provider's own count; an estimate replaces one that fails."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from partstream.codec.checks import as_count
from partstream.lm.parts import Usage
from partstream.serving.provider_errors import is_cancellation_of_ours
from partstream.tokens import MessageCounter

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from partstream.lm.cancellation import CancellationToken
    from partstream.lm.messages import ChatMessage, RequestOptions
    from partstream.lm.outputs import InboundRequest
    from partstream.lm.provider import LanguageModelChatInformation
    from partstream.serving.models import CataloguedModel

__all__ = ["COUNT_SECONDS", "RequestCounter", "counted_request", "counted_usage"]

COUNT_SECONDS: Final = 10.0
"""The seconds that a provider may take to count the messages of one request."""

_logger = logging.getLogger("partstream.serving")


@runtime_checkable
class RequestCounter(Protocol):
    """A provider that counts a request as a whole, with its tools."""

    async def provide_request_token_count(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        token: CancellationToken,
    ) -> int:
        """The tokens of a request."""
        ...


async def counted_request(model: CataloguedModel, asked: InboundRequest, token: CancellationToken) -> int:
    """The tokens of a request: as the provider counts it, else of its messages as it counts those, and of its tools."""
    provider = model.provider
    if isinstance(provider, RequestCounter):
        try:
            async with asyncio.timeout(COUNT_SECONDS):
                return await provider.provide_request_token_count(
                    model.information, asked.messages, asked.options, token
                )
        except TimeoutError:
            _logger.warning("the provider %s did not count within %g s", model.provider_name, COUNT_SECONDS)
    around = MessageCounter(model.information.family).count_request((), asked.options.tools).tokens
    return around + sum(await _count_all(model, asked.messages, token))


async def counted_usage(
    model: CataloguedModel, asked: InboundRequest, answer: ChatMessage, length: float, token: CancellationToken
) -> Usage:
    """The tokens of an answer whose provider reported none.

    Args:
        model: The model.
        asked: The request.
        answer: The answer, or its beginning.
        length: The ratio of the whole answer's text to that of `answer`.
        token: Cancelled when nobody waits any more.
    """
    around = MessageCounter(model.information.family).count_request((), asked.options.tools).tokens
    *prompt, said = await _count_all(model, (*asked.messages, answer), token)
    given, completion = around + sum(prompt), round(said * length)
    return Usage(given, completion, given + completion)


async def _count_all(model: CataloguedModel, items: Iterable[ChatMessage], token: CancellationToken) -> list[int]:
    counts: list[int] = []
    ends = asyncio.get_running_loop().time() + COUNT_SECONDS
    for item in items:
        try:
            async with asyncio.timeout_at(ends):
                said = as_count(await model.provider.provide_token_count(model.information, item, token))
        except BaseException as error:  # the provider's own code; a count must not end an answer
            if is_cancellation_of_ours(error):
                raise
            _logger.warning("the provider %s failed to count: %s", model.provider_name, type(error).__name__)
            said = None
        counts.append(MessageCounter(model.information.family).count_message(item).tokens if said is None else said)
    return counts
