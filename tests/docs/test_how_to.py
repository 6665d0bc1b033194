"""The page of tasks: each has something to do and a page behind it, and the commands in it are commands."""

from __future__ import annotations
import re
from pathlib import Path

import pytest

from offences import assert_none

from . import commands

PAGE = (Path(__file__).resolve().parents[2] / "docs/questions.md").read_text(encoding="utf-8")
TASKS = dict(re.findall(r"^\| (?!I want to|---)(.+?) \| (.+) \|$", PAGE, re.MULTILINE))
FEWEST = 20
PLACEHOLDERS = {"URL": "http://127.0.0.1/v1", "FILE": "answer.sse", "OUT": "issue.md", "CLIENT": "codex"}
"""What a reader puts in, and something that can stand there."""


def test_there_are_tasks_enough_and_none_stands_there_twice() -> None:
    rows = re.findall(r"^\| (?!I want to|---).*$", PAGE, re.MULTILINE)
    assert FEWEST <= len(rows) == len(TASKS)


@pytest.mark.parametrize("task", TASKS)
def test_a_task_says_what_to_do_and_leads_to_a_page(task: str) -> None:
    done = TASKS[task]
    assert re.search(r"\]\([\w./-]+\.md(#[\w-]+)?\)", done)
    assert not done.startswith("[")


@pytest.mark.parametrize("task", [task for task, done in TASKS.items() if "`partstream " in done])
def test_a_command_of_a_task_is_taken_by_the_real_one(task: str, tmp_path: Path) -> None:
    found = re.findall(r"`(partstream [^`]+)`", TASKS[task])
    typed = [" ".join(PLACEHOLDERS.get(word, word) for word in one.split()) for one in found]
    typed = [one.replace("BEFORE AFTER", "answer.sse other.sse") for one in typed]
    assert_none(fault for one in typed for fault in commands.faults(one, tmp_path))
