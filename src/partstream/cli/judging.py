"""Judges one recorded stream by the contract; prints nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from partstream.lm.contract import RULES, CheckMode, ContractChecker, Level, Rule, Violation, missing_evidence
from partstream.lm.outputs import GATEWAY_CALL_ID_PREFIX, Finish, Outcome, StreamOptions, Unmapped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from partstream.cli.opened_recordings import Recording

__all__ = ["Judgement", "RuleVerdict", "judge"]

_MAX_DETAILS: Final = 3
_CHUNK_SIZE: Final = 65536  # bytes at a time, so that only the recording itself is held whole


class RuleVerdict(StrEnum):
    """What is said of one rule."""

    KEPT = "kept"
    BROKEN = "broken"
    WARNING = "warning"
    NOT_JUDGED = "not judged"


class _Details(dict[str, list[str]]):
    """The first few violations of each broken rule, as sentences, by the id of the rule."""

    def add(self, violation: Violation) -> None:
        kept = self.setdefault(violation.rule.id, [])
        if len(kept) < _MAX_DETAILS:
            place = "at the end" if violation.index is None else f"part {violation.index}"
            kept.append(f"{place}: {violation.detail}")


@dataclass(slots=True)
class Judgement:
    """The findings of one recording.

    Attributes:
        checker: What has judged it.
        details: The first violations of each broken rule, as sentences, by the id of the rule.
        finish: How the stream ended.
        parts: The number of parts by class.
        unmapped: The number of events without a part by type.
    """

    checker: ContractChecker
    details: dict[str, list[str]]
    finish: Finish
    parts: Counter[str] = field(default_factory=Counter)
    unmapped: Counter[str] = field(default_factory=Counter)

    def verdict(self, rule: Rule) -> RuleVerdict:
        """The verdict on one rule."""
        if self.count(rule):
            return RuleVerdict.BROKEN if rule.level is Level.MUST else RuleVerdict.WARNING
        return RuleVerdict.KEPT if self.missing(rule) is None else RuleVerdict.NOT_JUDGED

    def missing(self, rule: Rule) -> str | None:
        """What the stream lacks to show whether an unbroken rule is kept; None where it lacks nothing."""
        has_end, has_error = self.finish.outcome is not Outcome.TRUNCATED, self.finish.error is not None
        return missing_evidence(rule, self.checker, self.parts, has_end=has_end, has_error=has_error)

    def count(self, rule: Rule) -> int:
        """How often a rule was broken."""
        return self.checker.counts[rule.id]

    @property
    def broken(self) -> list[tuple[Rule, int]]:
        """The rules that were broken, and how often."""
        return [(rule, count) for rule in RULES.values() if (count := self.count(rule))]

    @property
    def kept(self) -> bool:
        """Whether no MUST is broken."""
        return all(self.verdict(rule) is not RuleVerdict.BROKEN for rule in RULES.values())

    @property
    def is_vacuous(self) -> bool:
        """Whether there was nothing to judge: a stream that failed or broke before its first part."""
        return not self.parts and self.finish.error is not None


def judge(recording: Recording, protocol: str | None, tools: Iterable[str] | None) -> Judgement:
    """Judges a recording.

    Args:
        recording: The recording.
        protocol: The name of its protocol, or None to tell it from the recording.
        tools: The names of the request's tools, or None for those that the recording holds, if any.

    Raises:
        RecordingError: It cannot be read, or is of no known protocol.
    """
    options = StreamOptions(call_id_prefix=GATEWAY_CALL_ID_PREFIX)
    details = _Details()
    if tools is None:
        tools = recording.tools(protocol)
    checker = ContractChecker(tools, CheckMode.LENIENT, details.add, namespace=recording.namespace(options))
    parts: Counter[str] = Counter()
    unmapped: Counter[str] = Counter()
    finish: Finish | None = None
    for output in recording.outputs(protocol, options, _CHUNK_SIZE):
        if isinstance(output, Finish):
            finish = output
            _end(checker, output)
        elif isinstance(output, Unmapped):
            unmapped[output.type] += 1
        else:
            parts[type(output).__name__] += 1
            checker.check(output)
    if finish is None:
        raise AssertionError("every stream ends with a Finish")
    return Judgement(checker, details, finish, parts, unmapped)


def _end(checker: ContractChecker, finish: Finish) -> None:
    if finish.error is None:
        checker.complete()
    else:
        checker.fail(finish.error)
