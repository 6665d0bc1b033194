"""There is no package on an index: no page installs one from there, and all say the same of what is installed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from offences import assert_none

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", ROOT / "extension/README.md", *sorted((ROOT / "docs").rglob("*.md")))
}
FROM_AN_INDEX = re.compile(
    r"partstream\[[a-z,]+\]|(?:pip|pipx|tool) install partstream(?!-)|pipx run partstream|uvx (?!--from)\S*partstream"
)


def test_the_page_on_installing_says_that_there_is_no_package_on_an_index() -> None:
    assert "There is no package on an index" in PAGES["docs/install.md"]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_installs_nothing_of_ours_from_an_index(page: str) -> None:
    assert_none(FROM_AN_INDEX.findall(PAGES[page]))


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("pip install 'partstream[tokens]'", True),
        ("pip install partstream", True),
        ("uvx partstream demo", True),
        ("pipx run partstream demo", True),
        ("pip install partstream-*.whl", False),
        ("uvx --from . partstream demo", False),
        ("pip install '.[tokens]'", False),
    ],
)
def test_an_index_is_recognised(text: str, is_found: bool) -> None:
    assert bool(FROM_AN_INDEX.search(text)) is is_found
