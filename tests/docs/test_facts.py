"""Numbers that stand on several pages are those of the program, and the same on each."""

from __future__ import annotations
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from offences import assert_none
from partstream import LimitSettings
from partstream.cli import serve
from partstream.runtime.answer_files import FileLimits
from partstream.server.clients import SHORTEST_PUBLIC_TOKEN
from partstream.server.stored_answers import KEPT_DAYS, LARGEST_STORE
from partstream_devtools import commands_record as record
from partstream_devtools.capturing.capture import MOST_ANSWERS, MOST_BYTES, MOST_BYTES_OF_ONE

if TYPE_CHECKING:
    import click

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    path.relative_to(ROOT).as_posix(): re.sub(r"\s+", " ", path.read_text(encoding="utf-8"))
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
}
MEGABYTE = 1024**2
GIGABYTE = 1024**3
DAY = 24 * 3600


class Fact(NamedTuple):
    """A number of the program, and how pages say it."""

    value: str
    said: str
    pages: int


def _default(command: click.Command, option: str) -> str:
    (found,) = (one for one in command.params if option in one.opts)
    return str(found.default)


_LIMITS = LimitSettings()
FACTS = {
    "answers that are kept in memory": Fact(str(MOST_ANSWERS), r"(?:keeps?|The) (?:its |their )?last (\d+) answers", 4),
    "megabytes of them": Fact(str(MOST_BYTES // MEGABYTE), r"last \d+ answers in memory, in at most (\d+) MB", 2),
    "megabytes of one of them": Fact(str(MOST_BYTES_OF_ONE // MEGABYTE), r"Of an answer above (\d+) MB", 1),
    "days of a stored response": Fact(f"{KEPT_DAYS:g}", r"(?:answers are|response is) kept for (\d+) days", 2),
    "gigabytes of stored responses": Fact(str(LARGEST_STORE // GIGABYTE), r"Above (\d+) GiB the caller who", 1),
    "days of a recording without a name": Fact(
        f"{FileLimits(1, 1, 1).seconds / DAY:g}",
        r"(?:for|those of more than) (\d+) days(?: and in at most|, and what)",
        2,
    ),
    "characters of a token for other machines": Fact(
        str(SHORTEST_PUBLIC_TOKEN), r"(?:token of your own of|what clients present,) at least (\d+) characters", 2
    ),
    "port of the server": Fact(_default(serve.command, "--port"), r"partstream serve.{0,200}?127\.0\.0\.1:(\d+)", 2),
    "port of the recorder": Fact(_default(record.command, "--port"), r"where to listen; (\d+) unless", 1),
    "tokens of a prompt that are assumed": Fact(
        f"{_LIMITS.default_input_tokens:,}", r"a prompt may hold ([\d,]+) tokens and an answer", 1
    ),
    "tokens of an answer that are assumed": Fact(
        f"{_LIMITS.default_output_tokens:,}", r"a prompt may hold [\d,]+ tokens and an answer ([\d,]+),", 1
    ),
}


@pytest.mark.parametrize("name", FACTS)
def test_a_number_is_that_of_the_program_wherever_it_stands(name: str) -> None:
    fact = FACTS[name]
    found = [(page, value) for page, text in PAGES.items() for value in re.findall(fact.said, text)]
    assert len({page for page, _ in found}) >= fact.pages
    assert_none(f"{page}: {value}, and the program has {fact.value}" for page, value in found if value != fact.value)
