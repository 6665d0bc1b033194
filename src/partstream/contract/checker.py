"""Watches one response and says which rules of the contract it breaks.

It stands between a provider and whoever reads its parts. It does no I/O and logs nothing: what it finds goes to a
callback. It does not know who calls it, nor which protocol the parts were made from.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import IntEnum, StrEnum, auto
from typing import TYPE_CHECKING, Final

from partstream.contract.part_checks import Seen, judge
from partstream.contract.rules import RULES, Evidence, Level, Rule
from partstream.errors import ContractViolationError, LanguageModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from partstream.parts import ResponsePart

__all__ = ["MAX_KEPT_VIOLATIONS", "CheckMode", "CodePlace", "ContractChecker", "Violation"]

MAX_KEPT_VIOLATIONS: Final = 1000
"""How many violations a checker keeps; all of them are counted and reported."""


class CheckMode(StrEnum):
    """What becomes of a part that breaks a MUST."""

    STRICT = "strict"
    """The checker raises, naming the rule."""
    LENIENT = "lenient"
    """The part is dropped, and the violation reported."""


@dataclass(frozen=True, slots=True)
class CodePlace:
    """A line of a provider's source; written as `file:line`.

    Attributes:
        file: The path of the file, as Python knows it.
        line: The number of the line, from 1.
    """

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Violation:
    """One rule broken once.

    Attributes:
        rule: The rule.
        detail: What the provider did.
        index: The position of the part in the stream as reported, from 0; None when the end of the stream broke it.
        place: The line of the provider that reported the part, or None where it is unknown.
    """

    rule: Rule
    detail: str
    index: int | None
    place: CodePlace | None = None

    def __str__(self) -> str:
        """For a log: `rule-id at file:line. The sentence of the rule. Here: what the provider did.`"""
        at = "" if self.place is None else f" at {self.place}"
        return f"{self.rule.id}{at}. {self.rule.text} Here: {self.detail}."


class _State(IntEnum):
    OPEN = auto()
    CANCELLED = auto()
    ENDED = auto()


# Looked up once for every part: a member of an enumeration takes a fifth of the whole check to find in Python 3.11.
_OPEN: Final = _State.OPEN

# Which rule a part breaks that comes when no more parts may come; a state without a row still takes parts.
_LATE_PART: Final = {
    _State.CANCELLED: RULES["cancellation.nothing-after"],
    _State.ENDED: RULES["stream.nothing-after-completion"],
}


class ContractChecker:
    """Checks the parts of one response; needs a constant time for a text part and keeps nothing of it.

    A broken SHOULD is reported in both modes and stops nothing.

    Args:
        tools: The names of the request's tools, or None when they are unknown: then names are not compared.
        mode: What becomes of a part that breaks a MUST.
        on_violation: Called with each violation, before anything is raised; a host logs here.
        namespace: What the provider's call ids should start with, or None when it is unknown.
        locate: Called for a part that breaks a rule, and only then: says which line of the provider reported it. A
            checker knows no stack; :class:`partstream.checked_progress.CheckedProgress` does.

    Attributes:
        violations: What was found, in order; the first :data:`MAX_KEPT_VIOLATIONS` of it.
        counts: How often each rule was broken, by its id.
    """

    def __init__(
        self,
        tools: Iterable[str] | None = None,
        mode: CheckMode = CheckMode.STRICT,
        on_violation: Callable[[Violation], object] | None = None,
        *,
        namespace: str | None = None,
        locate: Callable[[], CodePlace | None] = lambda: None,
    ) -> None:
        self.violations: list[Violation] = []
        self.counts: Counter[str] = Counter()
        self._mode = mode
        self._on_violation = on_violation
        self._locate = locate
        self._state = _State.OPEN
        self._seen = Seen(None if tools is None else frozenset(tools), namespace)
        self._count = 0
        self._position: int | None = None
        self._evidence: set[Evidence | None] = {None}
        if tools is not None:
            self._evidence.add(Evidence.TOOLS)
        if namespace is not None:
            self._evidence.add(Evidence.NAMESPACE)

    def check(self, part: ResponsePart, position: int | None = None) -> ResponsePart | None:
        """Takes the next part that the provider reports.

        Args:
            part: The part; anything else is a violation too.
            position: Where in the response the model generated it, as any number that grows, or None when unknown.

        Returns:
            The part when it may be handed on, or None when it must not be.

        Raises:
            ContractViolationError: The part breaks a MUST and the mode is strict.
        """
        index = self._count
        self._count = index + 1
        if self._state is not _OPEN:
            self._report(_LATE_PART[self._state], f"a {type(part).__name__} came", index)
            return None
        if position is not None and not self._in_order(position, index):
            return None
        for rule, detail in judge(part, self._seen):
            self._report(rule, detail, index)
            if rule.level is Level.MUST:
                return None
        return part

    def cancel(self) -> None:
        """Says that the request was cancelled; after the end of the response it means nothing."""
        if self._state is _State.OPEN:
            self._state = _State.CANCELLED
            self._evidence.add(Evidence.CANCELLATION)

    def complete(self) -> None:
        """Says that the response resolved.

        Raises:
            ContractViolationError: The end breaks a MUST and the mode is strict.
        """
        before = self._end("resolved")
        if before is not _State.OPEN:
            return
        self._evidence.add(Evidence.COMPLETION)
        if not self._seen.visible:
            rule = RULES["stream.visible-part"]
            self._report(rule, f"it completed without text and without a tool call, in {self._count} parts", None)

    def fail(self, error: BaseException) -> None:
        """Says that the response was rejected with `error`.

        Raises:
            ContractViolationError: The end breaks a MUST and the mode is strict.
        """
        before = self._end(f"rejected with {type(error).__name__}")
        if before is _State.ENDED:
            return
        if before is _State.CANCELLED:
            rule = RULES["cancellation.resolves"]
            self._report(rule, f"it was rejected with {type(error).__name__}", None)
            return
        self._evidence.add(Evidence.FAILURE)
        if not isinstance(error, LanguageModelError):
            rule = RULES["failure.language-model-error"]
            self._report(rule, f"it was rejected with {type(error).__name__}", None)

    def judges(self, rule: Rule) -> bool:
        """Whether the checker has learnt what it takes to judge `rule`: without that, "not broken" means nothing."""
        return rule.needs in self._evidence

    def _end(self, how: str) -> _State:
        before, self._state = self._state, _State.ENDED
        if before is _State.ENDED:
            self._report(RULES["stream.ends-once"], f"it was {how} after it had ended", None)
        return before

    def _in_order(self, position: int, index: int) -> bool:
        self._evidence.add(Evidence.POSITIONS)
        last = self._position
        if last is not None and position < last:
            detail = f"a part of position {position} came after one of position {last}"
            self._report(RULES["stream.generation-order"], detail, index)
            return False
        self._position = position
        return True

    def _report(self, rule: Rule, detail: str, index: int | None) -> None:
        violation = Violation(rule, detail, index, None if index is None else self._locate())
        self.counts[rule.id] += 1
        if len(self.violations) < MAX_KEPT_VIOLATIONS:
            self.violations.append(violation)
        if self._on_violation is not None:
            self._on_violation(violation)
        if self._mode is CheckMode.STRICT and rule.level is Level.MUST:
            raise ContractViolationError(rule.id, rule.section, rule.text, detail)
