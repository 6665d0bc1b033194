"""The header of the key: both together are refused (docs/wires/anthropic-messages.md#endpoints-and-headers)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from partstream.conversation.preparation import UNKNOWN_CAPABILITIES, ContextEdit, ThinkingForm
from partstream.protocols.anthropic_messages.models import (
    LEAST_BUDGET,
    MILLION,
    AnthropicMessagesSettings,
    ContextEditing,
    KeyHeader,
    Platform,
    Sampling,
    ThinkingAs,
    abilities_of,
    rules_of,
)
from partstream.protocols.anthropic_messages.provider_state import is_thinking
from partstream.protocols.protocol import CountEndpoint, KeyKind, bearer, count_of_fields, key_in_header
from partstream.protocols.read_response import identifier, mapping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from partstream.conversation.preparation import RequestSettings
    from partstream.protocols.anthropic_messages.models import Abilities, ServerRules
    from partstream.protocols.anthropic_messages.provider_state import Wire
    from partstream.protocols.known_servers import KnownServer
    from partstream.protocols.serve import WireRequest


# ---- keys ----

_IN_OWN_HEADER: Final = key_in_header("x-api-key")


def authorize(key: str, kind: KeyKind) -> Mapping[str, str]:
    """The header for a server that nobody knows: a token of an identity provider is always a bearer token."""
    return bearer(key, kind) if kind is KeyKind.OIDC else _IN_OWN_HEADER(key, kind)


def authorize_for(settings: RequestSettings, server: KnownServer | None) -> Callable[[str, KeyKind], Mapping[str, str]]:
    """The function that makes the header, as a person set it and as the server takes it."""
    own = settings.own_settings(AnthropicMessagesSettings)
    if own.key_header is not KeyHeader.AUTO:
        return bearer if own.key_header is KeyHeader.BEARER else _IN_OWN_HEADER
    name = own.messages_server or (None if server is None else server.name)
    wants_bearer = own.platform is not Platform.ANTHROPIC or rules_of(name, "").wants_bearer
    return bearer if wants_bearer else authorize


# ---- request thinking ----
# Asks a model to think, in a form that it takes (docs/wires/anthropic-messages.md#thinking-by-model).

NO_EFFORT: Final = "none"
"""The effort that switches thinking off."""

_LADDER: Final = (NO_EFFORT, "minimal", "low", "medium", "high", "xhigh", "max")
_BUDGETS: Final = {"minimal": 1024, "low": 4096, "medium": 10_000, "high": 16_000, "xhigh": 24_000, "max": 32_000}
_USUAL_BUDGET: Final = _BUDGETS["high"]
"""The tokens of thinking for each effort, for models without one; no effort means `high`."""

SAMPLING: Final = ("temperature", "top_p", "top_k")
_LEAST_TOP_P: Final = 0.95
"""The least `top_p` beside thinking (docs/wires/anthropic-messages.md#thinking-by-model)."""


@dataclass(frozen=True, slots=True)
class ThinkingChoice:
    """What decides how a model is asked to think.

    Attributes:
        own: What a person set.
        effort: The chosen effort, or None.
        abilities: What the model takes.
        rules: What the server takes.
        max_tokens: The most tokens of the answer, thinking included.
        must_call: Whether the model must call a tool.
        messages: The messages of the body.
        may_think: Whether thinking may be asked for at all.
    """

    own: AnthropicMessagesSettings
    effort: str | None
    abilities: Abilities
    rules: ServerRules
    max_tokens: int
    must_call: bool
    messages: Sequence[Wire]
    may_think: bool = True


def thinking_fields(choice: ThinkingChoice) -> Wire:
    """The fields `thinking` and `output_config` of a body, as far as anything is to be said."""
    form = _form(choice)
    thinking = _FORMS[form](choice) if form is not None else None
    effort = _effort(choice, form)
    return ({} if thinking is None else {"thinking": thinking}) | (
        {} if effort is None else {"output_config": {"effort": effort}}
    )


def _form(choice: ThinkingChoice) -> ThinkingAs | None:
    """The form in which thinking is spoken of; None for saying nothing."""
    set_form = choice.own.thinking_as
    if set_form is ThinkingAs.OFF:
        return None
    if set_form is ThinkingAs.DISABLED or choice.effort == NO_EFFORT or not _may_think(choice):
        return ThinkingAs.DISABLED if choice.abilities.can_stop_thinking and _thinks(choice) else None
    form = _chosen_form(choice) if set_form is ThinkingAs.AUTO else set_form
    if form is ThinkingAs.ENABLED and not _fits_budget(choice):
        return None
    return form


def _may_think(choice: ThinkingChoice) -> bool:
    """Whether earlier answers allow thinking (docs/wires/anthropic-messages.md#thinking-that-goes-back)."""
    answers = [message["content"] for message in choice.messages if message["role"] == "assistant"]
    lacks = any(
        any(block["type"] == "tool_use" for block in content) and not any(map(is_thinking, content))
        for content in answers
    )
    return choice.may_think and not (choice.rules.demands_thinking and lacks)


def _thinks(choice: ThinkingChoice) -> bool:
    return choice.abilities.thinking != ()


def _chosen_form(choice: ThinkingChoice) -> ThinkingAs | None:
    forms = choice.abilities.thinking
    is_wished = choice.effort is not None or choice.own.thinking_tokens is not None
    if forms is None:  # nobody knows whether it thinks: it is asked to only where somebody wishes it
        return _AS[choice.rules.thinking] if is_wished else None
    if ThinkingForm.ADAPTIVE in forms and not (choice.own.thinking_tokens and ThinkingForm.BUDGET in forms):
        return ThinkingAs.ADAPTIVE
    return ThinkingAs.ENABLED if ThinkingForm.BUDGET in forms and is_wished else None


_AS: Final = {ThinkingForm.ADAPTIVE: ThinkingAs.ADAPTIVE, ThinkingForm.BUDGET: ThinkingAs.ENABLED}


def _fits_budget(choice: ThinkingChoice) -> bool:
    """Whether a budget fits: not beside a forced call (docs/wires/anthropic-messages.md#tools-and-tool-choice), not
    after an answer that began without thinking, and not in an answer too short for it."""
    if choice.must_call or budget_of(choice) < LEAST_BUDGET:
        return False
    return not choice.abilities.is_claude or _has_begun_with_thinking(choice.messages)


def _has_begun_with_thinking(messages: Sequence[Wire]) -> bool:
    """Whether the answer that is gone on with began with thinking; true where a new one begins."""
    spoken = [index for index, message in enumerate(messages) if message["role"] == "user" and not _is_results(message)]
    current = [message for message in messages[spoken[-1] if spoken else 0 :] if message["role"] == "assistant"]
    return not current or is_thinking(current[0]["content"][0])


def _is_results(message: Wire) -> bool:
    """Whether a message of the user gives results: what else it says there stands beside them, and begins no turn."""
    return any(block["type"] == "tool_result" for block in message["content"])


def budget_of(choice: ThinkingChoice) -> int:
    """The budget in tokens; at most half of the answer where nobody set it, and always less than the answer."""
    if choice.own.thinking_tokens is not None:
        return min(choice.own.thinking_tokens, choice.max_tokens - 1)
    return min(_BUDGETS.get(choice.effort or "", _USUAL_BUDGET), choice.max_tokens // 2)


def _adaptive(choice: ThinkingChoice) -> Wire:
    return {"type": "adaptive", "display": choice.own.thinking_display.value}


def _enabled(choice: ThinkingChoice) -> Wire:
    return {"type": "enabled", "budget_tokens": budget_of(choice), "display": choice.own.thinking_display.value}


def _disabled(_choice: ThinkingChoice) -> Wire:
    return {"type": "disabled"}  # `display` beside it is refused


_FORMS: Final = {ThinkingAs.ADAPTIVE: _adaptive, ThinkingAs.ENABLED: _enabled, ThinkingAs.DISABLED: _disabled}


def _effort(choice: ThinkingChoice, form: ThinkingAs | None) -> str | None:
    """The level of effort in the server's words; None for saying nothing of it."""
    word = choice.effort
    if word is None or form is ThinkingAs.DISABLED or choice.own.thinking_as is ThinkingAs.OFF:
        return None  # Opus 5 refuses high levels beside `disabled` (docs/wires/anthropic-messages.md#thinking-by-model)
    known = choice.abilities.efforts
    if known is None:
        return choice.rules.efforts.get(word, word) if choice.rules.takes_effort and word != NO_EFFORT else None
    return _nearest(word, known)


def _nearest(word: str, known: Sequence[str]) -> str | None:
    """The highest level that a model takes up to a word, else its lowest; None where it takes none."""
    if word in known or not known:
        return word if known else None
    if word not in _LADDER:
        return word
    below = [level for level in known if level in _LADDER and _LADDER.index(level) <= _LADDER.index(word)]
    return below[-1] if below else known[0]


def asks_to_think(body: Mapping[str, Any]) -> bool:
    """Whether a body asks the model to think, in whatever form."""
    thinking = body.get("thinking")
    return isinstance(thinking, dict) and thinking.get("type") in {"adaptive", "enabled"}


def without_refused_sampling(body: Mapping[str, Any], abilities: Abilities) -> dict[str, Any]:
    """The body without the sampling parameters that the model refuses."""
    if abilities.sampling is Sampling.TAKEN:
        return dict(body)
    if abilities.sampling is Sampling.NOT_WHILE_THINKING and not asks_to_think(body):
        return dict(body)
    kept = {"top_p"} if abilities.sampling is Sampling.NOT_WHILE_THINKING and _is_high(body.get("top_p")) else set()
    return {name: value for name, value in body.items() if name not in SAMPLING or name in kept}


def _is_high(top_p: Any) -> bool:
    return isinstance(top_p, int | float) and _LEAST_TOP_P <= top_p <= 1


# ---- context edits ----
# Lets the server shorten a conversation by itself (docs/wires/anthropic-messages.md#betas).
#
# A window below a million tokens fills within one long turn of an agent, and old results of tools are most of it.
# What was taken out, the answer says.

CLEAR_THINKING: Final = "clear_thinking_20251015"
CLEAR_TOOL_USES: Final = "clear_tool_uses_20250919"
COMPACT: Final = "compact_20260112"

_CLEAR_AT: Final = 0.6
"""The part of the window from which on results are taken out: early enough that one more step fits."""
_CLEAR_AT_LEAST: Final = 0.1
"""The part of the window that has to become free: each time, the prompt cache behind it is written anew."""
_USUAL_CLEAR_AT: Final = 100_000
"""Where the window is not known: the server's own number."""
_KEPT_RESULTS: Final = 3
_KEPT_THINKING: Final = 1
"""Turns whose thinking stays; models with a small window keep no more by themselves, but for Opus 4.5."""


def context_management(own: AnthropicMessagesSettings, abilities: Abilities, body: Mapping[str, Any]) -> Wire:
    """The field `context_management` of a body; empty for leaving the conversation as it is.

    Args:
        own: What a person set.
        abilities: What the model and its server take.
        body: The body so far, which says whether the model thinks.
    """
    edits: list[Wire] = []
    if _clears(own, abilities):
        if _may(ContextEdit.CLEAR_THINKING, abilities) and asks_to_think(body):  # has to be the first
            edits.append({"type": CLEAR_THINKING, "keep": {"type": "thinking_turns", "value": _KEPT_THINKING}})
        if _may(ContextEdit.CLEAR_TOOL_RESULTS, abilities) and body.get("tools"):
            edits.append(_clear_results(own, abilities))
    if own.summarize_at is not None and _may(ContextEdit.SUMMARIZE, abilities):
        edits.append({"type": COMPACT, "trigger": _tokens(own.summarize_at)})
    return {"context_management": {"edits": edits}} if edits else {}


def without_thinking_edits(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The body without the edits that only a model that thinks has a use for."""
    management = body.get("context_management")
    if not isinstance(management, dict) or not isinstance(edits := management.get("edits"), list):
        return body
    kept = [edit for edit in edits if not (isinstance(edit, dict) and edit.get("type") == CLEAR_THINKING)]
    rest = {name: value for name, value in body.items() if name != "context_management"}
    return {**rest, "context_management": {**management, "edits": kept}} if kept else rest


def _clears(own: AnthropicMessagesSettings, abilities: Abilities) -> bool:
    if own.context_editing is ContextEditing.AUTO:
        is_small = abilities.window is not None and abilities.window < MILLION
        return is_small and ContextEdit.CLEAR_TOOL_RESULTS in (abilities.edits or ())
    return own.context_editing is ContextEditing.ON


def _may(edit: ContextEdit, abilities: Abilities) -> bool:
    return abilities.edits is None or edit in abilities.edits


def _clear_results(own: AnthropicMessagesSettings, abilities: Abilities) -> Wire:
    at = own.clear_results_at or (int(abilities.window * _CLEAR_AT) if abilities.window else _USUAL_CLEAR_AT)
    least = int(at * _CLEAR_AT_LEAST / _CLEAR_AT)
    return {
        "type": CLEAR_TOOL_USES,
        "trigger": _tokens(at),
        "keep": {"type": "tool_uses", "value": _KEPT_RESULTS},
        "clear_at_least": _tokens(least),
    }


def _tokens(number: int) -> Wire:
    return {"type": "input_tokens", "value": number}


# ---- betas ----
# The header `anthropic-beta`, which names a beta only with its feature (docs/wires/anthropic-messages.md#betas).
#
# Anthropic refuses names that it does not know, so that a name without its feature is a risk without a use.

BETA_HEADER: Final = "anthropic-beta"


def _has_edit(*types: str) -> Callable[[Mapping[str, Any]], bool]:
    def test(body: Mapping[str, Any]) -> bool:
        management = body.get("context_management")
        edits = management.get("edits") if isinstance(management, dict) else None
        return isinstance(edits, list) and any(isinstance(edit, dict) and edit.get("type") in types for edit in edits)

    return test


def _interleaves(body: Mapping[str, Any]) -> bool:
    thinking = body.get("thinking")
    has_budget = isinstance(thinking, dict) and thinking.get("type") == "enabled"
    model = str(body.get("model", ""))
    return has_budget and bool(body.get("tools")) and abilities_of(model, UNKNOWN_CAPABILITIES).interleaves_by_beta


def _has(*names: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda body: any(name in body for name in names)


def _has_budget_of_task(body: Mapping[str, Any]) -> bool:
    output = body.get("output_config")
    return isinstance(output, dict) and "task_budget" in output


FEATURE_BETAS: Final[Mapping[str, Callable[[Mapping[str, Any]], bool]]] = {
    "context-management-2025-06-27": _has_edit(CLEAR_THINKING, CLEAR_TOOL_USES),
    "compact-2026-01-12": _has_edit(COMPACT),
    "interleaved-thinking-2025-05-14": _interleaves,
    "fast-mode-2026-02-01": _has("speed"),
    "task-budgets-2026-03-13": _has_budget_of_task,
    "fallback-credit-2026-07-01": _has("fallback_credit_token"),
    "server-side-fallback-2026-07-01": _has("fallbacks"),
    "cache-diagnosis-2026-04-07": _has("diagnostics"),
}
"""Each beta, and whether its feature is in a body."""


def betas_of(body: Mapping[str, Any]) -> tuple[str, ...]:
    """The betas whose features a body has."""
    return tuple(name for name, has_feature in FEATURE_BETAS.items() if has_feature(body))


def joined(names: Iterable[str]) -> str:
    """The value of the header, each name once."""
    return ",".join(dict.fromkeys(names))


def named(value: str) -> list[str]:
    """The names in the value of a header."""
    return [name.strip() for name in value.split(",") if name.strip()]


# ---- platforms ----
# The places of model, version and betas on each platform (docs/wires/anthropic-messages.md#platforms).

PATH: Final = "/messages"

_IN_BODY: Final = "anthropic_version"


def on_platform(request: WireRequest, platform: Platform) -> WireRequest:
    """A request to Anthropic's own API as a platform takes it."""
    return _WRITERS[platform](request)


def _as_it_is(request: WireRequest) -> WireRequest:
    return request


def _vertex(request: WireRequest) -> WireRequest:
    """Google Vertex AI, below `.../publishers/anthropic/models`."""
    body = {name: value for name, value in request.body.items() if name != "model"}
    path = f"/{quote(request.body['model'], safe='@')}:streamRawPredict"
    return replace(request, path=path, body={_IN_BODY: "vertex-2023-10-16", **body})


def _bedrock(request: WireRequest) -> WireRequest:
    """Amazon Bedrock's InvokeModel; its stream has a framing of its own, so the answer is asked for as a whole."""
    betas = named(request.headers.get(BETA_HEADER, ""))
    body = {name: value for name, value in request.body.items() if name not in {"model", "stream"}}
    return replace(
        request,
        path=f"/model/{quote(request.body['model'], safe='')}/invoke",
        body={_IN_BODY: "bedrock-2023-05-31", **({"anthropic_beta": betas} if betas else {}), **body},
        headers={name: value for name, value in request.headers.items() if name != BETA_HEADER},
    )


_WRITERS: Final[Mapping[Platform, Callable[[WireRequest], WireRequest]]] = {
    Platform.ANTHROPIC: _as_it_is,
    Platform.VERTEX: _vertex,
    Platform.BEDROCK: _bedrock,
}


# ---- count ----
# Counts a request before it is sent (docs/wires/anthropic-messages.md#models-and-counting).

COUNT_PATH: Final = "/messages/count_tokens"

COUNT: Final = CountEndpoint(
    count_of_fields(
        COUNT_PATH,
        frozenset(
            {"model", "messages", "system", "tools", "tool_choice", "thinking", "output_config"}
            | {"cache_control", "context_management"}
        ),
    )
)


# ---- resume ----
# The request that continues a paused answer (docs/wires/anthropic-messages.md#paused-answers).


def resume(request: WireRequest, paused: Mapping[str, Any]) -> WireRequest:
    """The same request with what the model has said so far behind its messages, as it came, and no word of the user's.

    Args:
        request: The request that asked for the answer.
        paused: `content`, the blocks of the answer, and `container` where the server's tools have one.
    """
    body = dict(request.body)
    body["messages"] = [*body.get("messages", ()), {"role": "assistant", "content": list(paused["content"])}]
    container = identifier(mapping(paused, "container"), "id")
    if container is not None:
        asked = body.get("container")
        body["container"] = {**asked, "id": container} if isinstance(asked, Mapping) else container
    return replace(request, body=body)


# ---- answer limits ----
# How long an answer may be: `max_tokens`, required in a request (docs/wires/anthropic-messages.md#output-limit).

UNKNOWN_MODEL_TOKENS: Final = 4096
"""What every model can answer."""
LEAST_TOKENS: Final = 1024
"""The fewest tokens that are asked for: a prompt that leaves less is for the server to refuse."""

_MOST_ASSUMED: Final = 32_000
_MARGIN: Final = 1.1
"""A prompt is estimated before it is sent, and may have more tokens than that."""


def answer_limit(chosen: int | None, abilities: Abilities, input_tokens: int | None, *, reserves: bool) -> int:
    """The most tokens of an answer.

    Args:
        chosen: What somebody chose, or None.
        abilities: What the model takes.
        input_tokens: The expected tokens of the prompt, or None.
        reserves: Whether the server wants prompt and answer to fit into the window together, or cuts what does not.
    """
    limit = chosen or abilities.max_tokens or _assumed(abilities.window)
    if abilities.window is None or input_tokens is None or not (reserves or abilities.reserves):
        return limit
    return max(min(limit, LEAST_TOKENS), min(limit, abilities.window - int(input_tokens * _MARGIN)))


def _assumed(window: int | None) -> int:
    """A limit for a model of which at most the window is known: a quarter of it."""
    return UNKNOWN_MODEL_TOKENS if window is None else max(UNKNOWN_MODEL_TOKENS, min(window // 4, _MOST_ASSUMED))
