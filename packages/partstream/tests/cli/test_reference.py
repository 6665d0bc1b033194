"""The reference of the command line has every command and option, and no page names an option that there is not."""

from __future__ import annotations
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from offences import assert_none
from partstream.cli import main
from rows import one_test_for

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[4]
REFERENCE = (ROOT / "docs/reference/command-line.md").read_text(encoding="utf-8")
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
}
OF_OTHERS = {
    "--acp": "Gemini CLI",
    "--add-host": "docker",
    "--api-key": "vllm and llama-server",
    "--bundled": "codex",
    "--chat-template-file": "llama-server",
    "--cross-validate": "tools/fit_estimator.py",
    "--install-extension": "code",
    "--interface": "granian",
    "--jinja": "llama-server",
    "--max-model-len": "vllm",
    "--partstream-baseline": "the plugin of pytest",
    "--partstream-target": "the plugin of pytest",
    "--reasoning-parser": "vllm",
    "--served-model-name": "vllm",
    "--silent": "npm",
    "--with": "uv",
}
"""Options that the pages name and that belong to other programs, each with whose it is."""


def _commands(context: click.Context) -> Iterator[click.Context]:
    yield context
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            command = context.command.get_command(context, name)
            assert command is not None
            yield from _commands(click.Context(command, parent=context, info_name=name))


COMMANDS = {context.command_path: context.command for context in _commands(click.Context(main, info_name="partstream"))}
SHARED_TABLE = REFERENCE.partition("## Options of several commands")[2].partition("\n#")[0]
SHARED = re.findall(r"^\| (`-[^|]+) \|", SHARED_TABLE, re.MULTILINE)
"""The first cells of the table of options that several commands take."""
OPTIONS = {
    name
    for command in COMMANDS.values()
    for option in command.params
    if isinstance(option, click.Option)
    for name in (*option.opts, *option.secondary_opts)
}


@one_test_for("path", [path for path in COMMANDS if path != "partstream"])
def test_a_command_stands_in_the_reference_with_every_option(path: str) -> None:
    command = COMMANDS[path]
    section = re.split(r"^#+ ", REFERENCE.partition(f"# {path}\n\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    rows = re.findall(r"^\| (`-[^|]+) \|", section, re.MULTILINE)
    elsewhere = re.findall(r"^(?:Also|Options), \[as elsewhere\]\(#[a-z-]+\): (.*)\.$", section, re.MULTILINE)
    rows += [cell for name in re.findall(r"`-[\w-]+`", "".join(elsewhere)) for cell in SHARED if cell.startswith(name)]
    shown = set(re.findall(r"`(-[\w-]+)`", " ".join(rows)))
    options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    assert shown == {name for one in options for name in (*one.opts, *one.secondary_opts)}
    assert command.help
    assert_none(f"{path} {one.opts[0]} says nothing" for one in options if not one.help)


@one_test_for("page", PAGES)
def test_a_page_names_no_option_that_there_is_not(page: str) -> None:
    text = re.sub(r"```.*?```", "", PAGES[page], flags=re.DOTALL)
    named = {name for code in re.findall(r"`([^`]+)`", text) for name in re.findall(r"(?<![\w-])--[a-z][a-z-]+", code)}
    assert_none(sorted(named - OPTIONS - {"--help"} - set(OF_OTHERS)))


def test_every_option_of_another_program_is_named_on_some_page() -> None:
    assert_none(name for name in OF_OTHERS if not any(name in text for text in PAGES.values()))


@pytest.mark.parametrize("path", ["partstream doctor", "partstream models", "partstream config show"])
def test_a_command_that_shows_no_answer_hides_the_options_about_answers_and_still_takes_them(path: str) -> None:
    options = {one.opts[0]: one.hidden for one in COMMANDS[path].params if isinstance(one, click.Option)}
    assert [name for name, is_hidden in options.items() if is_hidden] == [
        "--thinking",
        "--citations",
        "--files",
        "--max-output-tokens",
        "--call-id-prefix",
        "--errors",
        "--capture",
    ]
    assert not any(one.hidden for one in COMMANDS["partstream chat"].params if isinstance(one, click.Option))


@pytest.mark.parametrize("path", ["partstream config", "partstream profiles", "partstream hub"])
def test_a_list_of_commands_cuts_no_sentence_off(path: str) -> None:
    command = COMMANDS[path]
    shown = command.get_help(click.Context(command, info_name=path))
    assert "..." not in shown.partition("Commands:")[2]
