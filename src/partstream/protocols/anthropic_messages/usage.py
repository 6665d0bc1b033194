"""Reads the tokens that servers report: the last known number counts (docs/wires/anthropic-messages.md#usage)."""

from __future__ import annotations

from typing import Any, Final

from partstream.numbers import as_count
from partstream.protocols.read_response import Wire, mapping, objects, text
from partstream.usage import Usage

__all__ = ["ReportedUsage"]

_INPUT: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""The fields whose sum is the prompt: `input_tokens` alone is what follows the last mark of the cache."""

_OF_THE_MODEL: Final = frozenset({"message", "fallback_message"})
"""The kinds of `iterations` whose prompt is the conversation; others summarise it, or ask an adviser."""


class ReportedUsage:
    """The usage of one answer: of its message, or of several after pauses, each with numbers of its own."""

    __slots__ = ("_before", "_first", "_raw")

    def __init__(self) -> None:
        self._before: list[Usage] = []
        self._first: int | None = None
        self._raw: dict[str, Any] = {}

    def begin(self) -> None:
        """Another message begins, whose numbers are added to those of the messages before it."""
        if self._raw:
            self._before.append(_read(self._raw, None))
            self._raw, self._first = {}, None

    def say(self, report: Any) -> None:
        """Takes what stands in a field `usage`. Nothing is added up: the last number of each field counts.

        A prompt of nothing behind a prompt of something says nothing: old versions of Ollama report it for what they
        had in their cache. Of an answer that breaks, the numbers at its beginning are the least that it took.
        """
        if not isinstance(report, dict):
            return
        known = {name: value for name, value in report.items() if value is not None}
        if _prompt(known) == 0 and _prompt(self._raw):
            known = {name: value for name, value in known.items() if name not in _INPUT}
        self._first = _prompt(known) if self._first is None else self._first
        self._raw |= known

    def value(self, *, ran_tools: bool) -> Usage | None:
        """The usage, or None if none was reported.

        Args:
            ran_tools: Whether the server ran tools of its own between several calls of the model.
        """
        if not self._raw and not self._before:
            return None
        last = _read(self._raw, _context(self._raw, self._first, ran_tools=ran_tools))
        return _sum([*self._before, last]) if self._before else last


def _read(raw: Wire, context: int | None) -> Usage:
    given, made = _prompt(raw), as_count(raw.get("output_tokens"))
    return Usage(
        given,
        made,
        None if given is None or made is None else given + made,
        as_count(raw.get("cache_read_input_tokens")),
        as_count(mapping(raw, "output_tokens_details").get("thinking_tokens")),
        raw,
        as_count(raw.get("cache_creation_input_tokens")),
        context,
    )


def _context(raw: Wire, first: int | None, *, ran_tools: bool) -> int | None:
    """The prompt of the last call of the model, where the total counts the prompts of several calls or of others.

    None where that is the total. Without `iterations`, of several calls only the first prompt is known, the least that
    the last can have: recording anthropic-code-execution-20250825.pptx-skill has 2,751 first, and 320,032 in all.
    """
    prompts = [_prompt(one) for one in objects(raw, "iterations") if text(one, "type") in _OF_THE_MODEL]
    last = prompts[-1] if prompts else first if ran_tools else None
    return None if last is None or last == _prompt(raw) else last


def _prompt(raw: Wire) -> int | None:
    counts = [count for name in _INPUT if (count := as_count(raw.get(name))) is not None]
    return sum(counts) if counts else None


def _sum(usages: list[Usage]) -> Usage:
    """What several messages took; what fills the window is the prompt of the last."""
    last = usages[-1]

    def total(name: str) -> int | None:
        counts = [count for one in usages if (count := getattr(one, name)) is not None]
        return sum(counts) if counts else None

    context = last.input_tokens if last.context_tokens is None else last.context_tokens
    return Usage(
        total("input_tokens"),
        total("output_tokens"),
        total("total_tokens"),
        total("cached_tokens"),
        total("reasoning_tokens"),
        last.raw,
        total("cache_write_tokens"),
        context,
    )
