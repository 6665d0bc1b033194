"""What differs between servers of this wire in a request, as one value (docs/wires/anthropic-messages.md#servers).

The defaults are what Anthropic takes, and what gateways before it pass on. A server that nobody knows is asked like
that too: it speaks Anthropic's wire, and what it does not know it ignores, or refuses once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.call_ids import CallIdRule, IdForm
from partstream.conversation.capabilities import ThinkingForm

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SERVER_RULES", "ServerRules", "rules_of"]

_SIGNS: Final = IdForm(64, refused=re.compile(r"[^a-zA-Z0-9_-]"))
"""Ids match `^[a-zA-Z0-9_-]+$`, or the request is refused (docs/wires/anthropic-messages.md#ids-of-calls)."""
_OWN_SIGNS: Final = IdForm(256)
"""Kimi gives ids such as `functions.read:0` and wants them back (docs/wires/anthropic-messages.md#ids-of-calls)."""


@dataclass(frozen=True, slots=True)
class ServerRules:
    """What a server takes.

    Attributes:
        call_ids: The ids of calls.
        caches_marks: Whether marks for the prompt cache have an effect; servers without are not sent any.
        takes_documents: Whether it takes PDF files.
        fetches: Whether it fetches images and files from their addresses.
        takes_images: Whether it takes images.
        wants_bearer: Whether the key goes as a bearer token, and not in `x-api-key`.
        reserves: Whether the prompt and `max_tokens` together have to fit into the window, or are cut.
        thinking: The form in which a model that is none of Anthropic's is asked to think.
        efforts: The server's word for a level of effort; a level that is not named stays as it is.
        demands_thinking: Whether an answer that called tools may not go back without its thinking while the model
            thinks.
        takes_effort: Whether models that are none of Anthropic's take `output_config.effort`.
    """

    call_ids: CallIdRule = CallIdRule(_SIGNS, _SIGNS)  # noqa: RUF009 - immutable
    caches_marks: bool = True
    takes_documents: bool = True
    fetches: bool = True
    takes_images: bool = True
    wants_bearer: bool = False
    reserves: bool = False
    thinking: ThinkingForm = ThinkingForm.BUDGET
    efforts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    demands_thinking: bool = False
    takes_effort: bool = True


_LOCAL: Final = ServerRules(
    caches_marks=False,  # they cache prefixes by themselves (docs/wires/anthropic-messages.md#prompt-cache)
    takes_documents=False,  # they drop documents (docs/wires/anthropic-messages.md#tool-results)
    wants_bearer=True,
    reserves=True,
    thinking=ThinkingForm.ADAPTIVE,
)

_KEEPS_IDS: Final = CallIdRule(_OWN_SIGNS, _SIGNS)

SERVER_RULES: Final[Mapping[str, ServerRules]] = MappingProxyType(
    {
        "anthropic": ServerRules(),
        "openrouter": ServerRules(wants_bearer=True),
        "litellm": ServerRules(wants_bearer=True),
        "ollama": replace(
            _LOCAL,
            fetches=False,  # an address gives 400
            efforts=MappingProxyType({"minimal": "low", "xhigh": "high"}),
        ),
        "vllm": _LOCAL,  # the effort becomes `reasoning_effort`
        "sglang": _LOCAL,
        "llama.cpp": _LOCAL,
        "lm-studio": _LOCAL,
        "deepseek": ServerRules(
            caches_marks=False,
            takes_documents=False,
            takes_images=False,
            efforts=MappingProxyType({"minimal": "low", "medium": "high", "xhigh": "high"}),
            demands_thinking=True,  # docs/wires/anthropic-messages.md#thinking-that-goes-back
        ),
        "moonshot": ServerRules(call_ids=_KEEPS_IDS, takes_documents=False, wants_bearer=True),
        "zhipu": ServerRules(takes_documents=False, wants_bearer=True),
        "minimax": ServerRules(takes_documents=False, wants_bearer=True, thinking=ThinkingForm.ADAPTIVE),
    }
)
"""By the names of :data:`partstream.protocols.known_servers.KNOWN_SERVERS`."""

_MODEL_RULES: Final[tuple[tuple[re.Pattern[str], Mapping[str, Any]], ...]] = (
    (re.compile(r"(?:.*/)?kimi", re.IGNORECASE), {"call_ids": _KEEPS_IDS}),
)
"""Models that want something behind every server."""


def rules_of(server: str | None, model_id: str) -> ServerRules:
    """What the server of a model takes.

    Args:
        server: The name of a known server; None for one that nobody knows.
        model_id: The model's id on it.
    """
    rules = SERVER_RULES.get(server or "", _UNKNOWN)
    for models, changes in _MODEL_RULES:
        if models.match(model_id):
            rules = replace(rules, **changes)
    return rules


_UNKNOWN: Final = ServerRules()
