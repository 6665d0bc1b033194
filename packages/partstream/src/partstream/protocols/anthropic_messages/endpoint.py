"""What is around and in the body of a request to the Messages API, by model, server and platform.

In the order of a request: the header of the key, of which Anthropic refuses two together
(docs/wires/anthropic-messages.md#endpoints-and-headers); how a model is asked to think, in a form that it takes
(docs/wires/anthropic-messages.md#thinking-by-model); edits with which the server shortens a conversation by itself, and
the header `anthropic-beta` (docs/wires/anthropic-messages.md#betas), which names a beta only with its feature, because
Anthropic refuses names that it does not know; the places of model, version and betas on each platform
(docs/wires/anthropic-messages.md#platforms); the count of a request
(docs/wires/anthropic-messages.md#models-and-counting); the request that continues a paused response
(docs/wires/anthropic-messages.md#paused-answers); and `max_tokens`, which every request must state
(docs/wires/anthropic-messages.md#output-limit).
"""

from __future__ import annotations
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import quote

from partstream.conversation.preparation import UNKNOWN_CAPABILITIES, ContextEdit, RequestSettings, ThinkingForm
from partstream.protocols.anthropic_messages import models
from partstream.protocols.anthropic_messages.provider_state import Wire, is_thinking
from partstream.protocols.known_servers import KnownServer
from partstream.protocols.protocol import CountEndpoint, KeyKind, bearer, count_of_fields, key_in_header
from partstream.protocols.read_response import identifier, mapping
from partstream.protocols.serve import WireRequest

_IN_OWN_HEADER: Final = key_in_header("x-api-key")


def authorize(key: str, kind: KeyKind) -> Mapping[str, str]:
    """The header for an unknown server: a token of an identity provider is always a bearer token."""
    return bearer(key, kind) if kind is KeyKind.OIDC else _IN_OWN_HEADER(key, kind)


def authorize_for(settings: RequestSettings, server: KnownServer | None) -> Callable[[str, KeyKind], Mapping[str, str]]:
    """The function that makes the header, as a person set it and as the server takes it."""
    own = settings.own_settings(models.AnthropicMessagesSettings)
    if own.key_header is not models.KeyHeader.AUTO:
        return bearer if own.key_header is models.KeyHeader.BEARER else _IN_OWN_HEADER
    name = own.messages_server or (None if server is None else server.name)
    wants_bearer = own.platform is not models.Platform.ANTHROPIC or models.rules_of(name, "").wants_bearer
    return bearer if wants_bearer else authorize


# ---- Thinking ----

NO_EFFORT: Final = "none"
"""The effort that switches thinking off."""

_LADDER: Final = (NO_EFFORT, "minimal", "low", "medium", "high", "xhigh", "max")
_BUDGETS: Final = {"minimal": 1024, "low": 4096, "medium": 10_000, "high": 16_000, "xhigh": 24_000, "max": 32_000}
_USUAL_BUDGET: Final = _BUDGETS["high"]
"""The tokens of thinking for each effort, for models without one; no effort means `high`."""
_LEAST_TOP_P: Final = 0.95
"""The least `top_p` beside thinking (docs/wires/anthropic-messages.md#thinking-by-model)."""


@dataclass(frozen=True, slots=True)
class ThinkingChoice:
    """What decides how a model is asked to think; `max_tokens` limits the response with its thinking."""

    own: models.AnthropicMessagesSettings
    effort: str | None
    abilities: models.Abilities
    rules: models.ServerRules
    max_tokens: int
    must_call: bool
    messages: Sequence[Wire]
    may_think: bool = True


def thinking_fields(choice: ThinkingChoice) -> Wire:
    """The fields `thinking` and `output_config` of a body; without a field, the server decides."""
    form = _form(choice)
    fields: Wire = {}
    if form is models.ThinkingAs.DISABLED:
        fields["thinking"] = {"type": "disabled"}  # `display` beside it is refused
    elif form is not None:
        budget = {"budget_tokens": budget_of(choice)} if form is models.ThinkingAs.ENABLED else {}
        fields["thinking"] = {"type": _TYPES[form], **budget, "display": choice.own.thinking_display.value}
    effort = _effort(choice, form)
    return fields if effort is None else {**fields, "output_config": {"effort": effort}}


_TYPES: Final = {models.ThinkingAs.ADAPTIVE: "adaptive", models.ThinkingAs.ENABLED: "enabled"}
_AS: Final = {ThinkingForm.ADAPTIVE: models.ThinkingAs.ADAPTIVE, ThinkingForm.BUDGET: models.ThinkingAs.ENABLED}


def _form(choice: ThinkingChoice) -> models.ThinkingAs | None:
    """The form of the field `thinking`; None for no field."""
    set_form = choice.own.thinking_as
    if set_form is models.ThinkingAs.OFF:
        return None
    if set_form is models.ThinkingAs.DISABLED or choice.effort == NO_EFFORT or not _may_think(choice):
        thinks = choice.abilities.thinking != ()
        return models.ThinkingAs.DISABLED if choice.abilities.can_stop_thinking and thinks else None
    form = _chosen_form(choice) if set_form is models.ThinkingAs.AUTO else set_form
    return None if form is models.ThinkingAs.ENABLED and not _fits_budget(choice) else form


def _may_think(choice: ThinkingChoice) -> bool:
    """Whether earlier answers allow thinking (docs/wires/anthropic-messages.md#thinking-that-goes-back)."""
    answers = [message["content"] for message in choice.messages if message["role"] == "assistant"]
    lacks = any(
        any(block["type"] == "tool_use" for block in content) and not any(map(is_thinking, content))
        for content in answers
    )
    return choice.may_think and not (choice.rules.demands_thinking and lacks)


def _chosen_form(choice: ThinkingChoice) -> models.ThinkingAs | None:
    forms = choice.abilities.thinking
    is_wished = choice.effort is not None or choice.own.thinking_tokens is not None
    if forms is None:  # not known whether it thinks: it is asked to only on demand
        return _AS[choice.rules.thinking] if is_wished else None
    if ThinkingForm.ADAPTIVE in forms and not (choice.own.thinking_tokens and ThinkingForm.BUDGET in forms):
        return models.ThinkingAs.ADAPTIVE
    return models.ThinkingAs.ENABLED if ThinkingForm.BUDGET in forms and is_wished else None


def _fits_budget(choice: ThinkingChoice) -> bool:
    """Whether a budget fits: not beside a forced call (docs/wires/anthropic-messages.md#tools-and-tool-choice), not
    after a response that began without thinking, and not in a response too short for it."""
    if choice.must_call or budget_of(choice) < models.LEAST_BUDGET:
        return False
    if not choice.abilities.is_claude:
        return True
    start = 0  # of the current turn: a user's message with results begins none
    for index, message in enumerate(choice.messages):
        if message["role"] == "user" and not any(block["type"] == "tool_result" for block in message["content"]):
            start = index
    first = next((message for message in choice.messages[start:] if message["role"] == "assistant"), None)
    return first is None or is_thinking(first["content"][0])


def budget_of(choice: ThinkingChoice) -> int:
    """The budget in tokens; at most half of the response by default, and always less than the response."""
    if choice.own.thinking_tokens is not None:
        return min(choice.own.thinking_tokens, choice.max_tokens - 1)
    return min(_BUDGETS.get(choice.effort or "", _USUAL_BUDGET), choice.max_tokens // 2)


def _effort(choice: ThinkingChoice, form: models.ThinkingAs | None) -> str | None:
    """The level of effort in the server's words: the highest that the model takes up to the chosen one, else its
    lowest; None for no field."""
    word, known = choice.effort, choice.abilities.efforts
    if word is None or form is models.ThinkingAs.DISABLED or choice.own.thinking_as is models.ThinkingAs.OFF:
        return None  # Opus 5 refuses high levels beside `disabled` (docs/wires/anthropic-messages.md#thinking-by-model)
    if known is None:
        return choice.rules.efforts.get(word, word) if choice.rules.takes_effort and word != NO_EFFORT else None
    if word in known or not known:
        return word if known else None
    if word not in _LADDER:
        return word
    below = [level for level in known if level in _LADDER and _LADDER.index(level) <= _LADDER.index(word)]
    return below[-1] if below else known[0]


def asks_to_think(body: Mapping[str, Any]) -> bool:
    """Whether a body asks the model to think, in any form."""
    return _inner(body, "thinking").get("type") in {"adaptive", "enabled"}


def without_refused_sampling(
    body: Mapping[str, Any], abilities: models.Abilities, forbidden: frozenset[str]
) -> dict[str, Any]:
    """The body without the sampling parameters that the model refuses, and without the fields that the version does."""
    body = {name: value for name, value in body.items() if name not in forbidden}
    is_sometimes_taken = abilities.sampling is models.Sampling.NOT_WHILE_THINKING
    if abilities.sampling is models.Sampling.TAKEN or (is_sometimes_taken and not asks_to_think(body)):
        return body
    top_p = body.get("top_p")
    is_high = isinstance(top_p, int | float) and _LEAST_TOP_P <= top_p <= 1
    kept = {"top_p"} if is_sometimes_taken and is_high else set()
    return {name: value for name, value in body.items() if name not in models.SAMPLING or name in kept}


# ---- Context edits ----
# A window below a million tokens fills within one long turn of an agent, and old results of tools are most of it.

CLEAR_THINKING: Final = "clear_thinking_20251015"
CLEAR_TOOL_USES: Final = "clear_tool_uses_20250919"
COMPACT: Final = "compact_20260112"

_CLEAR_AT: Final = 0.6
"""The part of the window from which on results are taken out: early enough that one more step fits."""
_CLEAR_AT_LEAST: Final = 0.1
"""The part of the window that has to become free: each time, the prompt cache after it is written anew."""
_USUAL_CLEAR_AT: Final = 100_000
"""Where the window is not known: the server's own number."""
_KEPT_RESULTS: Final = 3
_KEPT_THINKING: Final = 1
"""Turns whose thinking stays; models with a small window keep no more by themselves, but for Opus 4.5."""


def context_management(
    own: models.AnthropicMessagesSettings, abilities: models.Abilities, body: Mapping[str, Any]
) -> Wire:
    """The field `context_management` of a body; empty for leaving the conversation as it is.

    Args:
        own: What a person set.
        abilities: What the model and its server take.
        body: The body so far, which says whether the model thinks.
    """
    may = frozenset(ContextEdit) if abilities.edits is None else abilities.edits
    clears = own.context_editing is models.ContextEditing.ON
    if own.context_editing is models.ContextEditing.AUTO:
        is_small = abilities.window is not None and abilities.window < models.MILLION
        clears = is_small and ContextEdit.CLEAR_TOOL_RESULTS in (abilities.edits or ())
    edits: list[Wire] = []
    if clears and ContextEdit.CLEAR_THINKING in may and asks_to_think(body):  # has to be the first
        edits.append({"type": CLEAR_THINKING, "keep": {"type": "thinking_turns", "value": _KEPT_THINKING}})
    if clears and ContextEdit.CLEAR_TOOL_RESULTS in may and body.get("tools"):
        at = own.clear_results_at or (int(abilities.window * _CLEAR_AT) if abilities.window else _USUAL_CLEAR_AT)
        edit = {"type": CLEAR_TOOL_USES, "trigger": _tokens(at), "keep": {"type": "tool_uses", "value": _KEPT_RESULTS}}
        edits.append({**edit, "clear_at_least": _tokens(int(at * _CLEAR_AT_LEAST / _CLEAR_AT))})
    if own.summarize_at is not None and ContextEdit.SUMMARIZE in may:
        edits.append({"type": COMPACT, "trigger": _tokens(own.summarize_at)})
    return {"context_management": {"edits": edits}} if edits else {}


def _tokens(number: int) -> Wire:
    return {"type": "input_tokens", "value": number}


def _inner(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return value if isinstance(value := body.get(name), dict) else {}


def without_thinking_edits(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The body without the edits that only a model that thinks has a use for."""
    management = body.get("context_management")
    if not isinstance(management, dict) or not isinstance(edits := management.get("edits"), list):
        return body
    kept = [edit for edit in edits if not (isinstance(edit, dict) and edit.get("type") == CLEAR_THINKING)]
    rest = {name: value for name, value in body.items() if name != "context_management"}
    return {**rest, "context_management": {**management, "edits": kept}} if kept else rest


# ---- Betas ----

BETA_HEADER: Final = "anthropic-beta"


def _edits(body: Mapping[str, Any]) -> list[Any]:
    edits = _inner(body, "context_management").get("edits")
    return [edit.get("type") for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) else []


def _interleaves(body: Mapping[str, Any]) -> bool:
    has_budget = _inner(body, "thinking").get("type") == "enabled" and bool(body.get("tools"))
    return has_budget and models.abilities_of(str(body.get("model", "")), UNKNOWN_CAPABILITIES).interleaves_by_beta


def _holds_summary(body: Mapping[str, Any]) -> bool:
    """Whether a body asks for a summary, or brings one back: those that were asked for are signed."""
    contents = (message.get("content") for message in body.get("messages", ()))
    blocks = (block for content in contents if isinstance(content, list) for block in content)
    return "compaction" in body or any(block["type"] == "compaction" and block.get("signature") for block in blocks)


def _is_advisor(tool: Any) -> bool:
    return isinstance(tool, Mapping) and str(tool.get("type", "")).startswith("advisor_")


FEATURE_BETAS: Final[Mapping[str, Callable[[Mapping[str, Any]], bool]]] = {
    "context-management-2025-06-27": lambda body: any(
        edit in _edits(body) for edit in (CLEAR_THINKING, CLEAR_TOOL_USES)
    ),
    "compact-2026-01-12": lambda body: COMPACT in _edits(body),
    "interleaved-thinking-2025-05-14": _interleaves,
    "compact-2026-09-04": _holds_summary,
    "fast-mode-2026-02-01": lambda body: "speed" in body,
    "task-budgets-2026-03-13": lambda body: "task_budget" in _inner(body, "output_config"),
    "fallback-credit-2026-07-01": lambda body: "fallback_credit_token" in body,
    "server-side-fallback-2026-07-01": lambda body: "fallbacks" in body,
    "cache-diagnosis-2026-04-07": lambda body: "diagnostics" in body,
    "thinking-display-updates-2026-08-18": lambda body: _inner(body, "thinking").get("display") == "updates",
    "thinking-binding-controls-2026-08-01": lambda body: "block_binding" in _inner(body, "thinking"),
    "message-threads-2026-08-12": lambda body: "thread" in body,
    "advisor-tool-2026-03-01": lambda body: any(_is_advisor(tool) for tool in body.get("tools") or ()),
    "mcp-client-2025-11-20": lambda body: "mcp_servers" in body,
}
"""Each beta, and whether its feature is in a body (docs/wires/anthropic-messages.md#betas)."""


def betas_of(body: Mapping[str, Any]) -> tuple[str, ...]:
    """The betas whose features a body has."""
    return tuple(name for name, has_feature in FEATURE_BETAS.items() if has_feature(body))


def joined(names: Iterable[str]) -> str:
    """The value of the header, each name once."""
    return ",".join(dict.fromkeys(names))


def named(value: str) -> list[str]:
    """The names in the value of a header."""
    return [name.strip() for name in value.split(",") if name.strip()]


# ---- Platforms ----

PATH: Final = "/messages"
_IN_BODY: Final = "anthropic_version"


def on_platform(request: WireRequest, platform: models.Platform) -> WireRequest:
    """A request to Anthropic's own API as a platform takes it."""
    if platform is models.Platform.ANTHROPIC:
        return request
    model = request.body["model"]
    body = {name: value for name, value in request.body.items() if name != "model"}
    if platform is models.Platform.VERTEX:  # below `.../publishers/anthropic/models`
        path = f"/{quote(model, safe='@')}:streamRawPredict"
        return replace(request, path=path, body={_IN_BODY: "vertex-2023-10-16", **body})
    # Bedrock's InvokeModel: its stream has a framing of its own, so the response is asked for as a whole.
    body.pop("stream", None)
    if betas := named(request.headers.get(BETA_HEADER, "")):
        body = {"anthropic_beta": betas, **body}
    return replace(
        request,
        path=f"/model/{quote(model, safe='')}/invoke",
        body={_IN_BODY: "bedrock-2023-05-31", **body},
        headers={name: value for name, value in request.headers.items() if name != BETA_HEADER},
    )


# ---- Counts, paused responses, limits ----

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


def resume(request: WireRequest, paused: Mapping[str, Any]) -> WireRequest:
    """The same request with the response so far after its messages, as it came, and no word of the user's.

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


UNKNOWN_MODEL_TOKENS: Final = 4096  # what every model can answer
LEAST_TOKENS: Final = 1024
"""The fewest tokens that are asked for: a prompt that leaves less is for the server to refuse."""
_MOST_ASSUMED: Final = 32_000
_MARGIN: Final = 1.1
"""A prompt is estimated before it is sent, and may have more tokens than that."""


def answer_limit(chosen: int | None, abilities: models.Abilities, input_tokens: int | None, *, reserves: bool) -> int:
    """The most tokens of a response.

    Args:
        chosen: The chosen limit, or None.
        abilities: What the model takes.
        input_tokens: The expected tokens of the prompt, or None.
        reserves: Whether the server wants prompt and answer to fit into the window together, or cuts what does not.
    """
    window = abilities.window  # of a model without a known limit, a quarter of it
    assumed = UNKNOWN_MODEL_TOKENS if window is None else max(UNKNOWN_MODEL_TOKENS, min(window // 4, _MOST_ASSUMED))
    limit = chosen or abilities.max_tokens or assumed
    if window is None or input_tokens is None or not (reserves or abilities.reserves):
        return limit
    return max(min(limit, LEAST_TOKENS), min(limit, window - int(input_tokens * _MARGIN)))
