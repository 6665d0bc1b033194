"""The options of the providers behind the gateway, by the creator that a model's id names.

Source: the options of `@ai-sdk/openai` 3.0.141, `@ai-sdk/anthropic` 3.0.138, `@ai-sdk/google` 3.0.141 and
`@ai-sdk/xai` 3.0.138, and "Migrating from providerOptions" in the documentation of `ai` 7.0.173.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.conversation.chat_request import ChatRequest

__all__ = ["creator_of", "effort_options", "merged", "own_options", "shown_reasoning"]


def creator_of(model_id: str) -> str:
    """Who made a model: what stands before the slash of its id; empty for an id without one."""
    creator, slash, _ = model_id.partition("/")
    return creator if slash else ""


def own_options(request: ChatRequest) -> dict[str, Any]:
    """The facts of a request that only a provider has an option for."""
    if creator_of(request.model_id) != "openai":
        return {}
    # OpenAI stores answers unless told otherwise; unstored, it gives its reasoning to the client, encrypted.
    options: dict[str, Any] = {} if request.settings.stores else {"store": False}
    if request.cache_key is not None:
        options["promptCacheKey"] = request.cache_key
    return {"openai": options} if options else {}


def shown_reasoning(model_id: str, effort: str) -> dict[str, Any]:
    """The options that make a provider show its reasoning, if it shows none by default."""
    options = _SHOWN.get(creator_of(model_id))
    return {} if options is None or effort == "none" else {creator_of(model_id): options}


def effort_options(model_id: str, effort: str) -> dict[str, Any] | None:
    """A reasoning effort in the words of the model's creator, for versions without a word of their own.

    Returns:
        None for a creator whose words are not known.
    """
    creator = creator_of(model_id)
    options = _EFFORTS.get(creator)
    return None if options is None else {creator: options(effort)}


def merged(*options: Mapping[str, Any]) -> dict[str, Any]:
    """Merges objects, at any depth; later values win."""
    result: dict[str, Any] = {}
    for one in options:
        for name, value in one.items():
            before = result.get(name)
            if isinstance(before, Mapping) and isinstance(value, Mapping):
                value = merged(before, value)  # noqa: PLW2901 - the value that is kept
            result[name] = value
    return result


def _anthropic(effort: str) -> dict[str, Any]:
    if effort == "none":
        return {"thinking": {"type": "disabled"}}
    return {"thinking": {"type": "adaptive"}, "effort": effort}


def _google(effort: str) -> dict[str, Any]:
    return {"thinkingConfig": {"thinkingBudget": 0} if effort == "none" else {"thinkingLevel": effort}}


_EFFORTS: Final[Mapping[str, Callable[[str], dict[str, Any]]]] = {
    "anthropic": _anthropic,
    "google": _google,
    "openai": lambda effort: {"reasoningEffort": effort},
    "xai": lambda effort: {"reasoningEffort": effort},
}

_SHOWN: Final[Mapping[str, dict[str, Any]]] = {
    "google": {"thinkingConfig": {"includeThoughts": True}},
    "openai": {"reasoningSummary": "auto"},
}
