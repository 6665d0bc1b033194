"""The pages on security name tests that exist, and their index names every page."""

from __future__ import annotations
import re
from pathlib import Path

import pytest

from rows import one_test_for

ROOT = Path(__file__).resolve().parents[1]
TESTS = [path for folder in (ROOT / "packages", ROOT / "tests") for path in folder.rglob("test_*.py")]
FOLDER = ROOT / "docs/security"
PAGES = sorted(path.name for path in FOLDER.glob("*.md") if path.name != "README.md")
FUNCTIONS = {
    name
    for path in TESTS
    for name in re.findall(r"^(?:async )?def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
}


def test_the_index_links_every_page() -> None:
    linked = re.findall(r"\]\(([\w-]+\.md)\)", (FOLDER / "README.md").read_text(encoding="utf-8"))
    assert sorted(linked) == PAGES


@pytest.mark.parametrize("page", PAGES)
def test_every_test_that_a_page_names_exists(page: str) -> None:
    text = (FOLDER / page).read_text(encoding="utf-8")
    named = {name for name in re.findall(r"\btest_\w+\b(?!\.py)", text) if name not in {path.stem for path in TESTS}}
    assert named, "a page shows what it says by tests"
    assert named - FUNCTIONS == set()


@one_test_for("page", PAGES)
def test_every_file_that_a_page_names_is_below_a_folder_of_tests(page: str) -> None:
    named = set(re.findall(r"`((?:\w[\w-]*/)+test_\w+\.py)", (FOLDER / page).read_text(encoding="utf-8")))
    folders = [ROOT, ROOT / "tests", *ROOT.glob("packages/*/tests")]
    assert {name for name in named if not any((folder / name).is_file() for folder in folders)} == set()
