"""Every fenced block of the README and of the documentation is run, or says why it is not."""

from __future__ import annotations
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from offences import assert_none
from tools.docs_site.code_blocks import find_blocks

from .checking import RUNNERS, faults

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
}
WITH_BLOCKS = [page for page, text in PAGES.items() if "```" in text and not page.startswith("docs/tutorials/")]
"""The pages whose blocks are checked one by one; a tutorial is followed as a whole, by `test_tutorials.py`."""


def offences(page: str, text: str, folder: Path) -> list[str]:
    """What is wrong on a page, each with the line of its block."""
    return [f"{block.place}: {fault}" for block in find_blocks(page, text) for fault in faults(block, folder)]


@pytest.mark.parametrize("page", WITH_BLOCKS)
def test_every_block_of_a_page_is_run_or_says_why_it_is_not(page: str, tmp_path: Path) -> None:
    assert_none(offences(page, PAGES[page], tmp_path))


@pytest.mark.parametrize("page", PAGES)
def test_no_block_is_indented_in_place_of_a_fence_as_nobody_would_run_it(page: str) -> None:
    tokens = MarkdownIt().parse(PAGES[page])
    assert_none(f"{page}:{token.map[0] + 1}" for token in tokens if token.type == "code_block" and token.map)


@pytest.mark.parametrize("start", RUNNERS)
def test_the_test_that_runs_examples_names_their_folder_or_file(start: str) -> None:
    assert start.rstrip("/") in (ROOT / RUNNERS[start]).read_text(encoding="utf-8")


FENCE = "```"
WRONG = {
    "python that raises": ("python", "1 / 0", "ZeroDivisionError: division by zero"),
    "python of an older version": ("python", "from partstream import parse_everything", "ImportError: cannot import"),
    "a test of the reader's that fails": ("python", "def test_it():\n    assert [] == [1]", "AssertionError"),
    "an option that there is not": ("sh", "partstream serve --prot 1 my_model.py", "No such option"),
    "a command that there is not": ("sh", "partstream sevre", "No such command 'sevre'"),
    "an inner command that there is not": ("sh", "export KEY=$(partstream hub kye add ana)", "No such command 'kye'"),
    "a target that there is not": ("sh", "make coffee", "`make` has no target 'coffee'"),
    "an extra that there is not": ("sh", "pip install './packages/partstream[cofee]'", "no extra 'cofee'"),
    "an extra of another package": ("sh", "pip install './packages/partstream[postgres]'", "no extra 'postgres'"),
    "a package that there is not": ("sh", "pip install ./packages/partstream ./packages/cofee", "no package 'cofee'"),
    "a package without the first": ("sh", "pip install ./packages/partstream-hub", "./packages/partstream is missing"),
    "what is no project": ("sh", "pip install '.[serve]'", "no project at the top of the repository"),
    "another program": ("sh", "rm -r /", "no check knows the command 'rm'"),
    "a variable that is left empty": ("sh", "export KEY=", "KEY is empty"),
    "a setting that there is not": ("toml", 'base_url = "http://127.0.0.1/v1"', "baseUrl"),
    "toml that is none": ("toml", "baseUrl =", "partstream.toml"),
    "json that is none": ("json", "{'a': 1}", "property name"),
    "a setting that VS Code has not": ("json", '{"partstream.nothing": 1}', "no setting partstream.nothing"),
    "yaml that is none": ("yaml", "a: [", "while parsing"),
    "a step with an option that there is not": (
        "yaml",
        "jobs: {one: {steps: [{run: partstream conformance --jsno a.json my_provider.py}]}}",
        "No such option",
    ),
    "a block without a language": ("", "anything", "no check knows the command 'anything'"),
    "an unknown language": ("fortran", "anything", "a block of 'fortran' is neither run nor marked"),
    "a name that is not public": ("{public-names}", "parse_everything", "no public name parse_everything"),
    "a program that is not there": ("sh", "python examples/of_nothing.py", "there is no file examples/of_nothing.py"),
    "text without a mark": ("text", "anything", "a block of 'text' is neither run nor marked"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_block_that_is_wrong_is_named_with_its_page_and_line(what: str, tmp_path: Path) -> None:
    language, code, said = WRONG[what]
    [offence] = offences("docs/a.md", f"# A page\n\n{FENCE}{language}\n{code}\n{FENCE}\n", tmp_path)
    assert offence.startswith("docs/a.md:3: ")
    assert said in offence


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ("not run: later", "'later' is no reason"),
        ("not run: it needs a GPU and an hour", None),
        ("run by: tests/test_of_nothing.py", "there is no file tests/test_of_nothing.py"),
        ("run by: tests/test_readme.py", "tests/test_readme.py does not mention serving.md"),
        ("run by: packages/partstream/tests/serving/test_serving_page.py", None),
        ("example: examples/readme.py", "it is not the file examples/readme.py"),
        ("given: nothing", "has no attribute 'nothing'"),
    ],
)
def test_a_mark_has_to_be_true(mark: str, said: str | None, tmp_path: Path) -> None:
    found = offences("docs/serving.md", f"<!-- {mark} -->\n{FENCE}python\n1 / 0\n{FENCE}\n", tmp_path)
    assert [said in one for one in found if said is not None] == ([] if said is None else [True])


def test_output_that_nobody_compares_is_named(tmp_path: Path) -> None:
    shown = f"{FENCE}sh\npartstream models\n{FENCE}\n\n{FENCE}text\nqwen\n{FENCE}\n"
    [offence] = offences("docs/a.md", shown, tmp_path)
    assert offence.startswith("docs/a.md:5: this output is not compared")
