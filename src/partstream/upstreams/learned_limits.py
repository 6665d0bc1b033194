"""The input limits that upstreams gave away when they refused a request, in the place of those of the list."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from partstream.provider import LanguageModelChatInformation
    from partstream.tokens.accounting import TokenAccounting

__all__ = ["with_learned_limits"]


def with_learned_limits(
    models: Iterable[LanguageModelChatInformation], accounting: TokenAccounting
) -> tuple[LanguageModelChatInformation, ...]:
    """The models, each with the lower of the limits that its list and its upstream's refusals say."""
    learned = accounting.learned_limits()
    return tuple(_limited(model, learned.get(model.id)) for model in models)


def _limited(model: LanguageModelChatInformation, learned: int | None) -> LanguageModelChatInformation:
    """The model with what was learned, which its tooltip says."""
    if learned is None or learned >= model.max_input_tokens:
        return model
    told = f"Input: {learned:,} tokens at the most, as the server said when it refused more"
    return replace(model, max_input_tokens=learned, tooltip="\n".join(filter(None, (model.tooltip, told))))
