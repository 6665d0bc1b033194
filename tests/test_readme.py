"""What the README says is so: its example is the file that it names, and runs; its links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_is_the_file_it_names() -> None:
    found = re.search(r"<!-- example: (\S+) -->\n```python\n(.*?)```", README, re.DOTALL)
    assert found is not None
    assert found[2] == (ROOT / found[1]).read_text(encoding="utf-8")


def test_the_example_runs_offline() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", ROOT / "examples/readme.py"],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stdout == "You said: hello\n"


@pytest.mark.parametrize("page", sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("*.md")))
def test_every_link_to_a_file_leads_to_one(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in target]
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_every_command_is_in_the_table_of_commands() -> None:
    from partstream.cli import COMMANDS

    shown = set(re.findall(r"`partstream (\w+)", README))
    assert shown == set(COMMANDS) - {"sidecar"}
