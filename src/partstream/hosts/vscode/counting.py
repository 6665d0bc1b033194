"""Counts tokens with a provider and never fails: an estimate replaces a count that fails; knows no wire."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.tokens import CountSource, MessageCounter, TokenCount, estimate_tokens
from partstream.tokens.sourced import FactoredTokenCounts, SourcedTokenCounts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from partstream.cancellation import CancellationToken
    from partstream.hosts.vscode import wire
    from partstream.messages import ChatMessage
    from partstream.provider import LanguageModelChatInformation, LanguageModelChatProvider

__all__ = ["count_all", "counting_of", "estimate"]


async def count_all(
    provider: LanguageModelChatProvider,
    model: LanguageModelChatInformation,
    items: Iterable[str | ChatMessage],
    token: CancellationToken,
) -> tuple[list[TokenCount], Exception | None]:
    """The counts, and the first error. An estimate replaces a failed count, because an error would end the turn."""
    sourced = provider if isinstance(provider, SourcedTokenCounts) else None
    counts: list[TokenCount] = []
    failure: Exception | None = None
    for item in items:
        try:
            if sourced is not None:
                counts.append(sourced.token_count(model, item))
            else:
                tokens = await provider.provide_token_count(model, item, token)
                counts.append(TokenCount(tokens, CountSource.COUNTED))
        except Exception as error:
            failure = failure or error
            counts.append(_without_provider(item, model.family))
    return counts, failure


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
            "factor": provider.token_count_factor(model) if isinstance(provider, FactoredTokenCounts) else None,
        }
        for model in models
    ]


def _source(provider: LanguageModelChatProvider, model: LanguageModelChatInformation) -> CountSource:
    """The source of a provider's counts: `counted` if it does not tell, `estimated` if it fails."""
    if not isinstance(provider, SourcedTokenCounts):
        return CountSource.COUNTED
    try:
        return provider.token_count(model, "a few words").source
    except Exception:
        return CountSource.ESTIMATED


def _without_provider(item: str | ChatMessage, family: str) -> TokenCount:
    """The count for a model whose provider fails to count."""
    counter = MessageCounter(family)
    return counter.count_text(item) if isinstance(item, str) else counter.count_message(item)
