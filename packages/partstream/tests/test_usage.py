"""The usage part that VS Code's context widget reads, made only when the upstream said enough."""

import json
from typing import Any

import pytest

from partstream.lm.parts import USAGE_MIME_TYPE, DataPart, Usage, usage_in, usage_part
from rows import one_test_for


@one_test_for(
    ("usage", "expected"),
    [
        (Usage(3, 4), {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}),
        (Usage(3, 4, 9), {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 9}),
        (Usage(0, 0), {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}),
        (
            Usage(3, 4, 7, 1, 2),
            {
                "prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7,
                "prompt_tokens_details": {"cached_tokens": 1}, "completion_tokens_details": {"reasoning_tokens": 2},
            },
        ),
        (
            Usage(3, 4, 7, cache_write_tokens=2),
            {
                "prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7,
                "prompt_tokens_details": {"cache_creation_input_tokens": 2},
            },
        ),
    ],
)  # fmt: skip
def test_usage_becomes_the_part_that_vs_code_reads(usage: Usage, expected: dict[str, Any]) -> None:
    part = usage_part(usage)
    assert part is not None
    assert part.mime_type == USAGE_MIME_TYPE
    assert json.loads(part.data) == expected


@pytest.mark.parametrize("usage", [Usage(), Usage(3), Usage(None, 4), Usage(total_tokens=7)])
def test_half_of_the_numbers_are_no_part(usage: Usage) -> None:
    assert usage_part(usage) is None


@one_test_for("number", [float("inf"), float("nan"), -1, 2**63, 10**400], ids=range(5))
def test_a_number_that_cannot_be_is_unknown_in_the_part(number: Any) -> None:
    assert usage_part(Usage(number, 4)) is None
    assert usage_part(Usage(3, number)) is None
    part = usage_part(Usage(3, 4, number, number, number, cache_write_tokens=number), cost=number)
    assert part is not None
    assert json.loads(part.data) == {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}


READ = {
    "no JSON": (b"{", None, None),
    "no object": (b"[1]", None, None),
    "a number that no count can be": (b'{"prompt_tokens": -1, "completion_tokens": 2}', None, None),
    "a cost alone": (b'{"partstream_cost": 0.5}', None, 0.5),
    "details of another form": (
        b'{"prompt_tokens": 1, "completion_tokens": 2, "prompt_tokens_details": [1]}', Usage(1, 2, 3), None
    ),
}  # fmt: skip


@pytest.mark.parametrize(("data", "usage", "cost"), READ.values(), ids=READ)
def test_what_a_usage_part_does_not_say_is_unknown(data: bytes, usage: Usage | None, cost: float | None):
    assert usage_in(DataPart(data, USAGE_MIME_TYPE)) == (usage, cost)


def test_a_usage_part_is_read_as_it_was_made():
    usage = Usage(10, 5, 15, 4, 3, cache_write_tokens=2)
    part = usage_part(usage, 0.25)
    assert part is not None
    assert usage_in(part) == (usage, 0.25)
