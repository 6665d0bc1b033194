"""The baseline: the checks that are known to fail, in a file of the target's author; CI then fails for new ones only.

An entry that no longer fails is stale and fails the run: a baseline only ever gets shorter, and a mistake of the kit
that was mended shows as well. The command and the pytest plugin read the same file::

    [expected]
    "tool-call.unique-call-id/two-calls" = "the final snapshot is handed out again: issue 12"

or, as JSON, `{"expected": {"tool-call.unique-call-id/two-calls": "..."}}`.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from partstream.conformance.verdicts import CheckResult, Verdict
from partstream.errors import CallerError
from partstream.lm.contract import RULES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

__all__ = ["Baseline", "BaselineError", "StaleEntry", "baseline_text", "read_baseline"]

_FAILING: Final = frozenset({Verdict.FAILED, Verdict.UNTESTABLE, Verdict.WARNING})
"""The verdicts that an entry may expect."""
_SAYING_NOTHING: Final = frozenset({Verdict.NOT_JUDGED, Verdict.ERROR})
"""The verdicts that do not show whether an entry is still right."""


class BaselineError(CallerError):
    """A baseline cannot be read.

    Attributes:
        path: Which one.
        reason: What is wrong with it, and what was expected.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"cannot read the baseline {path}: {reason}")
        self.path = path
        self.reason = reason


@dataclass(frozen=True, slots=True)
class StaleEntry:
    """An entry that is no longer right.

    Attributes:
        id: The id of the check.
        reason: Why it is not right, as a sentence.
    """

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """The failures that are known.

    Attributes:
        expected: Why each of them is expected, by the id of the check; a reason may be empty.
    """

    expected: Mapping[str, str] = field(default_factory=dict)

    def apply(self, result: CheckResult) -> CheckResult:
        """The result, marked as expected if the baseline expects its failure."""
        if result.id in self.expected and result.verdict in _FAILING:
            return replace(result, expected=True)
        return result

    def staleness(self, result: CheckResult) -> StaleEntry | None:
        """The stale entry of a check that ran; None where there is no entry, or where it is still right."""
        if result.id not in self.expected or result.verdict in _FAILING | _SAYING_NOTHING:
            return None
        return StaleEntry(result.id, f"{result.id} is {result.verdict.value} now: take it out of the baseline.")

    def stale(self, results: Sequence[CheckResult], scenarios: Mapping[str, Collection[str]]) -> tuple[StaleEntry, ...]:
        """All stale entries: those of checks that do not fail any more, and those of no check at all.

        Args:
            results: The checks that ran. An entry of a check that was not chosen is not stale.
            scenarios: The checks of every scenario, by its slug. A rule that a scenario is not about is a check of it
                only where it is broken: its entry is stale when the whole scenario ran without that.
        """
        ran = {result.id for result in results}
        found = [stale for result in results if (stale := self.staleness(result)) is not None]
        for one in self.expected:
            rule, _, slug = one.partition("/")
            checks = scenarios.get(slug)
            if checks is None or (one not in checks and rule not in RULES):
                found.append(StaleEntry(one, _unknown(one, [each for ids in scenarios.values() for each in ids])))
            elif one not in checks and one not in ran and ran.issuperset(checks):
                found.append(StaleEntry(one, f"{one} is not broken now: take it out of the baseline."))
        return tuple(found)


def read_baseline(path: Path) -> Baseline:
    """Reads a baseline: TOML, or JSON if the name of the file ends with `.json`.

    Raises:
        BaselineError: The file cannot be read, or has another shape.
    """
    try:
        data = path.read_bytes()
        value: Any = json.loads(data) if path.suffix == ".json" else tomllib.loads(data.decode())
    except OSError as error:
        raise BaselineError(str(path), error.strerror or str(error)) from error
    except ValueError as error:  # of JSON, of TOML, of UTF-8
        raise BaselineError(str(path), str(error)) from error
    if not isinstance(value, dict) or set(value) != {"expected"} or not _is_table_of_texts(value["expected"]):
        expected = "expected one table named `expected`, from the id of a check to the reason"
        raise BaselineError(str(path), expected)
    return Baseline(MappingProxyType(value["expected"]))


def baseline_text(results: Iterable[CheckResult], reason: str = "") -> str:
    """The baseline, as TOML, that expects every failure of a run; to begin with."""
    failing = [one.id for one in results if one.verdict in {Verdict.FAILED, Verdict.UNTESTABLE} and one.scored]
    lines = [f"{json.dumps(one)} = {json.dumps(reason)}" for one in sorted(failing)]
    return "\n".join(("[expected]", *lines, ""))


def _is_table_of_texts(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())


def _unknown(one: str, known: Collection[str]) -> str:
    near = get_close_matches(one, known, n=1)
    meant = f"; did you mean {near[0]}?" if near else "."
    return f"{one} is no check of this version{meant}"
