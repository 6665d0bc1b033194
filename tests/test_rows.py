"""One test for many rows fails where a row fails, and names it."""

import re
from typing import Any

import pytest

from rows import one_test_for


def _halves(value: int) -> None:
    assert value % 2 == 0


def test_every_row_is_tried_and_those_that_fail_are_named() -> None:
    tried = []

    @one_test_for("value", [1, 2, pytest.param(3, id="three")], ids=["one", "two", "-"])
    def test(value: int) -> None:
        tried.append(value)
        _halves(value)

    with pytest.RaisesGroup(AssertionError, AssertionError, match="2 of 3 rows fail") as caught:
        test()
    assert tried == [1, 2, 3]
    assert [one.__notes__ for one in caught.value.exceptions] == [["in the row one"], ["in the row three"]]


def test_one_error_is_raised_as_it_is() -> None:
    with pytest.raises(AssertionError) as caught:
        one_test_for(("value", "other"), [(2, "a"), (1, "b")])(lambda value, other: _halves(value))()
    assert caught.value.__notes__ == ["in the row 1: 1-b"]


class _Unshown:
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("value", "ids", "name"),
    [(1, None, "0: 1"), (1, lambda value: f"<{value}>", "0: <1>"), (_Unshown(), None, "0: _Unshown")],
)
def test_a_row_without_a_name_is_named_by_its_values(value: object, ids: Any, name: str) -> None:
    def test(value: object) -> None:
        assert value is None

    with pytest.raises(AssertionError) as caught:
        one_test_for("value", [value], ids)(test)()
    assert caught.value.__notes__ == [f"in the row {name}"]


def test_a_table_without_a_row_is_skipped() -> None:
    (mark,) = one_test_for("value", [])(_halves).pytestmark  # type: ignore[attr-defined]
    assert mark.name == "skip"


@pytest.mark.parametrize("size", [2, 4])
@one_test_for("value", range(3))
def test_other_arguments_are_those_of_pytest(value: int, size: int, request: pytest.FixtureRequest) -> None:
    assert value < 3 <= size + 1
    assert re.search(rf"\[{size}\]$", request.node.nodeid)


@pytest.mark.parametrize(
    ("rows", "ids", "says"),
    [([1, 2], ["one"], "shorter"), ([1, pytest.param(2, marks=pytest.mark.recordings)], None, "same marks")],
)
def test_a_table_that_is_wrong_is_refused(rows: list[Any], ids: list[str] | None, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        one_test_for("value", rows, ids)
