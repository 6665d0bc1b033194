"""The page on VS Code has the commands, settings and keys of the extension, and no page names another."""

from __future__ import annotations
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from extension_manifest import MANIFEST, SETTINGS_OF_VS_CODE
from offences import assert_none

ROOT = Path(__file__).resolve().parents[2]
CONTRIBUTES = MANIFEST["contributes"]
HIDDEN = {item["command"] for item in CONTRIBUTES["menus"]["commandPalette"] if item["when"] == "false"}
COMMANDS = {
    f"{command['category']}: {command['title']}"
    for command in CONTRIBUTES["commands"]
    if command["command"] not in HIDDEN
}
GROUP = CONTRIBUTES["languageModelChatProviders"][0]["configuration"]
GROUP_KEYS = {*GROUP["properties"], *GROUP["allOf"][0]["properties"]}
PAGE = (ROOT / "docs/vscode.md").read_text(encoding="utf-8")
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", ROOT / "extension/README.md", *sorted((ROOT / "docs").rglob("*.md")))
}


def _table(head: str) -> list[list[str]]:
    """The rows of the table of the page that begins with a head."""
    rows = PAGE.partition(head)[2].partition("\n\n")[0].strip().splitlines()[1:]
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]


def test_the_table_of_commands_has_those_of_the_extension() -> None:
    assert sorted(row[0] for row in _table("| command | what it does |")) == sorted(COMMANDS)


def test_the_table_of_settings_has_those_of_the_extension_in_their_order_with_groups_and_defaults() -> None:
    def shown(default: Any) -> str:
        text = default if isinstance(default, str) else json.dumps(default)
        return f"`{text}`" if text else "empty"

    expected = [[f"`{name}`", one["group"], shown(one["default"])] for name, one in SETTINGS_OF_VS_CODE.items()]
    rows = _table("| setting | group in the settings editor | default | what it says |")
    assert [row[:3] for row in rows] == expected


def test_every_key_of_a_group_on_the_page_is_one_that_the_extension_takes() -> None:
    keys = {key for row in _table("| key | what it says |") for key in re.findall(r"`(\w+)`", row[0])}
    assert len(keys) > 10
    assert_none(sorted(keys - GROUP_KEYS))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_no_command_that_the_extension_has_not(page: str) -> None:
    named = re.findall(r"\*\*(Partstream: [^*]+?)\*\*", PAGES[page].replace("\n", " "))
    assert_none(sorted({one.strip() for one in named} - COMMANDS))


def test_the_versions_that_are_needed_are_the_same_on_every_page() -> None:
    project = tomllib.loads((ROOT / "packages/partstream/pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {
        "Python": project["requires-python"].removeprefix(">="),
        "VS Code": MANIFEST["engines"]["vscode"].removeprefix("^").removesuffix(".0"),
    }
    named = [
        (page, program, version)
        for page, text in PAGES.items()
        for program, version in re.findall(r"\b(Python|VS Code) (\d+\.\d+)(?:,)? or\s+newer", text)
    ]
    assert {program for _, program, _ in named} == {*needed}
    assert_none(f"{page}: {program} {version}" for page, program, version in named if version != needed[program])
