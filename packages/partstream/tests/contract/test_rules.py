"""The table of rules: complete, well-formed, and every rule of it both broken and kept by a test."""

import re

import pytest
import test_checker
import test_part_checks
from promises import BREAKING, KEEPING, breaks, keeps

from partstream.lm.contract import RULES, UNOBSERVABLE, Level
from rows import one_test_for

# The sections of the document about a response stream; the rest is types, rendering and plans. 9.1 lists proposals of
# VS Code's API, of which the audience is a field of parts.
SECTIONS = {"1.1", "1.2", "2.1", "2.2", "2.4", "3.1", "3.2", "3.3", "3.4", "4.1", "5.1", "5.2", "5.3", "7.3", "8.2"} | {
    "9.1"
}


@pytest.mark.parametrize(("registry", "kind"), [(BREAKING, "breaks"), (KEEPING, "keeps")])
def test_every_rule_has_a_test_that_breaks_it_and_one_that_keeps_it(registry, kind):
    missing = [rule_id for rule_id in RULES if rule_id not in registry]
    assert not missing, f"no test {kind} {', '.join(missing)}"


@pytest.mark.parametrize("registry", [BREAKING, KEEPING])
def test_every_decorated_scenario_is_a_test_that_pytest_runs(registry):
    collected = {name for module in (test_checker, test_part_checks) for name in vars(module)}
    for names in registry.values():
        for name in names:
            assert name.startswith("test_")
            assert name in collected


@pytest.mark.parametrize("decorator", [breaks, keeps])
def test_a_test_cannot_name_a_rule_that_does_not_exist(decorator):
    with pytest.raises(AssertionError, match=r"tool-call\.purple"):
        decorator("tool-call.purple")


@one_test_for("rule", RULES.values(), ids=RULES)
def test_a_rule_has_a_readable_id_a_section_and_one_sentence(rule):
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*\.[a-z0-9]+(-[a-z0-9]+)*", rule.id)
    assert rule.section in SECTIONS
    assert rule.level in Level
    assert rule.text[0].isupper()
    assert rule.text.endswith(".")


def test_every_section_that_speaks_of_the_stream_has_a_row():
    assert {row.section for row in (*RULES.values(), *UNOBSERVABLE)} == SECTIONS


def test_the_table_cannot_be_changed():
    with pytest.raises(TypeError):
        RULES["part.known-class"] = None
