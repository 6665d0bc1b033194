"""Every environment variable that the program reads is in the docs, and every one in the docs is read."""

from __future__ import annotations
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from offences import assert_none
from partstream.cli import main
from partstream.config.table import SETTINGS
from partstream.settings.row import SettingSource

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
NAME = re.compile(r"\bPARTSTREAM_[A-Z][A-Z_]*[A-Z]\b")
OF_TESTS = {"PARTSTREAM_RECORDINGS"}
"""Read by the tests alone; CONTRIBUTING.md says what it is."""
OF_THE_KIT_ITSELF = {"PARTSTREAM_CONFORMANCE_ENDED"}
"""Set by the conformance kit for itself."""


def _of_options(command: click.Command, context: click.Context) -> Iterator[str]:
    yield from (str(one.envvar) for one in command.params if one.envvar)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _of_options(inner, click.Context(inner, parent=context))


def _of_sources() -> set[str]:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "packages").glob("*/src/**/*.py")]
    return {name for text in texts for name in re.findall(rf'"({NAME.pattern})"', text)}


READ = {
    *(row.variable for row in SETTINGS.values() if SettingSource.ENVIRONMENT in row.places),
    *_of_options(main, click.Context(main)),
    *_of_sources(),
}
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
}


def test_every_variable_that_is_read_is_in_the_docs() -> None:
    """The reference of the settings has a rule for their variables, which `Setting.variable` is."""
    named = {name for text in PAGES.values() for name in NAME.findall(text)}
    reference = PAGES["docs/reference/settings.md"]
    named |= {row.variable for row in SETTINGS.values() if f"| `{row.name}` |" in reference}
    assert_none(sorted(READ - named - OF_THE_KIT_ITSELF))


def test_every_variable_in_the_docs_is_read() -> None:
    assert_none(
        f"{page}: {name}" for page, text in PAGES.items() for name in sorted({*NAME.findall(text)} - READ - OF_TESTS)
    )
