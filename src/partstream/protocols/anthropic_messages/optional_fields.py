"""The fields that servers of this wire refuse, and what takes their place.

Beside the table of fields there are three refusals that no field alone says: a form of thinking, which another takes
the place of; an answer that may not be so long; and a beta, whose feature goes with it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from partstream.errors import UpstreamFailureError, UpstreamHTTPError
from partstream.protocols.anthropic_messages.endpoint import (
    BETA_HEADER,
    FEATURE_BETAS,
    asks_to_think,
    joined,
    named,
    without_thinking_edits,
)
from partstream.protocols.anthropic_messages.models import LEAST_BUDGET
from partstream.protocols.options import OptionalField, leave_out, refused_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from partstream.errors import UpstreamError
    from partstream.protocols.serve import WireRequest

__all__ = ["LEAVE_OUT", "OPTIONAL_FIELDS", "REFUSED_FIELDS"]

_MARKS: Final = ("system[].cache_control", "tools[].cache_control", "messages[].content[].cache_control")

OPTIONAL_FIELDS: Final = (
    # Where one mark is refused, so are all (docs/wires/anthropic-messages.md#prompt-cache).
    *(OptionalField(path) for path in _MARKS),
    OptionalField("thinking.display", is_word=True),
    OptionalField("thinking", is_word=True),
    OptionalField("output_config.effort", is_word=True),
    OptionalField("output_config.effort", sentence=r"not support the effort|effort (?:parameter|level)? ?is not supp"),
    OptionalField("output_config.format", is_word=True),
    OptionalField("output_config"),
    OptionalField("context_management"),
    OptionalField("container", is_word=True),
    # Refused beside a budget, and by some models always (docs/wires/anthropic-messages.md#tools-and-tool-choice).
    OptionalField("tool_choice.disable_parallel_tool_use"),
    OptionalField("tool_choice", instead={"type": "auto"}),
    OptionalField("messages[].content[].is_error"),
    OptionalField("messages[].content[].caller", is_word=True),
    OptionalField("temperature", is_word=True),
    OptionalField("top_p"),
    OptionalField("top_k"),
    OptionalField("stop_sequences"),
    OptionalField("metadata", is_word=True),
    OptionalField("service_tier"),
    OptionalField("speed", is_word=True),
    OptionalField("fallbacks", is_word=True),
    # What callers of other protocols choose, and this one has no field for.
    OptionalField("presence_penalty"),
    OptionalField("frequency_penalty"),
    OptionalField("response_format"),
    OptionalField("logprobs", is_word=True),
    OptionalField("top_logprobs"),
    OptionalField("logit_bias"),
    OptionalField("seed", is_word=True),
    OptionalField("user", is_word=True),
)

_STATUSES: Final = frozenset({400, 404, 422})
_MOST_READ: Final = 4000
_MOST_TOKENS: Final = "max_tokens:"
_BETA: Final = "beta:"

_FORMS: Final = tuple(
    (
        f"thinking:{form}",
        re.compile(
            rf"thinking\.type\.{form}\W{{0,3}} is not supported|{form} thinking is not supported"
            rf"|thinking: Input tag '{form}' found"
        ),
    )
    for form in ("enabled", "disabled", "adaptive")
)
"""The three refusals of a form of thinking (docs/wires/anthropic-messages.md#thinking-by-model), by the names under
which they are remembered. Servers that check a request by its types name the tag that they do not know."""

_TOO_MANY: Final = re.compile(r"max_tokens: (?P<asked>\d+) > (?P<most>\d+), which is the maximum allowed")
"""The longest answer, in a refusal (docs/wires/anthropic-messages.md#requests-that-are-too-long)."""


def _said(error: UpstreamError) -> str:
    if error.http_status not in {*_STATUSES, None}:
        return ""
    if isinstance(error, UpstreamHTTPError):
        return (error.provider_message or error.body)[:_MOST_READ]
    return error.provider_message[:_MOST_READ] if isinstance(error, UpstreamFailureError) else ""


_OF_TABLE: Final = refused_fields(OPTIONAL_FIELDS)


def _refused(error: UpstreamError, body: Mapping[str, Any]) -> frozenset[str]:
    said = _said(error)
    form = next((name for name, pattern in _FORMS if pattern.search(said)), None)
    if form is not None:
        return frozenset({form}) if _type_of_thinking(body) == form.partition(":")[2] else frozenset()
    if (found := _TOO_MANY.search(said)) is not None:
        return frozenset({f"{_MOST_TOKENS}{found['most']}"})
    if _MARK in said:
        return frozenset(_MARKS)
    betas = frozenset(f"{_BETA}{name}" for name in FEATURE_BETAS if name in said)
    return betas or frozenset(
        name for name in _OF_TABLE(error, body) if not (name.startswith("thinking") and _OF_BLOCKS.search(said))
    )


_MARK: Final = "cache_control"
_OF_BLOCKS: Final = re.compile(r"messages\.\d+\.content|thinking\W? blocks?\b")
"""A refusal of thinking that went back, which says nothing of asking for more."""


def _type_of_thinking(body: Mapping[str, Any]) -> Any:
    thinking = body.get("thinking")
    return thinking.get("type") if isinstance(thinking, dict) else None


_WITHOUT_FIELDS: Final = leave_out(OPTIONAL_FIELDS)


def _leave_out(request: WireRequest, names: Collection[str]) -> WireRequest:
    """The request without what is named; a beta goes with its feature, and a feature with its beta."""
    body = _shortened(_in_another_form(request.body, names), names)
    for name in names:
        if name.startswith(_BETA):
            body = _without_feature(body, name.removeprefix(_BETA))
    changed = request if body is request.body else replace(request, body=body)
    changed = _WITHOUT_FIELDS(changed, names)
    if asks_to_think(request.body) and not asks_to_think(changed.body):
        changed = replace(changed, body=without_thinking_edits(changed.body))
    return _without_betas(changed, request.body, names)


def _in_another_form(body: Mapping[str, Any], names: Collection[str]) -> Mapping[str, Any]:
    """The body with thinking in the form that is not refused; without any where none is left."""
    form = _type_of_thinking(body)
    if f"thinking:{form}" not in names:
        return body
    twin = _TWINS.get(form)
    rest = {name: value for name, value in body.items() if name != "thinking"}
    if twin is None or f"thinking:{twin}" in names:
        return rest
    display = {name: value for name, value in body["thinking"].items() if name == "display"}
    if twin == "adaptive":
        return {**body, "thinking": {"type": "adaptive", **(display or {"display": "summarized"})}}
    budget = min(_USUAL_BUDGET, int(body.get("max_tokens", 0)) // 2)
    if budget < LEAST_BUDGET:
        return rest
    return {**body, "thinking": {"type": "enabled", "budget_tokens": budget, **display}}


_TWINS: Final = {"enabled": "adaptive", "adaptive": "enabled"}
_USUAL_BUDGET: Final = 16_000


def _shortened(body: Mapping[str, Any], names: Collection[str]) -> Mapping[str, Any]:
    """The body with an answer, and thinking, as short as the model says."""
    limits = [int(name.removeprefix(_MOST_TOKENS)) for name in names if name.startswith(_MOST_TOKENS)]
    asked = body.get("max_tokens")
    if not limits or not isinstance(asked, int) or asked <= min(limits):
        return body
    most = min(limits)
    thinking = body.get("thinking")
    if isinstance(thinking, dict) and thinking.get("budget_tokens", 0) >= most:
        thinking = {**thinking, "budget_tokens": most // 2}
    changed = {**body, "max_tokens": most}
    return changed if thinking is None else {**changed, "thinking": thinking}


def _without_feature(body: Mapping[str, Any], beta: str) -> Mapping[str, Any]:
    fields = _FIELDS_OF_BETAS.get(beta, ())
    return {name: value for name, value in body.items() if name not in fields}


_FIELDS_OF_BETAS: Final[Mapping[str, tuple[str, ...]]] = {
    "context-management-2025-06-27": ("context_management",),
    "compact-2026-01-12": ("context_management",),
    "fast-mode-2026-02-01": ("speed",),
    "fallback-credit-2026-07-01": ("fallback_credit_token",),
    "server-side-fallback-2026-07-01": ("fallbacks",),
    "cache-diagnosis-2026-04-07": ("diagnostics",),
}


def _without_betas(request: WireRequest, before: Mapping[str, Any], names: Collection[str]) -> WireRequest:
    """The request without the betas that are refused, and without those whose features have gone."""
    said = request.headers.get(BETA_HEADER, "")
    gone = {
        beta for beta, has_feature in FEATURE_BETAS.items() if has_feature(before) and not has_feature(request.body)
    }
    gone |= {name.removeprefix(_BETA) for name in names if name.startswith(_BETA)}
    kept = [beta for beta in named(said) if beta not in gone]
    body = request.body
    if gone & set(body.get("anthropic_beta", ())):
        body = {**body, "anthropic_beta": [beta for beta in body["anthropic_beta"] if beta not in gone]}
        request = replace(request, body=body)
    if len(kept) == len(named(said)):
        return request
    headers = {name: value for name, value in request.headers.items() if name != BETA_HEADER}
    return replace(request, headers=headers | ({BETA_HEADER: joined(kept)} if kept else {}))


REFUSED_FIELDS: Final = _refused
"""For :attr:`partstream.protocols.errors.Errors.refused_fields`."""

LEAVE_OUT: Final[Callable[[WireRequest, Collection[str]], WireRequest]] = _leave_out
"""For :attr:`partstream.protocols.protocol.RequestWriterSpec.leave_out`."""
