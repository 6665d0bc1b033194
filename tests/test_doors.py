"""What the README and its pages say leads to an answer: `make test PART=newcomer` types it, and these results are of
that."""

from __future__ import annotations
import json
import re
import sys
from pathlib import Path

import pytest

from tools.docs_site.code_blocks import find_blocks
from tools.doors.stranger import StepError, Stranger
from tools.doors.table import DOORS, Door, commands_in, commands_of
from tools.doors.tasks import TASKS, Task, block_of, is_on_page

ROOT = Path(__file__).parent.parent
DONE = json.loads((ROOT / "tools/doors/tasks.json").read_text(encoding="utf-8"))
RESULTS = json.loads((ROOT / "tools/doors/results.json").read_text(encoding="utf-8"))
MARK = re.compile(r"^<!-- door: (\w+) -->$", re.MULTILINE)


def test_every_door_of_the_pages_is_gone_through() -> None:
    marked = {
        name for page in ("README.md", "docs/install.md") for name in MARK.findall((ROOT / page).read_text("utf-8"))
    }
    assert marked == {name for door in DOORS for name in door.blocks}
    assert list(RESULTS) == [door.name for door in DOORS]


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_what_was_typed_is_what_the_pages_say_now(door: Door) -> None:
    assert [step["what"] for step in RESULTS[door.name]["commands"]] == commands_of(door)
    assert bool(RESULTS[door.name]["by_hand"]) is bool(door.by_hand)


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_what_was_seen_behind_a_door_is_what_it_promises(door: Door) -> None:
    assert RESULTS[door.name]["saw"]
    assert str(ROOT) not in json.dumps(RESULTS[door.name])


def test_a_door_whose_block_no_page_has_is_refused_with_its_name() -> None:
    with pytest.raises(ValueError, match=r"attic: no page of .* has a block marked 'nowhere'"):
        commands_of(Door("attic", "", ("nowhere",), ""))


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_a_task_is_done_by_what_its_page_says_now(task: Task) -> None:
    page = (ROOT / task.page).read_text(encoding="utf-8")
    assert [command for command in task.commands if not is_on_page(command, page)] == []
    assert not task.saved or block_of(task)
    ways = [*task.commands, *filter(None, (task.runs,))]
    assert [step["what"] for step in DONE[task.name]["steps"]][-len(ways) :] == ways


def test_ten_tasks_were_done() -> None:
    assert list(DONE) == [task.name for task in TASKS]
    assert len(DONE) == 10
    assert str(ROOT) not in json.dumps(DONE)


def test_a_task_whose_block_is_on_no_page_is_refused_with_its_name() -> None:
    with pytest.raises(ValueError, match=r"attic: 0 blocks of docs/install.md have 'nowhere'"):
        block_of(Task("attic", "", "docs/install.md", phrase="nowhere"))


HAS_CLONES = pytest.mark.skipif(
    sys.platform == "win32" or not (ROOT / ".git").exists(), reason="a shell and a repository to clone are needed"
)


@pytest.fixture
def stranger(tmp_path: Path) -> Stranger:
    return Stranger(tmp_path)


@HAS_CLONES
def test_a_stranger_has_nothing_of_ours_and_keeps_folder_and_variables_from_command_to_command(
    stranger: Stranger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody-else")
    stranger.types("export WORD=kept; cd docs")
    _, said = stranger.types("echo $WORD ${OPENAI_API_KEY:-none} $(basename $PWD); ls -A ~")
    assert said == "kept none docs\n"
    assert stranger.here.endswith("/partstream/docs")


HEAVY = {"make demo", "make vsix", "code --install-extension dist/partstream-*.vsix"}
"""Commands of the README that `make test PART=newcomer` types: they build an environment and the extension, or need VS
Code."""


@HAS_CLONES
@pytest.mark.timeout(600)
def test_the_readme_can_be_typed_from_top_to_bottom_in_one_shell(stranger: Stranger) -> None:
    """No command depends on a folder that one before it has left, or on an environment of this project's."""
    blocks = find_blocks("README.md", (ROOT / "README.md").read_text(encoding="utf-8"))
    typed = [line for block in blocks if block.language == "sh" for line in commands_in(block)]
    assert set(typed) >= HEAVY
    said = [stranger.types(line)[1] for line in typed if line not in HEAVY]
    assert [line for line in typed if line.startswith("pip install")] == ["pip install ./packages/partstream"]
    assert "You said: hello" in said[-2]
    assert re.search(r"part: TextPart[\s\S]*completed", said[-1])


@HAS_CLONES
def test_a_command_that_fails_is_an_error_with_its_words(stranger: Stranger) -> None:
    with pytest.raises(StepError, match=r"ls nowhere: .*nowhere"):
        stranger.types("ls nowhere")
