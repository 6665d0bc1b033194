"""The probes: what a provider is asked beside answers, and the findings."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from partstream.devtools.conformance.checks import BrokenPromise
from partstream.lm.cancellation import CancellationToken, CancellationTokenSource
from partstream.lm.messages import ChatMessage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.lm.provider import LanguageModelChatInformation, LanguageModelChatProvider

__all__ = ["count_tokens", "list_models"]

_BOUND: Final = 4
"""By how many tokens a longer text may have fewer: tokens join over the seam."""
_TEXTS: Final = ("", "Hello", "Grüße, 你好, 👋", "\ud800", "a" * 10_000, "\x00\n\t", "<|endoftext|>")


async def list_models(
    provider: LanguageModelChatProvider, _: LanguageModelChatInformation, seconds: float
) -> Mapping[str, list[BrokenPromise]]:
    """Lists the models twice, then with a cancelled token, and listens to the event of changes meanwhile."""
    changes: list[object] = []
    event = provider.on_did_change_language_model_chat_information
    subscription = None if event is None else event(changes.append)
    findings: dict[str, list[BrokenPromise]] = {
        name: [] for name in ("models.listed", "models.same-twice", "models.cancelled", "models.no-change-event")
    }
    try:
        first, wrong = await _listed(provider, seconds)
        findings["models.listed"] += wrong
        again, _failed = await _listed(provider, seconds)
        if [one.id for one in first] != [one.id for one in again]:
            findings["models.same-twice"].append(BrokenPromise(f"first {_ids(first)}, then {_ids(again)}"))
        if changes:
            findings["models.no-change-event"].append(BrokenPromise(f"the event fired {len(changes)} times"))
        findings["models.cancelled"] += await _cancelled(provider, seconds)
    finally:
        if subscription is not None:
            subscription.dispose()
    return findings


async def _listed(
    provider: LanguageModelChatProvider, seconds: float
) -> tuple[list[LanguageModelChatInformation], list[BrokenPromise]]:
    try:
        async with asyncio.timeout(seconds):
            models = list(await provider.provide_language_model_chat_information(True, CancellationToken()))
    except TimeoutError:
        return [], [BrokenPromise(f"no list within {seconds:g} seconds", is_environment=True)]
    except (Exception, SystemExit) as error:
        return [], [BrokenPromise(f"listing the models failed with {error!r}")]
    ids = [one.id for one in models]
    twice = sorted({one for one in ids if ids.count(one) > 1})
    return models, [BrokenPromise(f"the id {one!r} stands in the list {ids.count(one)} times") for one in twice]


async def _cancelled(provider: LanguageModelChatProvider, seconds: float) -> list[BrokenPromise]:
    source = CancellationTokenSource()
    source.cancel()
    try:
        async with asyncio.timeout(seconds):
            await provider.provide_language_model_chat_information(True, source.token)
    except TimeoutError:
        return [BrokenPromise(f"a cancelled list did not end within {seconds:g} seconds")]
    except SystemExit as error:
        return [BrokenPromise(f"a cancelled list ended with {error!r}")]
    except Exception:
        return []  # a cancelled list may fail: nobody reads it
    return []


def _ids(models: list[LanguageModelChatInformation]) -> str:
    return ", ".join(one.id for one in models[:5]) or "none"


async def count_tokens(
    provider: LanguageModelChatProvider, model: LanguageModelChatInformation, seconds: float
) -> Mapping[str, list[BrokenPromise]]:
    """Counts the tokens of texts and of a message, and of growing texts."""
    findings: dict[str, list[BrokenPromise]] = {"tokens.count": [], "tokens.monotone": []}
    try:
        async with asyncio.timeout(seconds):
            await _count_all(provider, model, findings)
    except TimeoutError:
        findings["tokens.count"].append(BrokenPromise(f"no counts within {seconds:g} seconds", is_environment=True))
    return findings


async def _count_all(
    provider: LanguageModelChatProvider,
    model: LanguageModelChatInformation,
    findings: Mapping[str, list[BrokenPromise]],
) -> None:
    for text in (*_TEXTS, ChatMessage.user("Hello")):
        _, problem = await _counted(provider, model, text)
        if problem:
            findings["tokens.count"].append(BrokenPromise(problem))
    words = "The quick brown fox jumps over the lazy dog. "
    before = 0
    for times in range(1, 6):
        count, problem = await _counted(provider, model, words * times)
        if not problem and count < before - _BOUND:
            what = f"{times} sentences have {count} tokens, {times - 1} have {before}"
            findings["tokens.monotone"].append(BrokenPromise(what))
        before = count


async def _counted(
    provider: LanguageModelChatProvider, model: LanguageModelChatInformation, text: str | ChatMessage
) -> tuple[int, str]:
    shown = repr(text)[:30]
    try:
        count: Any = await provider.provide_token_count(model, text, CancellationToken())
    except (Exception, SystemExit) as error:
        return 0, f"counting {shown} failed with {error!r}"
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        return 0, f"counting {shown} gave {count!r}"
    return count, ""
