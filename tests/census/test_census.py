"""No field goes without a word: it arrives, is refused by its name, or is named as dropped.

The table of fates is committed. `tools/generate.py` takes it anew, and tests/test_generated.py fails where it is not
that of today. Taking it costs a processor eight seconds, so no test here takes it again.
"""

import pytest

from census.fates import DIRECTIONS
from census.fields import fields_of
from census.table import kept_table
from census.wires import WIRES

EVERY = [(direction, wire) for direction in DIRECTIONS for wire in WIRES]


@pytest.mark.parametrize(("direction", "wire"), EVERY)
def test_no_field_goes_without_a_word(direction, wire):
    silent = kept_table().silent(direction, wire)
    assert not any(silent), (
        f"carry, refuse or name them: docs/maintainers/translation.md loses them ({silent} by wires)"
    )


@pytest.mark.parametrize(("direction", "wire"), EVERY)
def test_each_field_has_one_path_and_wholes_that_differ_in_it(direction, wire):
    fields = fields_of(wire, direction)
    assert len({field.path for field in fields}) == len(fields)
    same = [
        field.path for field in fields if not field.is_required and all(one == field.without for one in field.wholes)
    ]
    assert same == []
