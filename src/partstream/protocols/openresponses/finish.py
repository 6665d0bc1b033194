"""The end of a response: reads usage, finish reason and error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.numbers import as_count
from partstream.protocols.openresponses.errors import ERRORS
from partstream.protocols.openresponses.fields import Wire, identifier, mapping
from partstream.usage import FinishReason, UnifiedFinishReason, Usage

if TYPE_CHECKING:
    from partstream.errors import UpstreamFailureError

__all__ = ["INCOMPLETE_REASONS", "failure", "finish_reason", "incomplete_reason", "usage"]

INCOMPLETE_REASONS: Final = {
    "max_output_tokens": UnifiedFinishReason.LENGTH,
    "content_filter": UnifiedFinishReason.CONTENT_FILTER,
}


def usage(response: Wire) -> Usage | None:
    """The usage that a response reports, or None."""
    raw = response.get("usage")
    if not isinstance(raw, dict):
        return None
    input_tokens, output_tokens = _count(raw, "input_tokens"), _count(raw, "output_tokens")
    total = _count(raw, "total_tokens")
    if total is None and input_tokens is not None and output_tokens is not None:
        total = input_tokens + output_tokens
    return Usage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        total_tokens=total,
        cached_tokens=_count(raw.get("input_tokens_details"), "cached_tokens"),
        reasoning_tokens=_count(raw.get("output_tokens_details"), "reasoning_tokens"),
        raw=raw,
        cache_write_tokens=_count(raw.get("input_tokens_details"), "cache_write_tokens"),
    )


def finish_reason(response: Wire, status: str, has_tool_calls: bool) -> FinishReason:
    """The finish reason of a response that did not fail; `status` is that of the terminal event."""
    if status == "incomplete":
        raw = identifier(mapping(response, "incomplete_details"), "reason") or status
        return FinishReason(INCOMPLETE_REASONS.get(raw, UnifiedFinishReason.OTHER), raw)
    return FinishReason(UnifiedFinishReason.TOOL_CALLS if has_tool_calls else UnifiedFinishReason.STOP, status)


def incomplete_reason(reason: FinishReason | None) -> str:
    """The word for why a response is incomplete; the provider's own word if this protocol has none."""
    if reason is None:
        return "other"
    words = {unified: word for word, unified in INCOMPLETE_REASONS.items()}
    return words.get(reason.unified) or reason.raw or reason.unified


def failure(*reports: Wire) -> UpstreamFailureError:
    """Merges all reports of a failure into one error; later reports win.

    A report is an `error` event, nested (the specification, and the live OpenAI API) or flat (OpenAI's
    documentation), or the `error` object of a failed response.
    """
    fields: dict[str, str] = {}
    for report in reports:
        nested = report.get("error")
        for source in (report, nested if isinstance(nested, dict) else {}):
            fields |= {name: said for name in ("code", "message") if (said := _said(source, name))}
        if isinstance(nested, dict) and (kind := identifier(nested, "type")):
            fields.setdefault("type", kind)
        elif isinstance(nested, str) and nested:
            fields.setdefault("message", nested)
    return ERRORS.failure(fields.get("message", "it gave no reason"), fields.get("code") or fields.get("type"))


def _said(source: Wire, name: str) -> str | None:
    value = source.get(name)
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) and value != "" else None


def _count(source: Any, name: str) -> int | None:
    value = source.get(name) if isinstance(source, dict) else None
    return as_count(value)
