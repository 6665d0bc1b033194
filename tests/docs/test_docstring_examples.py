"""The examples in the docstrings of public names run, and every name that is used by its own has one."""

from __future__ import annotations
import doctest
import inspect
import typing
from enum import Enum
from typing import Any

import pytest

import partstream
from offences import assert_none

PARSER = doctest.DocTestParser()
WITHOUT = {
    "CodePlace": "a violation has it",
    "Framing": "for protocols: docs/maintainers/adding-a-protocol.md has a whole one",
    "LoopFinished": "an event of stream_tool_loop",
    "PartReceived": "an event of stream_tool_loop",
    "RoundStarted": "an event of stream_tool_loop",
    "Rule": "a violation has it; docs/contract.md lists all",
    "ToolCallStarted": "an event of stream_tool_loop",
    "ToolLoopResult": "what run_tool_loop returns",
    "ToolResultReceived": "an event of stream_tool_loop",
    "Violation": "what ContractChecker gives",
}
"""Names that users do not make themselves, each with where it comes from."""


def _is_used_by_its_own(value: Any) -> bool:
    """Whether it is a function, or a class that is neither an error, a choice of words nor the type of something."""
    if not inspect.isclass(value):
        return inspect.isroutine(value)
    is_type = typing.is_typeddict(value) or getattr(value, "_is_protocol", False)
    return not is_type and not issubclass(value, BaseException | Enum)


USED = [name for name in partstream.__all__ if _is_used_by_its_own(getattr(partstream, name))]
DOCSTRINGS = {name: inspect.getdoc(getattr(partstream, name)) or "" for name in partstream.__all__}
WITH_EXAMPLES = [name for name, text in DOCSTRINGS.items() if PARSER.get_examples(text)]


def test_every_name_that_is_used_by_its_own_has_an_example() -> None:
    assert_none(sorted(set(USED) - set(WITH_EXAMPLES) - set(WITHOUT)))


def test_a_name_is_excused_only_where_it_has_no_example() -> None:
    assert sorted(set(WITHOUT) - set(USED)) == []
    assert sorted(set(WITHOUT) & set(WITH_EXAMPLES)) == []


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_example_of_a_name_gives_what_it_says(name: str) -> None:
    example = PARSER.get_doctest(DOCSTRINGS[name], {}, name, None, None)
    said: list[str] = []
    failed = doctest.DocTestRunner(verbose=False).run(example, out=said.append)
    assert failed.failed == 0, "".join(said)
