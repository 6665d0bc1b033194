"""Ties tests to rules: `@breaks(rule)` and `@keeps(rule)` turn a scenario on a checker into a test.

The decorators judge the scenario themselves, so a test cannot claim a rule that it does not touch. Known names of
rules only; `test_rules.py` fails for a rule that lacks either kind.
"""

from collections.abc import Callable
from typing import Any

import pytest

from partstream.errors import ContractViolationError
from partstream.lm.contract import RULES, CheckMode, ContractChecker, Level

Scenario = Callable[[ContractChecker], object]

BREAKING: dict[str, list[str]] = {}
KEEPING: dict[str, list[str]] = {}


def breaks(rule_id: str, **knowledge: Any) -> Callable[[Scenario], Callable[[], None]]:
    """The scenario breaks this rule and no other, in both modes; strict mode raises when the rule is a MUST."""
    rule = _known(rule_id)

    def decorate(scenario: Scenario) -> Callable[[], None]:
        def test() -> None:
            reported: list[str] = []
            lenient = ContractChecker(
                mode=CheckMode.LENIENT, on_violation=lambda violation: reported.append(violation.rule.id), **knowledge
            )
            scenario(lenient)
            assert {violation.rule.id for violation in lenient.violations} == {rule_id}
            assert reported == [violation.rule.id for violation in lenient.violations]
            assert lenient.judges(rule)

            strict = ContractChecker(mode=CheckMode.STRICT, **knowledge)
            if rule.level is Level.MUST:
                with pytest.raises(ContractViolationError) as caught:
                    scenario(strict)
                assert (caught.value.rule_id, caught.value.section) == (rule_id, rule.section)
            else:
                scenario(strict)
            assert set(strict.counts) == {rule_id}

        return _registered(BREAKING, rule_id, scenario, test)

    return decorate


def keeps(rule_id: str, **knowledge: Any) -> Callable[[Scenario], Callable[[], None]]:
    """The scenario keeps this rule and all others, and gives the checker what it takes to judge the rule."""
    rule = _known(rule_id)

    def decorate(scenario: Scenario) -> Callable[[], None]:
        def test() -> None:
            checker = ContractChecker(mode=CheckMode.STRICT, **knowledge)
            scenario(checker)
            assert checker.violations == []
            assert checker.judges(rule)

        return _registered(KEEPING, rule_id, scenario, test)

    return decorate


def _known(rule_id: str) -> Any:
    assert rule_id in RULES, f"a test names the rule {rule_id!r}, which is not in RULES"
    return RULES[rule_id]


def _registered(
    registry: dict[str, list[str]], rule_id: str, scenario: Scenario, test: Callable[[], None]
) -> Callable[[], None]:
    registry.setdefault(rule_id, []).append(scenario.__name__)
    test.__name__ = scenario.__name__
    test.__doc__ = scenario.__doc__
    return test
