"""`partstream doctor`: prints what was found about the configuration and the server; does not examine them itself."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import asdict
from typing import Any, Final

import click
from rich.text import Text

from partstream.cli.console import make_console
from partstream.cli.exit_codes import ExitCode
from partstream.cli.rendering import printable
from partstream.cli.upstream_options import UnusableConfigurationError, configuration_of, upstream_options
from partstream.configuration import Given
from partstream.configuration.examination import examine
from partstream.configuration.findings import Finding, Verdict
from partstream.configuration.model_trial import MOST_TOKENS

__all__ = ["command"]

_STYLES: Final = {Verdict.FINE: "green", Verdict.WARNING: "yellow", Verdict.PROBLEM: "bold red"}


@click.command("doctor", short_help="Find out what keeps a model from answering.")
@upstream_options
@click.option("--model", "model_id", metavar="M", help="A model that the server should list.")
@click.option(
    "--ask", "asks", is_flag=True, help=f"Also ask the model for {MOST_TOKENS} tokens at the most, which may cost."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
def command(*, model_id: str | None, asks: bool, as_json: bool, **options: Any) -> None:
    """Find out what keeps a model from answering.

    Reads the settings, gets the key, connects to the server, requests its list of models, and sends an empty request to
    the endpoint of each protocol, to find out which it speaks. Sends no prompt to a model without --ask, so the server
    charges nothing. The exit code is 0 without a problem (warnings may occur), 1 with a problem,
    and 2 if a setting is invalid.
    """
    more = {} if model_id is None else {"defaultModel": Given(model_id, "--model")}
    try:
        findings = asyncio.run(examine(configuration_of(more, **options), asks=asks))
    except UnusableConfigurationError as error:
        _show([Finding("settings", Verdict.PROBLEM, error.message)], as_json=as_json)
        sys.exit(ExitCode.UNUSABLE)
    _show(findings, as_json=as_json)
    has_problem = any(finding.verdict is Verdict.PROBLEM for finding in findings)
    sys.exit(ExitCode.FOUND if has_problem else ExitCode.FINE)


def _show(findings: list[Finding], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], ensure_ascii=False))
    else:
        console = make_console()
        for finding in findings:
            line = Text.assemble((f"{finding.verdict:<8}", _STYLES[finding.verdict]), f"{finding.subject}: ")
            console.print(line + Text(printable(finding.says)), soft_wrap=True)
            if finding.advice:
                console.print(Text(f"         {printable(finding.advice)}", "dim"), soft_wrap=True)
