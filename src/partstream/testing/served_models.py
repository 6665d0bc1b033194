"""The models of the replay upstream, which are the scenarios, as documents of a server tell of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.protocols.served_documents import ServedModel
from partstream.testing.scripted import MODELS
from partstream.testing.token_rule import INPUT_PRICE, OUTPUT_PRICE

if TYPE_CHECKING:
    from partstream.provider import LanguageModelChatInformation

__all__ = ["SERVED_MODELS"]


def _served(model: LanguageModelChatInformation) -> ServedModel:
    return ServedModel(
        model.id,
        model.name,
        model.max_input_tokens,
        model.max_output_tokens,
        image_input=True,
        tool_calling=True,
        thinking=True,
        input_price=INPUT_PRICE,
        output_price=OUTPUT_PRICE,
    )


SERVED_MODELS: Final = tuple(map(_served, MODELS))
"""The scenarios."""
