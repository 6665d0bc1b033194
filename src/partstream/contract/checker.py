"""Checks the parts of one response against the contract and reports every broken rule.

The checker stands between a provider and the reader of its parts. It does no I/O and no logging: violations go to a
callback. It knows neither its caller nor the protocol that the parts come from.
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

    from partstream.lm.parts import ResponsePart

__all__ = ["MAX_KEPT_VIOLATIONS", "CheckMode", "CodePlace", "ContractChecker", "Violation"]

MAX_KEPT_VIOLATIONS: Final = 1000
"""The most violations that a checker keeps; it counts and reports all of them."""


class CheckMode(StrEnum):
    """How a checker treats a part that breaks a MUST."""

    STRICT = "strict"
    """The checker raises an error that names the rule."""
    LENIENT = "lenient"
    """The checker drops the part and reports the violation."""


@dataclass(frozen=True, slots=True)
class CodePlace:
    """A line of a provider's source; its string form is `file:line`.

    Attributes:
        file: The path of the file, as in the code object.
        line: The number of the line, from 1.
    """

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Violation:
    """One violation of one rule.

    Attributes:
        rule: The rule.
        detail: A description of what the provider did.
        index: The index of the part in the response, from 0; None if the end of the response broke the rule.
        place: The line of the provider's code that reported the part, or None if unknown.
    """

    rule: Rule
    detail: str
    index: int | None
    place: CodePlace | None = None

    def __str__(self) -> str:
        """The violation for a log: `rule-id at file:line. The rule's sentence. Here: what the provider did.`"""
        at = "" if self.place is None else f" at {self.place}"
        return f"{self.rule.id}{at}. {self.rule.text} Here: {self.detail}."


class _State(IntEnum):
    OPEN = auto()
    CANCELLED = auto()
    ENDED = auto()


# Looked up once for every part: a member of an enumeration takes a fifth of the whole check to find in Python 3.11.
_OPEN: Final = _State.OPEN

# The rule that a part breaks by coming too late, by state; in a state without a row, parts may come.
_LATE_PART: Final = {
    _State.CANCELLED: RULES["cancellation.nothing-after"],
    _State.ENDED: RULES["stream.nothing-after-completion"],
}


class ContractChecker:
    """Checks the parts of one response. A text part takes constant time and leaves no copy behind.

    Both modes report a broken SHOULD and let the part pass.

    Args:
        tools: The names of the request's tools; with None, tool names are not compared.
        mode: How to treat a part that breaks a MUST.
        on_violation: Called with each violation, before an error is raised; a host logs here.
        namespace: The prefix that the provider's call ids should have, or None if unknown.
        locate: Called only for a part that breaks a rule; returns the line of the provider's code that reported it.
            The checker does not look at the stack; :class:`partstream.checked_progress.CheckedProgress` does.

    Attributes:
        violations: The first :data:`MAX_KEPT_VIOLATIONS` violations, in order.
        counts: The number of violations of each rule, by rule id.

    Example:
        >>> from partstream import CheckMode, ContractChecker, ToolCallPart
        >>> checker = ContractChecker(mode=CheckMode.LENIENT)
        >>> for _ in range(2):
        ...     part = checker.check(ToolCallPart("call-1", "read_file", {}))
        >>> part is None, checker.violations[0].rule.id
        (True, 'tool-call.unique-call-id')
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
        """Checks the next part that the provider reports.

        Args:
            part: The part; an object of any other class is a violation.
            position: The part's place in the order of generation, as a number that grows; None if unknown.

        Returns:
            The part if it may be handed on, otherwise None.

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
        is_kept = True
        for rule, detail in judge(part, self._seen):
            self._report(rule, detail, index)
            is_kept = is_kept and rule.level is not Level.MUST
        return part if is_kept else None

    def cancel(self) -> None:
        """Records that the request was cancelled; has no effect after the end of the response."""
        if self._state is _State.OPEN:
            self._state = _State.CANCELLED
            self._evidence.add(Evidence.CANCELLATION)

    def complete(self) -> None:
        """Records that the response resolved.

        Raises:
            ContractViolationError: The end breaks a MUST and the mode is strict.
        """
        before = self._end("resolved")
        if before is not _State.OPEN:
            return
        self._evidence.add(Evidence.COMPLETION)
        if not self._seen.visible:
            rule = RULES["stream.visible-part"]
            detail = f"the response completed without text, a tool call or data (parts: {self._count})"
            self._report(rule, detail, None)

    def fail(self, error: BaseException) -> None:
        """Records that the response was rejected with `error`.

        Raises:
            ContractViolationError: The end breaks a MUST and the mode is strict.
        """
        before = self._end(f"rejected with {type(error).__name__}")
        if before is _State.ENDED:
            return
        if before is _State.CANCELLED:
            rule = RULES["cancellation.resolves"]
            self._report(rule, f"the response was rejected with {type(error).__name__}", None)
            return
        self._evidence.add(Evidence.FAILURE)
        if not isinstance(error, LanguageModelError):
            rule = RULES["failure.language-model-error"]
            self._report(rule, f"the response was rejected with {type(error).__name__}", None)

    def judges(self, rule: Rule) -> bool:
        """Whether the checker has the evidence to judge `rule`; without it, "not broken" means nothing."""
        return rule.needs in self._evidence

    def _end(self, how: str) -> _State:
        before, self._state = self._state, _State.ENDED
        if before is _State.ENDED:
            self._report(RULES["stream.ends-once"], f"the response was {how} after its end", None)
        return before

    def _in_order(self, position: int, index: int) -> bool:
        self._evidence.add(Evidence.POSITIONS)
        last = self._position
        if last is not None and position < last:
            detail = f"a part with position {position} came after one with position {last}"
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
