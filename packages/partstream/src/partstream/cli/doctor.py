"""`partstream doctor`: prints what was found about the configuration and the server; does not examine them itself."""

from __future__ import annotations
import asyncio
import json
import os
import sys
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, NoReturn

import click
from rich.text import Text

from partstream.cli.console import make_console, print_hanging, waiting_for
from partstream.cli.options import UnusableConfigurationError, configuration_of, server_options
from partstream.cli.provider_source import check_beside_provider, log_as_wanted, provider_option
from partstream.cli.terminal import ExitCode
from partstream.codec.settings_files import UnusableTextError, read_nodes
from partstream.codec.text import visible
from partstream.config import examination
from partstream.config.loading import Configuration
from partstream.config.table import RawValue

_EDITORS: Final = (
    ("VS Code", "Code", ".vscode"),
    ("VS Code Insiders", "Code - Insiders", ".vscode-insiders"),
    ("VSCodium", "VSCodium", ".vscode-oss"),
)
"""Programs, their folder of settings, and their folder in the user's home with the extensions."""

_STYLES: Final = {
    examination.CheckStatus.FINE: "green",
    examination.CheckStatus.WARNING: "yellow",
    examination.CheckStatus.PROBLEM: "bold red",
}


@click.command("doctor", short_help="Find out why a model does not answer.")
@provider_option("Examine the provider in this Python file instead of a server.")
@server_options
@click.option("--model", "model_id", metavar="M", help="A model that the server or the provider should list.")
@click.option(
    "--ask",
    "asks",
    is_flag=True,
    help=f"Also ask the model for {examination.MOST_TOKENS} tokens at most, which may cost.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
def command(*, provider_source: str | None, model_id: str | None, asks: bool, as_json: bool, **options: Any) -> None:
    """Find out why a model does not answer.

    Reads the settings, gets the key, connects to the server, requests its list of models, and sends an empty request to
    the endpoint of each protocol, to find out which it speaks. Sends no prompt to a model without --ask, so the server
    charges nothing. The exit code is 0 without a problem (warnings may occur), 1 with a problem,
    and 2 if a setting is invalid. Where the extension is installed, it says whether the Copilot harness of that VS Code
    offers its models.

    With --provider: runs the file, lists its models, checks their descriptions and counts a few tokens; with
    --ask, also asks one question and checks the answer by the contract. A fault is named with its file and line.
    """
    if provider_source is not None:
        check_beside_provider(options)
        log_as_wanted(options)
        with redirect_stdout(sys.stderr):  # what the file prints is no finding
            findings = asyncio.run(examination.examine_provider(provider_source, model_id, asks=asks))
        _end([*findings, *_on_harnesses()], as_json=as_json)
    more = {} if model_id is None else {"defaultModel": RawValue(model_id, "--model")}

    async def examined(configuration: Configuration) -> list[examination.Finding]:
        async with waiting_for("answer of the server"):
            return await examination.examine(configuration, asks=asks)

    try:
        findings = asyncio.run(examined(configuration_of(more, **options)))
    except UnusableConfigurationError as error:
        _show([examination.Finding("settings", examination.CheckStatus.PROBLEM, error.message)], as_json=as_json)
        sys.exit(ExitCode.UNUSABLE)
    _end([*findings, *_on_harnesses()], as_json=as_json)


def _on_harnesses() -> list[examination.Finding]:
    """What the Copilot harness of each VS Code does in which the extension is installed."""
    if sys.platform == "win32":
        settings = Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    elif sys.platform == "darwin":
        settings = Path.home() / "Library" / "Application Support"
    else:
        settings = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    findings = []
    for name, folder, extensions in _EDITORS:
        if any((Path.home() / extensions / "extensions").glob("partstream.partstream-*")):
            try:
                text = (settings / folder / "User" / "settings.json").read_text(encoding="utf-8")
                value = read_nodes(text).value
            except (OSError, UnicodeError, UnusableTextError):
                value = {}  # a file that is missing or broken means the defaults
            known = value if isinstance(value, dict) else {}
            facts = examination.HarnessFacts(
                False, known.get(examination.LISTS_MODELS) is True, known.get(examination.ALLOWS_SIGNED_OUT) is True
            )
            findings.append(examination.finding_on_harness(facts, f"Copilot harness of {name}"))
    return findings


def _end(findings: list[examination.Finding], *, as_json: bool) -> NoReturn:
    """Shows what was found, and ends with the code that says how bad it is."""
    _show(findings, as_json=as_json)
    has_problem = any(finding.verdict is examination.CheckStatus.PROBLEM for finding in findings)
    sys.exit(ExitCode.FOUND if has_problem else ExitCode.FINE)


def _show(findings: list[examination.Finding], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], ensure_ascii=False))
    else:
        console = make_console()
        for finding in findings:
            verdict = Text(f"{finding.verdict:<8}", _STYLES[finding.verdict])
            print_hanging(console, verdict, visible(f"{finding.subject}: {finding.says}"))
            if finding.advice:
                print_hanging(console, Text(" " * 9), visible(finding.advice), "dim")
