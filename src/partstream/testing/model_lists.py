"""The lists of the replay upstream's models, which are the scenarios, in the forms of real servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.testing.scripted import MODELS
from partstream.testing.token_rule import INPUT_PRICE, OUTPUT_PRICE

if TYPE_CHECKING:
    from partstream.provider import LanguageModelChatInformation

__all__ = ["gateway_config", "model_list"]

_PRICES: Final = {"input": INPUT_PRICE, "output": OUTPUT_PRICE}


def model_list() -> dict[str, Any]:
    """The list in OpenAI's form, with the additional fields of the AI Gateway for each model."""
    return {"object": "list", "data": [_entry(model) for model in MODELS]}


def _entry(model: LanguageModelChatInformation) -> dict[str, Any]:
    return {
        "id": model.id,
        "object": "model",
        "created": 0,
        "owned_by": "partstream",
        "name": model.name,
        "description": None,
        "context_window": model.max_input_tokens,
        "max_tokens": model.max_output_tokens,
        "type": "language",
        "tags": ["tool-use", "vision", "reasoning"],
        "pricing": _PRICES,
    }


def gateway_config(version: str) -> dict[str, Any]:
    """The list for the AI Gateway's own client, which accepts only models of its version of the specification.

    Source: `gateway-config.json` of the recordings.
    """
    return {
        "models": [
            {
                "id": model.id,
                "name": model.name,
                "description": None,
                "pricing": _PRICES,
                "specification": {
                    "specificationVersion": f"v{version}",
                    "provider": "partstream",
                    "modelId": model.id,
                },
                "modelType": "language",
            }
            for model in MODELS
        ]
    }
