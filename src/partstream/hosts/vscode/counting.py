"""Counts tokens with a provider and never fails: an estimate replaces a count that fails; knows no wire."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import MOST_TOKENS, as_amount, as_count
from partstream.hosts.vscode.failures import is_providers_own
from partstream.runtime.progress import said_by
from partstream.tokens import CountSource, MessageCounter, TokenCount, estimate_tokens
from partstream.tokens.counting import FactoredTokenCounts, SourcedTokenCounts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from partstream.lm.cancellation import CancellationToken
    from partstream.lm.messages import ChatMessage
    from partstream.lm.provider import LanguageModelChatInformation, LanguageModelChatProvider
    from partstream.vscode import rpc_types as wire

__all__ = ["COUNT_SECONDS", "count_all", "counting_of", "estimate"]

COUNT_SECONDS: Final = 10.0
"""The seconds that a provider may take to count the texts of one request."""

_MOST_FACTOR: Final = 1000.0

_logger = logging.getLogger("partstream.hosts.vscode")


async def count_all(
    provider: LanguageModelChatProvider,
    model: LanguageModelChatInformation,
    items: Iterable[str | ChatMessage],
    token: CancellationToken,
) -> tuple[list[TokenCount], BaseException | None]:
    """The counts, and the first error. An estimate replaces a failed count, because an error would end the turn.

    After :data:`COUNT_SECONDS`, all other counts are estimates.
    """
    counts: list[TokenCount] = []
    failure: BaseException | None = None
    count = _count_at_once if _is_a(provider, SourcedTokenCounts) else _count_in_time
    ends = asyncio.get_running_loop().time() + COUNT_SECONDS
    for item in items:
        try:
            counts.append(_checked(await count(provider, model, item, token, ends)))
        except BaseException as error:
            if not is_providers_own(error, token):
                raise
            failure = failure or error
            counts.append(_without_provider(item, model.family))
    return counts, failure


async def _count_at_once(
    provider: Any,
    model: LanguageModelChatInformation,
    item: str | ChatMessage,
    token: CancellationToken,
    ends: float,
) -> TokenCount:
    """The count of a provider with :class:`SourcedTokenCounts`."""
    del token, ends
    count: TokenCount = provider.token_count(model, item)
    return count


async def _count_in_time(
    provider: LanguageModelChatProvider,
    model: LanguageModelChatInformation,
    item: str | ChatMessage,
    token: CancellationToken,
    ends: float,
) -> TokenCount:
    """The count of any provider, until `ends` in the time of the event loop."""
    async with asyncio.timeout_at(ends):
        return TokenCount(await provider.provide_token_count(model, item, token), CountSource.COUNTED)


def _checked(count: TokenCount) -> TokenCount:
    """A provider's count.

    Raises:
        TypeError: It is no number of tokens.
    """
    tokens = as_count(count.tokens)
    if tokens is None:
        raise TypeError(f"the token count is {count.tokens!r:.80}, expected a whole number from 0 to {MOST_TOKENS:,}")
    return TokenCount(tokens, CountSource(count.source))


def _is_a(provider: object, ability: type) -> bool:
    """Whether a provider has an ability; False if looking for it fails, for example in a property."""
    try:
        return isinstance(provider, ability)
    except BaseException as error:
        _logger.warning("a provider failed when its abilities were looked up: %s", said_by(error))
        return False


def estimate(item: str | ChatMessage) -> TokenCount:
    """An estimate for an unknown model."""
    return TokenCount(estimate_tokens(item), CountSource.ESTIMATED)


def counting_of(
    provider: LanguageModelChatProvider, models: Iterable[LanguageModelChatInformation]
) -> list[wire.Counting]:
    """How a provider counts texts, for each of its models; does not use anybody's texts."""
    return [
        {
            "group": None,
            "model": model.id,
            "family": model.family,
            "maxInputTokens": model.max_input_tokens,
            "source": _source(provider, model).value,
            "factor": _factor(provider, model),
        }
        for model in models
    ]


def _source(provider: LanguageModelChatProvider, model: LanguageModelChatInformation) -> CountSource:
    """The source of a provider's counts: `counted` if it does not tell, `estimated` if it fails."""
    try:
        if not isinstance(provider, SourcedTokenCounts):
            return CountSource.COUNTED
        return CountSource(provider.token_count(model, "a few words").source)
    except BaseException as error:
        _logger.warning("a provider did not tell the source of its token counts: %s", said_by(error))
        return CountSource.ESTIMATED


def _factor(provider: LanguageModelChatProvider, model: LanguageModelChatInformation) -> float | None:
    """The factor of a provider's estimates; None if it has none or fails."""
    try:
        if isinstance(provider, FactoredTokenCounts):
            return as_amount(provider.token_count_factor(model), _MOST_FACTOR)
    except BaseException as error:
        _logger.warning("a provider did not tell the factor of its token counts: %s", said_by(error))
    return None


def _without_provider(item: str | ChatMessage, family: str) -> TokenCount:
    """The count for a model whose provider fails to count."""
    counter = MessageCounter(family)
    return counter.count_text(item) if isinstance(item, str) else counter.count_message(item)
