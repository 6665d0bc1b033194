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
    ("request", "openresponses"): (6, 10, 13, 9, 11),
    ("request", "chat-completions"): (6, 1, 7, 6, 6),
    ("request", "anthropic-messages"): (4, 6, 6, 4, 7),
    ("request", "gemini"): (30, 32, 35, 30, 32),
    ("request", "ollama"): (2, 2, 5, 2, 1),
    ("answer", "openresponses"): (26, 31, 31, 31, 31),
    ("answer", "chat-completions"): (23, 25, 25, 27, 30),
    ("answer", "anthropic-messages"): (34, 37, 29, 38, 36),
    ("answer", "gemini"): (149, 146, 143, 142, 154),
    ("answer", "ollama"): (9, 10, 10, 10, 6),
    ("event", "openresponses"): (39, 43, 43, 43, 42),
    ("event", "chat-completions"): (22, 23, 24, 25, 26),
    ("event", "anthropic-messages"): (52, 57, 48, 59, 60),
    ("event", "gemini"): (124, 122, 123, 123, 135),
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
