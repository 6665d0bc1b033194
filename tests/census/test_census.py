"""No field goes without a word: it arrives, is refused by its name, or is named as dropped.

The table of fates is committed; `tools/generate.py` takes it anew. Numbers of silent drops may only fall: a change that
mends some lowers the numbers here.
"""

import pytest

from census.fates import DIRECTIONS
from census.fields import fields_of
from census.table import FATES, table_of_fates, taken
from census.wires import WIRES

MOST_SILENT = {
    ("request", "openresponses"): (59, 65, 71, 67, 70),
    ("request", "chat-completions"): (17, 9, 17, 20, 19),
    ("request", "anthropic-messages"): (51, 53, 53, 52, 56),
    ("request", "gemini"): (120, 122, 125, 126, 123),
    ("request", "ollama"): (11, 11, 14, 11, 10),
    ("answer", "openresponses"): (35, 40, 40, 40, 40),
    ("answer", "chat-completions"): (23, 25, 25, 27, 30),
    ("answer", "anthropic-messages"): (42, 39, 29, 40, 45),
    ("answer", "gemini"): (181, 172, 169, 168, 186),
    ("answer", "ollama"): (9, 10, 10, 10, 6),
    ("event", "openresponses"): (46, 50, 50, 50, 49),
    ("event", "chat-completions"): (22, 23, 24, 25, 26),
    ("event", "anthropic-messages"): (60, 58, 48, 60, 68),
    ("event", "gemini"): (142, 134, 135, 135, 153),
    ("event", "ollama"): (12, 12, 12, 12, 8),
}
"""The fields of a wire that go without a word to each other wire, in the order of WIRES."""

EVERY = [(direction, wire) for direction in DIRECTIONS for wire in WIRES]


@pytest.mark.timeout(120)
def test_the_table_of_fates_is_that_of_today():
    assert table_of_fates() == FATES.read_text(encoding="utf-8"), "run tools/generate.py"


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("direction", "wire"), EVERY)
def test_fields_that_go_without_a_word_only_become_fewer(direction, wire):
    silent = taken().silent(direction, wire)
    assert silent == MOST_SILENT[direction, wire], "fewer: lower the numbers; more: carry, refuse or name the field"


@pytest.mark.parametrize(("direction", "wire"), EVERY)
def test_each_field_has_one_path_and_wholes_that_differ_in_it(direction, wire):
    fields = fields_of(wire, direction)
    assert len({field.path for field in fields}) == len(fields)
    same = [
        field.path for field in fields if not field.is_required and all(one == field.without for one in field.wholes)
    ]
    assert same == []
