"""The settings of a server: every number has a row with its bounds, and what is out of them is refused by name."""

from __future__ import annotations
import math
from dataclasses import fields

import pytest

from partstream.codec.checks import InvalidArgumentError
from partstream.server.settings import SERVING_NUMBERS, ServingSettings

every_number = pytest.mark.parametrize("number", SERVING_NUMBERS, ids=lambda number: number.name)


def test_every_number_has_a_row_and_every_row_is_a_number_with_that_default():
    numbers = {field.name: field.default for field in fields(ServingSettings) if field.type in {"int", "float"}}
    assert {number.name: number.default for number in SERVING_NUMBERS} == numbers


@every_number
def test_a_number_may_be_at_its_bounds_and_not_beyond(number):
    kind = int if number.is_whole else float
    for value in (number.least, number.most):
        assert getattr(ServingSettings(**{number.name: kind(value)}), number.name) == value
    for value in (number.least - 1, number.most + 1, "5", True, None, math.nan):
        with pytest.raises(InvalidArgumentError, match=rf"ServingSettings\.{number.name}: got .*{number.unit}"):
            ServingSettings(**{number.name: value})


@every_number
def test_a_row_says_what_the_number_does_in_a_phrase(number):
    assert number.says[0].isupper()
    assert not number.says.endswith(".")


@pytest.mark.parametrize(("name", "value"), [("token", "text"), ("authenticate", 5), ("state_folder", "folder")])
def test_a_value_of_another_kind_is_refused_and_a_key_is_not_shown(name, value):
    with pytest.raises(InvalidArgumentError, match=name):
        ServingSettings(**{name: value})
