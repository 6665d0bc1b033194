"""What docs/hub.md says: a newcomer's commands do it as they are written, and its files are read."""

from __future__ import annotations
import re
from pathlib import Path

import pytest

from newcomer import FOLLOWS_PAGES, Newcomer
from partstream_hub.configuration import TABLES, UnusableHubFileError, read_hub_file

GUIDE = (Path(__file__).resolve().parents[4] / "docs" / "hub.md").read_text(encoding="utf-8")
PATH = GUIDE.partition("## From nothing")[2].partition("\n## ")[0]
BLOCKS = re.findall(
    r"<!-- run by: packages/partstream-hub/tests/cli/test_hub_guide.py -->\n"
    r"```sh\n(.*?)```\n(?:(?:[^`]*\n)?```text\n(.*?)```)?",
    PATH,
    re.DOTALL,
)
"""Each block of commands, and what the guide shows of its output: a block of text that follows it."""
SERVE = "partstream serve --hub --demo"
VARIES = (
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d"), "MOMENT"),
    (re.compile(r"\d+\.\d+ USD (spent|left)"), r"AMOUNT \1"),
)
"""What is another at each run: times, and what is left to the millionth of a dollar."""

pytestmark = FOLLOWS_PAGES


def _without_what_varies(text: str) -> str:
    for pattern, constant in VARIES:
        text = pattern.sub(constant, text)
    return text


def _outputs(folder: Path) -> list[tuple[str, str]]:
    """What each block of the guide prints, and what the guide shows of it."""
    newcomer = Newcomer(folder)
    place = next(number for number, (commands, _) in enumerate(BLOCKS) if commands.strip() == SERVE)
    printed = [(newcomer.run(commands).text, shown) for commands, shown in BLOCKS[:place]]
    with newcomer.running(SERVE):
        printed += [(newcomer.run(commands).text, shown) for commands, shown in BLOCKS[place + 1 :]]
    return printed


def test_from_nothing_two_people_chat_on_own_keys_and_one_of_them_runs_into_the_budget(tmp_path: Path) -> None:
    outputs = _outputs(tmp_path)
    for printed, shown in outputs:
        for line in filter(None, _without_what_varies(shown).splitlines()):
            assert line in _without_what_varies(printed)
    made, ana, ben, looked = (printed for printed, _ in outputs)
    assert "Made a hub in" in made
    assert "HTTP" not in ana
    assert "118, 119, 120" in ben  # the first answer is whole
    assert ben.count("does not cover this request") == 1  # and the official clients do not ask again
    assert re.search(r"^ben +1 ", looked, re.MULTILINE)
    assert "1 USD/day" in looked
    assert not re.search(r"psk_|psj_", "".join(printed for printed, _ in outputs))


def test_the_path_shows_what_every_person_sees() -> None:
    assert [bool(shown) for _, shown in BLOCKS] == [False, False, True, True, True]


def test_the_file_of_the_guide_is_read_and_its_fault_is_said_as_shown() -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)
    document = read_hub_file(text)
    assert {section: len(document[section]) for section in TABLES} == {"models": 2, "teams": 1, "people": 2}
    wrong = text.replace('"20M tokens/week"', '"5 EUR/day"').replace('ben]\nteam = "lab"', 'ben]\nteam = "labs"')
    with pytest.raises(UnusableHubFileError) as caught:
        read_hub_file(wrong)
    assert f"```text\n{caught.value}\n```" in GUIDE


def test_the_guide_names_every_command_and_no_other() -> None:
    from partstream_hub.commands import COMMANDS

    table = GUIDE.partition("## Commands")[2].partition("\n## ")[0]
    rows = [line.partition(" | ")[0] for line in table.splitlines() if line.startswith("| `")]
    named = {word for row in rows for word in re.findall(r"`(?:partstream hub )?([a-z]+)", row)}
    assert named == set(COMMANDS)


def test_the_policy_of_the_guide_is_one() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    functions: dict[str, object] = {}
    exec(compile(code, "docs/hub.md", "exec"), functions)  # noqa: S102 - as its readers run it
    assert callable(functions["before_request"])
    assert callable(functions["at_end"])
