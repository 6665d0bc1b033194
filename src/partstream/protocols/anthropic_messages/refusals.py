"""What Anthropic refuses in a request, in its own words: facts 4, 5, 9, 10 and 11, and the issues that are cited there.

What depends on a model is refused by the row of its line (:mod:`partstream.protocols.anthropic_messages.model_rows`); a
model that is not among them takes everything that any of them takes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.anthropic_messages.refused_marks import check_marks
from partstream.protocols.anthropic_messages.refused_messages import check_messages
from partstream.protocols.anthropic_messages.refused_results import check_results
from partstream.protocols.anthropic_messages.refused_thinking import check_thinking
from partstream.protocols.anthropic_messages.refused_tools import check_tools
from partstream.protocols.refused import RefusedRequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.protocols.protocol import WireRequest

__all__ = ["refuse"]


def refuse(request: WireRequest) -> None:
    """Refuses a request as Anthropic does.

    Args:
        request: A request that the protocol itself can read.

    Raises:
        RefusedRequestError: It is refused.
    """
    betas = _check_headers(request.headers)
    body = request.body
    _check_fields(body, betas)
    _check_limit(body)
    check_thinking(body)
    check_tools(body)
    check_messages(body)
    check_results(body["messages"])
    check_marks(body)
    _check_edits(body)


def _check_headers(headers: Mapping[str, str]) -> frozenset[str]:
    """The betas that the headers ask for."""
    if "anthropic-version" not in headers:
        raise RefusedRequestError("anthropic-version: header is required")
    if "x-api-key" in headers and "authorization" in headers:
        raise RefusedRequestError("invalid x-api-key", status=401)
    betas = [name.strip() for name in headers.get("anthropic-beta", "").split(",") if name.strip()]
    unknown = [name for name in betas if not _BETA.fullmatch(name)]
    if unknown:
        named = ", ".join(f"`{name}`" for name in unknown)
        raise RefusedRequestError(
            f"Unexpected value(s) {named} for the `anthropic-beta` header. Please consult our documentation at "
            "docs.claude.com or try again without the header."
        )
    return frozenset(betas)


_BETA: Final = re.compile(r"[a-z0-9-]+-\d{4}-?\d{2}-?\d{2}")
"""The form of all names of betas: a feature and a date."""

_FIELDS: Final = frozenset(
    {
        "model",
        "max_tokens",
        "messages",
        "system",
        "tools",
        "tool_choice",
        "thinking",
        "output_config",
        "temperature",
        "top_p",
        "top_k",
        "stop_sequences",
        "metadata",
        "service_tier",
        "cache_control",
        "container",
        "inference_geo",
        "stream",
    }
)
_OF_BETAS: Final[Mapping[str, tuple[str, ...]]] = {
    "context_management": ("context-management-", "compact-"),
    "mcp_servers": ("mcp-client-",),
    "speed": ("fast-mode-",),
    "fallbacks": ("server-side-fallback-",),
    "fallback_credit_token": ("fallback-credit-",),
    "diagnostics": ("cache-diagnosis-",),
}
"""Fields that a beta adds, with the beginnings of the betas that add them."""


def _check_fields(body: Mapping[str, Any], betas: frozenset[str]) -> None:
    for name in ("model", "max_tokens"):
        if body.get(name) is None:
            raise RefusedRequestError(f"{name}: Field required")
    for name in body:
        added = any(beta.startswith(_OF_BETAS.get(name, ())) for beta in betas)
        if name not in _FIELDS and not added:
            raise RefusedRequestError(f"{name}: Extra inputs are not permitted")


def _check_limit(body: Mapping[str, Any]) -> None:
    limit = body["max_tokens"]
    least = 1 if body.get("stream") else 0
    if type(limit) is not int:
        raise RefusedRequestError("max_tokens: Input should be a valid integer")
    if limit < least:
        raise RefusedRequestError(f"max_tokens: Input should be greater than or equal to {least}")


def _check_edits(body: Mapping[str, Any]) -> None:
    """The order and the least trigger of the edits that shorten a conversation (facts 10.3)."""
    edits = (body.get("context_management") or {}).get("edits") or []
    if not isinstance(edits, list) or not all(isinstance(edit, dict) for edit in edits):
        raise RefusedRequestError("context_management.edits: Input should be a valid list")
    kinds = [edit.get("type") for edit in edits]
    if _CLEAR_THINKING in kinds[1:]:
        raise RefusedRequestError(
            f"context_management.edits: `{_CLEAR_THINKING}` strategy must be the first one in the list"
        )
    for place, edit in enumerate(edits):
        trigger = edit.get("trigger")
        least = trigger.get("value") if isinstance(trigger, dict) else None
        if edit.get("type") == _COMPACT and isinstance(least, int) and least < _LEAST_TRIGGER:
            raise RefusedRequestError(
                f"context_management.edits.{place}.trigger.value: Input should be greater than or equal to "
                f"{_LEAST_TRIGGER}"
            )


_CLEAR_THINKING: Final = "clear_thinking_20251015"
_COMPACT: Final = "compact_20260112"
_LEAST_TRIGGER: Final = 50_000
