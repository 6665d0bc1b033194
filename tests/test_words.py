"""Turns of phrase that a native technical writer avoids: each is counted, and its number may only fall."""

from __future__ import annotations
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Final

import pytest

PROJECT: Final = Path(__file__).resolve().parents[1]

# The pattern, how often it may occur in code, tests and pages, and what to write. A change that removes some lowers the
# row. Words for people are in three kinds of files; CHANGELOG.md is history, and this table quotes what it forbids.
# A person or a model that a test calls `nobody` is a name.
AVOIDED: Final[dict[str, tuple[int, str]]] = {
    r"stands (in|under|behind|beside|before|there|where)": (0, "is in, precedes, follows"),
    r"(behind|before) (it|them) stands?": (0, "follows, precedes"),
    r"(is|are) told(?! apart)": (0, "receives, is notified of; or name who sends what"),
    r"goes by": (0, "passes"),
    r"of no use": (0, "invalid, unusable"),
    r"at the most": (0, "at most"),
    r"(?<![\"'/.-])(nobody|somebody)(?![\"'/.:])": (2, "no caller, no client, a user; or the passive voice"),
    r"whoever": (0, "the caller, a client, a user"),
    r"is found out": (0, "is detected, is determined"),
    r"in the place of": (0, "instead of"),
    r"what (\w+ ){1,3}says? of": (0, "the description of; name the noun"),
    r"says? of itself": (0, "reports"),
    r"made up": (1, "invented, synthetic"),
    r"hands? out": (0, "returns, emits"),
    r"behind": (263, "after, below, upstream of; `behind a proxy` is right"),
    r"stands?": (127, "is, has, means, replaces"),
    r"facts \d": (4, "a link into docs/wires"),
}

_CONSTANTS: Final = re.compile(r"\b[A-Z_]{4,}\b")


@cache
def _words() -> dict[str, str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", "*.py", "*.md", "*.ts"], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    left_out = {"CHANGELOG.md", str(Path(__file__).relative_to(PROJECT))}
    names = [name for name in listed.stdout.split("\0") if name and name not in left_out]
    return {
        name: _CONSTANTS.sub("", (PROJECT / name).read_text(errors="replace")).lower()
        for name in names
        if (PROJECT / name).is_file()
    }


@cache
def _places(pattern: str) -> list[str]:
    wanted, part = re.compile(rf"\b(?:{pattern})\b"), re.compile(pattern)
    return [
        f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]}"
        for name, text in _words().items()
        if part.search(text)  # which skips to the first letters, where a border of words is looked for at each letter
        for match in wanted.finditer(text)
    ]


@pytest.mark.parametrize("pattern", AVOIDED)
def test_a_phrase_that_reads_translated_does_not_spread(pattern: str) -> None:
    allowed, better = AVOIDED[pattern]
    places = _places(pattern)
    assert len(places) <= allowed, f"{len(places)} of {allowed} allowed; better: {better}; the last: {places[-3:]}"


@pytest.mark.parametrize("pattern", AVOIDED)
def test_a_number_that_fell_is_written_down(pattern: str) -> None:
    allowed, _ = AVOIDED[pattern]
    assert len(_places(pattern)) >= allowed * 0.9 - 3
