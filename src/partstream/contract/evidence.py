"""What an answer lacks to show whether a rule is kept: where nothing was seen, "not broken" means nothing."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from partstream.contract.rules import Evidence
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from partstream.contract.checker import ContractChecker
    from partstream.contract.rules import Rule

__all__ = ["missing_evidence"]

_PARTS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "text": (TextPart.__name__, "a text part"),
        "thinking": (ThinkingPart.__name__, "a thinking part"),
        "tool-call": (ToolCallPart.__name__, "a tool call"),
        "data": (DataPart.__name__, "a data part"),
    }
)
"""The class of the parts that a rule is about, and its name for a person, by the first word of the rule's id."""
_OF_THE_END: Final = frozenset({"stream.nothing-after-completion", "stream.ends-once"})


def missing_evidence(
    rule: Rule, checker: ContractChecker, classes: Collection[str], *, has_end: bool, has_error: bool
) -> str | None:
    """What an answer lacks to show whether an unbroken rule is kept.

    Args:
        rule: The rule.
        checker: What has judged the answer.
        classes: The names of the classes of its parts.
        has_end: Whether the end of the answer was seen; not that of a stream that breaks off.
        has_error: Whether the answer failed.

    Returns:
        What is lacking, as a person says it; None where nothing is.
    """
    if not checker.judges(rule):
        return rule.needs
    if not classes and has_error and rule.needs is not Evidence.FAILURE:
        return "a part"
    if rule.id in _OF_THE_END and not has_end:
        return "the end of the stream"
    name, shown = _PARTS.get(rule.id.partition(".")[0], ("", ""))
    return shown if name and name not in classes else None
