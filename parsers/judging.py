"""What of a recorded stream a parser got right, aspect by aspect."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from parsers.recorded import Recorded

__all__ = ["ASPECTS", "judged"]

_CUT: Final = frozenset({"length", "max_tokens", "incomplete", "MAX_TOKENS"})
"""Finish reasons of answers that a limit has cut."""


def _text(expected: Mapping[str, Any], told: Mapping[str, Any]) -> bool | None:
    return _same_words(expected.get("text"), told["text"])


def _thinking(expected: Mapping[str, Any], told: Mapping[str, Any]) -> bool | None:
    return _same_words(expected.get("thinking"), told["thinking"])


def _calls(expected: Mapping[str, Any], told: Mapping[str, Any]) -> bool | None:
    if "tool_calls" not in expected:
        return None
    if expected.get("or_error") and told["failed"] is not None and not told["calls"]:
        return True
    wanted = [{"name": one["name"], "input": one["input"]} for one in expected["tool_calls"]]
    return _sorted(wanted) == _sorted(told["calls"])


def _tokens(expected: Mapping[str, Any], told: Mapping[str, Any]) -> bool | None:
    wanted = [expected.get("input_tokens"), expected.get("output_tokens")]
    return None if None in wanted else told["tokens"] == wanted


def _error(expected: Mapping[str, Any], told: Mapping[str, Any]) -> bool | None:
    if "error" not in expected or (
        expected["error"] is None and (expected.get("finish") in _CUT or "finish_raw" in expected)
    ):
        return None  # whether a call that the limit of the answer has cut is an error is debatable
    return (expected["error"] is not None) == (told["failed"] is not None)


ASPECTS: Final[Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any]], bool | None]]] = {
    "text": _text,
    "thinking": _thinking,
    "calls": _calls,
    "tokens": _tokens,
    "errors": _error,
}
"""By name, whether an aspect is right, given the expected outcome and what was told; None where it is not judged."""


def judged(stream: Recorded, told: Mapping[str, Any], unread: tuple[str, ...]) -> dict[str, bool]:
    """By aspect, whether a parser got it right; without what the recording leaves open or the package cannot tell."""
    found = {name: right(stream.expected, told) for name, right in ASPECTS.items() if name not in unread}
    return {name: is_right for name, is_right in found.items() if is_right is not None}


def _same_words(wanted: str | None, got: str) -> bool | None:
    """Whether two texts have the same characters beside white space: packages join paragraphs differently."""
    return None if wanted is None else "".join(wanted.split()) == "".join(got.split())


def _sorted(calls: list[Any]) -> list[str]:
    return sorted(json.dumps(call, sort_keys=True) for call in calls)
