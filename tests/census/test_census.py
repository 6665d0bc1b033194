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
    ("request", "openresponses"): (0, 0, 0, 0, 0),
    ("request", "chat-completions"): (0, 0, 0, 0, 0),
    ("request", "anthropic-messages"): (0, 0, 0, 0, 0),
    ("request", "gemini"): (0, 0, 0, 0, 0),
    ("request", "ollama"): (0, 0, 0, 0, 0),
    ("answer", "openresponses"): (22, 23, 23, 23, 24),
    ("answer", "chat-completions"): (22, 22, 22, 24, 27),
    ("answer", "anthropic-messages"): (34, 35, 27, 36, 34),
    ("answer", "gemini"): (147, 142, 139, 138, 150),
    ("answer", "ollama"): (8, 7, 8, 7, 3),
    ("event", "openresponses"): (38, 40, 40, 40, 39),
    ("event", "chat-completions"): (18, 19, 20, 21, 22),
    ("event", "anthropic-messages"): (52, 55, 46, 57, 58),
    ("event", "gemini"): (122, 118, 119, 119, 131),
    ("event", "ollama"): (10, 9, 10, 9, 5),
}
"""The fields of a wire that go without a word to each other wire, in the order of WIRES."""

EVERY = [(direction, wire) for direction in DIRECTIONS for wire in WIRES]


@pytest.mark.timeout(600)
def test_the_table_of_fates_is_that_of_today():
    assert table_of_fates() == FATES.read_text(encoding="utf-8"), "run tools/generate.py"


@pytest.mark.timeout(600)
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
