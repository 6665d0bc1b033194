"""Every tutorial can be followed from an empty folder and a clean environment, and prints what it shows."""

from __future__ import annotations
import re
import sys
from pathlib import Path

import pytest

from clean_environment import SECONDS, build_wheel, install
from newcomer import FOLLOWS_PAGES
from offences import assert_none
from tools.docs_site.code_blocks import find_blocks

from . import following

FOLDER = Path(__file__).resolve().parents[2] / "docs/tutorials"
OVERVIEW = (FOLDER / "README.md").read_text(encoding="utf-8")
TUTORIALS = {
    path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.md")) if path.stem != "README"
}
MINUTES = {"ten": "10", "fifteen": "15"}
WAYS_ON = 3
NAMED = re.compile(r"`(partstream[\w-]*)`")
EXTRA = re.compile(r"with its\s+extra `(\w+)`")
HERE = Path(sys.executable).parent

pytestmark = FOLLOWS_PAGES


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheels by package: what a reader has before the first step."""
    folder = tmp_path_factory.mktemp("wheels")
    named = {package for text in TUTORIALS.values() for package in _packages(text)}
    return {package: build_wheel(folder, package) for package in sorted(named)}


def _packages(text: str) -> list[str]:
    """The packages that a tutorial says one needs, in its first paragraph; `partstream` is the first of them."""
    return NAMED.findall(text.split("\n\n")[1])


@pytest.mark.timeout(SECONDS * 4)
@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_can_be_followed_where_only_its_packages_are_and_prints_what_it_shows(
    name: str, wheels: dict[str, Path], tmp_path: Path
) -> None:
    first, *more = (wheels[package] for package in _packages(TUTORIALS[name]))
    extra = EXTRA.search(TUTORIALS[name])
    for made in (home := tmp_path / "home", elsewhere := tmp_path / "elsewhere"):
        made.mkdir()
    commands = install(first, elsewhere, f"[{extra[1]}]" if extra else "", *more, with_pip=True)
    assert_none(following.faults(list(find_blocks(name, TUTORIALS[name])), home, commands))


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_says_what_there_is_at_its_end_how_long_it_takes_and_where_to_go_next(name: str) -> None:
    text = TUTORIALS[name]
    beginning = text.split("\n\n")[1].replace("\n", " ")
    assert beginning.startswith(("At the end,", "At the end you have"))
    found = re.search(r"It takes (\w+) minutes", beginning)
    assert found is not None
    title = text.splitlines()[0].removeprefix("# ")
    assert re.search(rf"^\| \[{title}\]\({name}\) \|.* \| {MINUTES[found[1]]} \|$", OVERVIEW, re.MULTILINE)
    assert text.partition("\n## Where to go next\n")[2].count("\n- [") >= WAYS_ON


@pytest.mark.parametrize(
    ("page", "printed", "is_shown"),
    [
        ("one\ntwo\n", "one  \ntwo\n", True),
        ("one\n…\n", "one\n", True),
        ("one\n…\nfour\n", "one\ntwo\nthree\nfour\n", True),
        ("2 passed in …\n", "2 passed in 0.31s\n", True),
        ("one\n", "one\ntwo\n", False),
        ("one\ntwo\n", "one\n", False),
        ("o.e\n", "one\n", False),
    ],
)
def test_what_a_page_shows_is_compared_line_by_line(page: str, printed: str, is_shown: bool) -> None:
    assert following.shows(page, printed) is is_shown


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ("```sh\nexit 3\n```", "the exit code is 3"),
        ("```sh\necho one\n```\n\n```text\ntwo\n```", "this was printed:\none"),
        ("```text\ntwo\n```", "no command has printed it"),
        ("```python\nprint(1)\n```", "neither type nor save it"),
    ],
)
def test_a_step_that_goes_otherwise_is_named_with_its_line(block: str, said: str, tmp_path: Path) -> None:
    [fault] = following.faults(list(find_blocks("a.md", f"# A\n\n{block}\n")), tmp_path, HERE)
    assert fault.startswith("a.md:")
    assert said in fault
