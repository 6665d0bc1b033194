"""The settings that say which models are offered, and what a person says of them."""

from __future__ import annotations

from typing import Any, Final

from partstream.models.filters import ModelOverride
from partstream.models.limits import LimitPolicy
from partstream.settings.kinds import (
    BOOLEAN,
    STRINGS,
    TEXT,
    ConfigurationError,
    Kind,
    ValueForm,
    choice,
    fraction,
    text,
    whole,
)
from partstream.settings.row import Contents, Dialog, Nesting, Setting

__all__ = ["MODEL_LIST_ROWS", "MODEL_ROWS"]


def _id(value: str, where: str) -> str:
    if not value:
        raise ConfigurationError(where, "nothing", "the model as the server names it")
    return value


MODEL_ROWS: Final = (
    Setting("id", text(_id), "How the server calls the model", is_required=True),
    Setting("name", TEXT, "What the model picker shows"),
    Setting("family", TEXT, "The family, such as `gpt-5` or `claude`; Copilot picks its prompt and edit tools by it"),
    Setting("version", TEXT, "The version"),
    Setting("detail", TEXT, "What stands beside the name", otherwise="the name of the group"),
    Setting("contextWindow", whole(), "The most tokens of prompt and answer together"),
    Setting("maxInputTokens", whole(), "The most tokens of a prompt"),
    Setting(
        "maxOutputTokens",
        whole(),
        "The most tokens of an answer, sent with every request to this model",
        otherwise="the general `maxOutputTokens`",
    ),
    Setting("imageInput", BOOLEAN, "Whether prompts may hold images"),
    Setting("toolCalling", BOOLEAN, "Whether the model calls tools; agent mode lists only those that do"),
    Setting("reasoningEfforts", STRINGS, "The levels of reasoning that can be asked for, from the least"),
)
"""What a person says of one model; what is left out is as the server says it."""


def _models(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise ConfigurationError(where, type(value).__name__, "a list of models")
    for number, model in enumerate(value):
        if not isinstance(model, str | dict):
            raise ConfigurationError(
                f"{where}[{number}]", type(model).__name__, "a model's id, or an object with an id"
            )
    return value


def _overrides(models: list[dict[str, Any]], where: str) -> dict[str, ModelOverride]:
    overrides: dict[str, ModelOverride] = {}
    for number, fields in enumerate(models):
        model_id = fields.pop("id")
        if model_id in overrides:
            raise ConfigurationError(f"{where}[{number}].id", repr(model_id), "an id that no model before has")
        overrides[model_id] = ModelOverride(**fields)
    return overrides


MODEL_LIST_ROWS: Final = (
    Setting(
        "models",
        Kind(ValueForm.LIST, _models, {"type": "array"}),
        "Models by id, or objects that say what the server does not say of them; they add to its list and hide nothing",
        sets="selection.overrides",
        contents=Contents(Nesting.LIST, MODEL_ROWS, _overrides, short_for="id"),
        dialog=Dialog(
            "Models",
            snippet={
                "label": "New model",
                "description": "What you leave out comes from the server.",
                "body": [{"id": "$1", "name": "$2", "toolCalling": "^${3|true,false|}"}],
            },
        ),
    ),
    Setting(
        "allowModels",
        STRINGS,
        "Patterns of the models to offer: `*` is any text, `?` one character",
        otherwise="all",
        sets="selection.allow",
        dialog=Dialog("Allowed models"),
    ),
    Setting(
        "denyModels",
        STRINGS,
        "Patterns of the models not to offer; stronger than `allowModels`",
        otherwise="none",
        sets="selection.deny",
        dialog=Dialog("Denied models"),
    ),
    Setting(
        "hiddenModels",
        STRINGS,
        "Patterns of the models that programs can use and the picker does not show",
        otherwise="none",
        sets="selection.hidden",
        dialog=Dialog("Hidden models"),
    ),
    Setting(
        "defaultModel",
        TEXT,
        "The model that comes first, and is taken when nobody chooses",
        sets="selection.default",
        dialog=Dialog("Default model"),
    ),
    Setting(
        "limitPolicy",
        choice(LimitPolicy),
        "How much of the context window is for the prompt",
        "reserve-output",
        sets="selection.limits.policy",
        dialog=Dialog("Limit policy"),
    ),
    Setting(
        "limitFraction",
        fraction(),
        "The part of the window that the policy `fraction` leaves for the prompt",
        0.85,
        sets="selection.limits.fraction",
        dialog=Dialog("Limit fraction"),
    ),
    Setting(
        "limitReasoning",
        whole(0),
        "Tokens that `reserve-output` leaves for reasoning beside the output limit, for servers that do not count "
        "reasoning as output",
        default=0,
        sets="selection.limits.reasoning_tokens",
        dialog=Dialog("Reasoning reserve"),
    ),
)
"""What a person says of the list of models."""
