"""There is no package on an index: no page installs one from there, and all say the same of what is installed."""

from __future__ import annotations
import re
import shlex
from pathlib import Path

import pytest

from offences import assert_none
from partstream.cli import COMMANDS
from tools.docs_site.code_blocks import find_blocks

from .commands import EXTRAS, install_faults

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (
        ROOT / "README.md",
        ROOT / "extension/README.md",
        *sorted(ROOT.glob("packages/*/README.md")),
        *sorted((ROOT / "docs").rglob("*.md")),
    )
}
FROM_AN_INDEX = re.compile(
    r"(?<!/)partstream(-\w+)?\[[a-z,]+\]|pipx run partstream|uvx (?:partstream|--from (?!\./packages/partstream ))"
)
INSTALLS = re.compile(r"\b(pip|pipx|uv)((?: tool)? install [^`\n#]+)")


def test_the_page_on_installing_says_that_there_is_no_package_on_an_index() -> None:
    assert "There is no package on an index" in PAGES["docs/install.md"]


def offences(text: str) -> list[str]:
    """What a text installs otherwise than from the folders and wheels that there are."""
    faults = [fault for one in INSTALLS.finditer(text) for fault in install_faults(one[1], shlex.split(one[2]))]
    return faults + [match[0] for match in FROM_AN_INDEX.finditer(text)]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_installs_nothing_of_ours_from_an_index(page: str) -> None:
    assert_none(offences(PAGES[page]))


OF_OTHER_PACKAGES = {name: home for name, (home, _) in COMMANDS.items() if "." not in home}


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("docs/") and page.count("/") == 1])
def test_a_page_that_types_a_command_of_another_package_has_the_line_that_installs_it(page: str) -> None:
    blocks = [block.code for block in find_blocks(page, PAGES[page]) if block.language == "sh"]
    typed = {name for code in blocks for name in re.findall(r"^partstream (\w+)", code, re.MULTILINE)}
    needed = {OF_OTHER_PACKAGES[name] for name in typed & OF_OTHER_PACKAGES.keys()}
    assert {package for package in needed if f" ./packages/{package}" not in PAGES[page].replace("'", " ")} == set()


def test_the_page_on_installing_has_a_line_for_each_package() -> None:
    rows = re.findall(r"^\| `(partstream[\w-]*)` \|.*\| `pip install (.+)` \|$", PAGES["docs/install.md"], re.MULTILINE)
    assert {package: line.split()[-1] for package, line in rows} == {one: f"./packages/{one}" for one in EXTRAS}


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("pip install 'partstream[tokens]'", True),
        ("the extra `partstream-hub[postgres]`", True),
        ("pip install partstream", True),
        ("pip install partstream-agents", True),
        ("uvx partstream demo", True),
        ("uvx --from . partstream demo", True),
        ("pipx run partstream demo", True),
        ("`pip install '.[tokens]'`", True),
        ("`uv tool install .`", True),
        ("`pip install ./packages/partstream-hub`", True),
        ("`pip install partstream-*.whl`", False),
        ("`pip install dist/*.whl`", False),
        ("uvx --from ./packages/partstream partstream demo", False),
        ("`pip install './packages/partstream[tokens]'`", False),
        ("`uv tool install ./packages/partstream --with ./packages/partstream-devtools`", False),
    ],
)
def test_what_cannot_be_installed_is_recognised(text: str, is_found: bool) -> None:
    assert bool(offences(text)) is is_found
