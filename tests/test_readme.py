"""What the README says is so: its example is the file that it names, and runs; its links lead somewhere."""

from __future__ import annotations
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from rows import one_test_for

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_is_the_file_it_names() -> None:
    found = re.search(r"<!-- example: (\S+) -->\n```python\n(.*?)```", README, re.DOTALL)
    assert found is not None
    assert found[2] == (ROOT / found[1]).read_text(encoding="utf-8")


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", README, re.DOTALL))
def test_every_example_is_a_whole_program_that_can_be_pasted(code: str) -> None:
    """That it runs is tested with the blocks of all pages, which, as in a notebook, may await outside of a function."""
    compile(code, "README.md", "exec")


def test_the_example_runs_offline() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", ROOT / "examples/readme.py"],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stdout == "You said: hello\n"


PAGES = [
    *ROOT.glob("*.md"),
    *ROOT.glob("packages/*/README.md"),
    ROOT / "examples/README.md",
    *(ROOT / "docs").rglob("*.md"),
]


@one_test_for("page", sorted(path.relative_to(ROOT).as_posix() for path in PAGES))
def test_every_link_to_a_file_leads_to_one(page: str) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in target]
    assert [target for target in targets if not ((ROOT / page).parent / target).exists()] == []


def test_every_extra_that_is_installed_is_one() -> None:
    page = (ROOT / "docs/install.md").read_text(encoding="utf-8")
    installed = re.findall(r"^\| `(\w+)` \| `.*'\./packages/([\w-]+)\[(?:\w+,)*(\w+)\]'` \|", page, re.MULTILINE)
    assert [row for row, _, extra in installed if row != extra] == []
    assert {(package, extra) for _, package, extra in installed} == {
        (path.parent.name, extra)
        for path in ROOT.glob("packages/*/pyproject.toml")
        for extra in tomllib.loads(path.read_text(encoding="utf-8"))["project"].get("optional-dependencies", {})
    }


TOML = [
    pytest.param(text, id=f"{page.name}-{number}")
    for page in (ROOT / "docs/configuration.md", ROOT / "docs/ai-gateway.md")
    for number, text in enumerate(re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
]


@pytest.mark.parametrize("text", TOML)
def test_every_example_of_the_configuration_file_is_read(text: str, tmp_path: Path) -> None:
    from partstream.config.loading import load_configuration

    file = tmp_path / "partstream.toml"
    whole = text if "baseUrl" in text else f'baseUrl = "https://h/v4/ai"\nprotocol = "ai-gateway"\n{text}'
    file.write_text(whole, encoding="utf-8")
    configuration = load_configuration(environment={"PARTSTREAM_CONFIG": str(file)})
    assert configuration.gateway().base_url.startswith("http")
    assert (configuration.resolved.notes, configuration.resolved.warnings) == ((), ())


def test_every_command_is_in_the_table_of_commands() -> None:
    from partstream.cli import COMMANDS

    page = (ROOT / "docs/command-line.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `partstream (\w+)", page, re.MULTILINE)) == set(COMMANDS) - {"sidecar"}


def test_every_command_that_it_shows_exists() -> None:
    from partstream.cli import COMMANDS

    shown = set(re.findall(r"(?:`|^|from \./packages/partstream )partstream (\w+)", README, re.MULTILINE))
    assert {"new", "chat"} <= shown <= set(COMMANDS)


_FIGURE = re.compile(r"\d[\d.,]*(?: ?[×%]|-fold\b| (?:times|ns|µs|ms|s|seconds|kB|MB|GB|words|tokens)\b)")
"""A number with a unit."""


def test_every_figure_of_it_and_of_the_pages_of_performance_is_made_of_a_run() -> None:
    """`tests/test_generated.py` compares what is made with the results of the runs."""
    by_hand = re.sub(r"<!-- made: figures -->.*?<!-- end: figures -->|```.*?```", "", README, flags=re.DOTALL)
    assert _FIGURE.findall(by_hand) == []
    tool = (ROOT / "tools" / "benchmark_pages.py").read_text(encoding="utf-8")
    made = {place for place in re.findall(r'"(docs/\S+\.md)"', tool) if "performance" in place}
    assert made == {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*performance*.md")}


def test_it_stays_short_enough_to_be_read() -> None:
    assert len(README.splitlines()) <= 120
