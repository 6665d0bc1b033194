"""Reads the tokens that servers report (facts 7): cumulative numbers, of which the last that is known counts."""

from __future__ import annotations

from typing import Any, Final

from partstream.numbers import as_count
from partstream.protocols.fields import Wire, mapping
from partstream.usage import Usage

__all__ = ["ReportedUsage", "read_usage"]

_INPUT: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""The fields whose sum is the prompt: `input_tokens` alone is what follows the last mark of the cache."""


class ReportedUsage:
    """The usage of one answer. Nothing is added up over events: the numbers are cumulative.

    Attributes:
        raw: Each field's last value that is not null.
    """

    __slots__ = ("raw",)

    def __init__(self) -> None:
        self.raw: dict[str, Any] = {}

    def say(self, report: Any) -> None:
        """Takes what stands in a field `usage`.

        A prompt of nothing behind a prompt of something says nothing: old versions of Ollama report it for what they
        had in their cache.
        """
        if not isinstance(report, dict):
            return
        known = {name: value for name, value in report.items() if value is not None}
        if _prompt(known) == 0 and _prompt(self.raw):
            known = {name: value for name, value in known.items() if name not in _INPUT}
        self.raw |= known

    @property
    def value(self) -> Usage | None:
        """The usage, or None if none was reported."""
        return read_usage(self.raw) if self.raw else None


def read_usage(raw: Wire) -> Usage:
    """The usage that an object reports."""
    given, made = _prompt(raw), as_count(raw.get("output_tokens"))
    total = None if given is None or made is None else given + made
    return Usage(
        given,
        made,
        total,
        as_count(raw.get("cache_read_input_tokens")),
        as_count(mapping(raw, "output_tokens_details").get("thinking_tokens")),
        raw,
        as_count(raw.get("cache_creation_input_tokens")),
    )


def _prompt(raw: Wire) -> int | None:
    counts = [count for name in _INPUT if (count := as_count(raw.get(name))) is not None]
    return sum(counts) if counts else None
