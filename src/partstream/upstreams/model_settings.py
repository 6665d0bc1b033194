"""Reads from JSON which models are offered and what a person says of them: one table for the list, one for a model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from partstream.models.filters import ModelOverride, ModelSelection
from partstream.models.limits import LimitPolicy, LimitSettings
from partstream.upstreams.checks import ConfigurationError, boolean, count, refuse_unknown, string

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["MODEL_LIST_SETTINGS", "MODEL_SETTINGS", "read_model_selection"]


def read_model_selection(settings: Mapping[str, Any]) -> ModelSelection:
    """The selection of settings that hold at most those of :data:`MODEL_LIST_SETTINGS`.

    Raises:
        ConfigurationError: One is unknown, or of the wrong type.
    """
    fields = {
        MODEL_LIST_SETTINGS[name][0]: MODEL_LIST_SETTINGS[name][1](value, name) for name, value in settings.items()
    }
    limits = {name: fields.pop(name) for name in ("policy", "fraction", "reasoning_tokens") if name in fields}
    return ModelSelection(limits=replace(LimitSettings(), **limits), **fields)


def _overrides(value: Any, where: str) -> dict[str, ModelOverride]:
    if not isinstance(value, list):
        raise ConfigurationError(where, type(value).__name__, "a list of models")
    overrides: dict[str, ModelOverride] = {}
    for number, model in enumerate(value):
        place = f"{where}[{number}]"
        model_id, override = _override(model, place)
        if model_id in overrides:
            raise ConfigurationError(f"{place}.id", repr(model_id), "an id that no model before has")
        overrides[model_id] = override
    return overrides


def _override(value: Any, where: str) -> tuple[str, ModelOverride]:
    if isinstance(value, str):
        value = {"id": value}
    if not isinstance(value, dict):
        raise ConfigurationError(where, type(value).__name__, "a model's id, or an object with an id")
    refuse_unknown(value, {"id": None, **MODEL_SETTINGS}, f"{where}.")
    model_id = string(value.get("id", ""), f"{where}.id")
    if not model_id:
        raise ConfigurationError(f"{where}.id", "nothing", "the model as the upstream names it")
    said = {
        field: check(value[name], f"{where}.{name}") for name, (field, check) in MODEL_SETTINGS.items() if name in value
    }
    return model_id, ModelOverride(**said)


def _strings(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ConfigurationError(where, type(value).__name__, "a list of strings")
    return tuple(string(item, f"{where}[{number}]") for number, item in enumerate(value))


def _policy(value: Any, where: str) -> LimitPolicy:
    if value not in list(LimitPolicy):
        raise ConfigurationError(where, repr(value), f"one of {', '.join(LimitPolicy)}")
    return LimitPolicy(value)


def _fraction(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise ConfigurationError(where, repr(value), "a number above 0 and at most 1")
    return float(value)


MODEL_SETTINGS: Final[Mapping[str, tuple[str, Callable[[Any, str], Any]]]] = {
    "name": ("name", string),
    "family": ("family", string),
    "version": ("version", string),
    "detail": ("detail", string),
    "contextWindow": ("context_window", count),
    "maxInputTokens": ("max_input_tokens", count),
    "maxOutputTokens": ("max_output_tokens", count),
    "imageInput": ("image_input", boolean),
    "toolCalling": ("tool_calling", boolean),
    "reasoningEfforts": ("reasoning_efforts", _strings),
}
"""What a person says of one model: our field, and how its value is checked."""

MODEL_LIST_SETTINGS: Final[Mapping[str, tuple[str, Callable[[Any, str], Any]]]] = {
    "models": ("overrides", _overrides),
    "allowModels": ("allow", _strings),
    "denyModels": ("deny", _strings),
    "hiddenModels": ("hidden", _strings),
    "defaultModel": ("default", string),
    "limitPolicy": ("policy", _policy),
    "limitFraction": ("fraction", _fraction),
    "limitReasoning": ("reasoning_tokens", count),
}
"""What a person says of the list: the field of :class:`ModelSelection` or of its limits, and how it is checked."""
