"""What a provider does wrong: counted by rule, logged once each, and told without the parts' own words."""

import logging

import pytest

from partstream.lm.contract import RULES, CodePlace, Level, Violation
from partstream.vscode.hosted import BrokenRules

PLACE = CodePlace("own.py", 3)


def _violation(rule, index=0, place=PLACE):
    return Violation(rule, "the parts' own words", index, place)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_rule_is_logged_once_by_its_level_and_counted_every_time(rule, caplog):
    rules = BrokenRules("own")
    with caplog.at_level(logging.DEBUG):
        for _ in range(3):
            rules.note(_violation(rule))
    [record] = caplog.records
    assert record.levelno == {Level.MUST: logging.WARNING, Level.SHOULD: logging.INFO}[rule.level]
    for words in ("the provider own", rule.id, rule.text, "at own.py:3", "the parts' own words"):
        assert words in record.getMessage()
    assert ("The part was dropped." in record.getMessage()) == (rule.level is Level.MUST)
    assert rules.result() == [
        {
            "provider": "own",
            "rule": rule.id,
            "level": rule.level.value,
            "sentence": rule.text,
            "count": 3,
            "place": "own.py:3",
        }
    ]


def test_the_end_of_an_answer_drops_no_part_and_has_no_line(caplog):
    rules = BrokenRules("own")
    rules.note(_violation(RULES["stream.visible-part"], index=None, place=None))
    [record] = caplog.records
    assert "dropped" not in record.getMessage()
    assert " at " not in record.getMessage().partition(".")[0]
    assert rules.result()[0]["place"] is None


def test_the_rules_stand_in_the_order_in_which_they_were_broken_with_their_first_line():
    rules = BrokenRules("own")
    rules.note(_violation(RULES["data.bytes"]))
    rules.note(_violation(RULES["part.known-class"]))
    rules.note(_violation(RULES["data.bytes"], place=CodePlace("own.py", 9)))
    assert [(one["rule"], one["count"], one["place"]) for one in rules.result()] == [
        ("data.bytes", 2, "own.py:3"),
        ("part.known-class", 1, "own.py:3"),
    ]
