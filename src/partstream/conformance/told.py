"""What a parser tells of a stream, and what of it is right."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from partstream.conformance.parsing import ParserFailedError
from partstream.lm.outputs import Finish
from partstream.lm.parts import TextPart, ThinkingPart, ToolCallPart

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from partstream.conformance.parsing import Parser
    from partstream.conformance.scenarios.stream_shapes import ShapeOutcome

__all__ = ["ASPECTS", "ParserReport", "differences", "judged", "told_of"]


@dataclass(frozen=True, slots=True)
class ParserReport:
    """What a parser tells of a stream.

    Attributes:
        text: The whole text.
        thinking: The whole thinking.
        calls: Id, name and arguments of each call.
        tokens: Input and output tokens, or None where it tells none.
        failed: What it raised, or None.
    """

    text: str
    thinking: str
    calls: tuple[tuple[object, object, object], ...]
    tokens: tuple[int | None, int | None] | None
    failed: str | None

    def to_json(self) -> dict[str, Any]:
        """What is compared with the expected outcome of a recording."""
        calls = [{"name": name, "input": arguments} for _, name, arguments in self.calls]
        tokens = None if self.tokens is None else list(self.tokens)
        return {
            "text": self.text,
            "thinking": self.thinking,
            "calls": calls,
            "tokens": tokens,
            "failed": self.failed,
        }


async def told_of(parser: Parser, pieces: Sequence[bytes]) -> ParserReport:
    """Has a parser read a stream."""
    outputs: list[object] = []
    failed = None
    try:
        async for output in parser.read(pieces):
            outputs.append(output)
    except ParserFailedError as error:
        failed = error.reason
    usage = next((one.usage for one in outputs if isinstance(one, Finish)), None)
    calls = [(one.call_id, one.name, one.input) for one in outputs if isinstance(one, ToolCallPart)]
    return ParserReport(
        "".join(str(one.value) for one in outputs if isinstance(one, TextPart)),
        "".join(str(one.value) for one in outputs if isinstance(one, ThinkingPart)),
        tuple(calls),
        None if usage is None else (usage.input_tokens, usage.output_tokens),
        failed,
    )


def differences(wanted: ShapeOutcome, told: ParserReport) -> list[str]:
    """What a parser got wrong of a shape, a sentence each; thinking and tokens only where it tells any."""
    found = []
    if (told.failed is not None) != wanted.is_failed:
        said = "the stream failed, and the parser says nothing of it" if wanted.is_failed else told.failed
        return [f"the parser failed: {said}" if not wanted.is_failed else str(said)]
    if told.text != wanted.text:
        found.append(f"the text is {told.text!r}, expected {wanted.text!r}")
    if told.thinking and told.thinking != wanted.thinking:
        found.append(f"the thinking is {told.thinking!r}, expected {wanted.thinking!r}")
    calls = [(name, arguments) for _, name, arguments in told.calls]
    if calls != list(wanted.calls):
        found.append(f"the calls are {calls}, expected {list(wanted.calls)}")
    elif wanted.call_ids is not None and not _has_ids(told, wanted.call_ids):
        found.append(f"the ids of the calls are {[one for one, _, _ in told.calls]}, expected {list(wanted.call_ids)}")
    elif len({str(one) for one, _, _ in told.calls}) != len(told.calls):
        found.append("two calls have the same id")
    if wanted.tokens is not None and told.tokens is not None and told.tokens != wanted.tokens:
        found.append(f"the tokens are {told.tokens}, expected {wanted.tokens}")
    return found


def _has_ids(told: ParserReport, wanted: tuple[str, ...]) -> bool:
    """Whether the ids end with those of the server: a reader may put a prefix before them."""
    return all(str(one).endswith(other) for (one, _, _), other in zip(told.calls, wanted, strict=True))


# ---- recordings ----

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


def judged(expected: Mapping[str, Any], told: Mapping[str, Any], unread: Collection[str] = ()) -> dict[str, bool]:
    """By aspect, whether a parser got it right; without what the recording leaves open or the parser cannot tell.

    Args:
        expected: The expected outcome of a recording.
        told: What the parser tells, as :meth:`Told.to_json`.
        unread: The aspects of which it can tell nothing.
    """
    found = {name: right(expected, told) for name, right in ASPECTS.items() if name not in unread}
    return {name: is_right for name, is_right in found.items() if is_right is not None}


def _same_words(wanted: str | None, got: str) -> bool | None:
    """Whether two texts have the same characters beside white space: packages join paragraphs differently."""
    return None if wanted is None else "".join(wanted.split()) == "".join(got.split())


def _sorted(calls: list[Any]) -> list[str]:
    return sorted(json.dumps(call, sort_keys=True, default=str) for call in calls)
