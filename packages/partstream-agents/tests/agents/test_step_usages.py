"""The tokens of inner requests: those of the last one, and their sum."""

from partstream.lm.parts import Usage
from partstream_agents.answer import StepUsages


def _added(*usages: Usage) -> tuple[Usage | None, Usage | None]:
    added = StepUsages()
    for usage in usages:
        added.add(usage)
    return added.last, added.total


def test_the_last_request_is_told_and_the_sum_is_kept():
    one, two = Usage(input_tokens=10, output_tokens=2), Usage(input_tokens=20, output_tokens=3)
    assert _added(one, two) == (two, Usage(input_tokens=30, output_tokens=5))


def test_zeros_are_no_usage():
    """Frameworks say 0 where a model told nothing; VS Code would show an empty window and never compact."""
    zeros = Usage(input_tokens=0, output_tokens=0, total_tokens=0)
    told = Usage(input_tokens=10, output_tokens=2)
    assert _added(zeros) == (None, None)
    assert _added(told, zeros) == (told, told)
