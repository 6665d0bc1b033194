"""`partstream config`: the settings in force, the source of each, and the path of the configuration file."""

from __future__ import annotations
import asyncio
import json
import os
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

import click
from rich.text import Text

from partstream.cli.console import make_console, print_hanging
from partstream.cli.options import UnusableConfigurationError, configuration_of, server_options
from partstream.codec.text import visible
from partstream.config.table import SETTINGS, configuration_file
from partstream.errors import CallerError, LanguageModelError
from partstream.settings.kinds import shown_name
from partstream.settings.row import SettingSource

if TYPE_CHECKING:
    from rich.console import Console

    from partstream.config.loading import Configuration
    from partstream.upstream.detection import Detected

_COLUMNS: Final = ("Setting", "Value", "Source")
_SECONDS: Final = 10.0
"""For finding out what the server speaks, the key included."""


@click.group("config", short_help="Show the settings in force and where each comes from.")
def command() -> None:
    """Show the settings in force and where each comes from."""


@command.command("path", short_help="Print the path of your configuration file.")
def path() -> None:
    """Print the path of your configuration file, whether the file exists or not."""
    try:
        click.echo(configuration_file(os.environ))
    except CallerError as error:
        raise UnusableConfigurationError(str(error)) from error


@command.command("show", short_help="Show every setting with its value and source.")
@server_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(*, as_json: bool, **options: Any) -> None:
    """Show every setting with its value and source, without secrets, and what the server speaks.

    The settings are those that `partstream chat` would use with the same options. Where no protocol is set, it is
    detected: by the host, or by empty requests. The settings that are set come first. The exit code is 0, or 2 if
    a setting is invalid.
    """
    configuration = configuration_of(**options)
    detected = asyncio.run(_detected(configuration))
    if as_json:
        found = None
        if detected is not None and not isinstance(detected, str):
            found = {
                "protocol": detected.protocol,
                "baseUrl": detected.shown_url,
                "reason": detected.reason,
                "isCertain": detected.is_certain,
            }
        said = {
            "file": str(configuration.file),
            "fileExists": configuration.file.is_file(),
            "detected": found,
            "profile": configuration.profile,
            "profiles": list(configuration.profiles),
            "settings": _rows(configuration),
            "notes": list(configuration.resolved.notes),
        }
        click.echo(json.dumps(said, ensure_ascii=False))
        return
    console = make_console()
    rows = sorted(_rows(configuration), key=lambda row: row["place"] == SettingSource.DEFAULT)
    _show_settings([_cells(row) for row in rows], console)
    if detected is not None:
        shown = detected if isinstance(detected, str) else f"{detected.shown_url}: {detected.says}."
        console.print(Text(visible(shown), "dim"))
    if configuration.profiles:
        names, used = ", ".join(map(shown_name, configuration.profiles)), configuration.profile
        in_force = "none is in force" if used is None else f"{shown_name(used)} is in force"
        console.print(Text(visible(f"Profiles: {names}; {in_force}."), "dim"))
    for note in configuration.resolved.notes:
        console.print(Text(visible(note), "yellow"))


def _cells(row: dict[str, Any]) -> tuple[Text, Text, Text]:
    """One setting as the texts of its columns."""
    is_default = row["place"] == SettingSource.DEFAULT
    shown = row["default"] if is_default else json.dumps(row["value"], ensure_ascii=False)
    source = str(row["place"]) if is_default else f"{row['place']}: {row['where']}"
    style = "dim" if is_default else ""
    return Text(row["name"]), Text(visible(shown), style), Text(visible(source), style)


def _show_settings(rows: list[tuple[Text, Text, Text]], console: Console) -> None:
    """Shows the settings as a table; in a terminal that is too narrow for it, value and source beside the name."""
    lines = [tuple(map(Text, _COLUMNS)), *rows]
    widths = [max(cell.cell_len for cell in column) for column in zip(*lines, strict=True)]
    if console.is_terminal and sum(widths) + 2 * len(widths) > console.width:
        for name, value, source in rows:
            name.pad_right(widths[0] - name.cell_len + 2)
            print_hanging(console, name, f"{value.plain} ({source.plain})".lstrip(), str(value.style))
        return
    for line in lines:
        for cell, width in zip(line[:-1], widths, strict=False):
            cell.pad_right(width - cell.cell_len)
        console.print(Text("  ").join(line), soft_wrap=True)


async def _detected(configuration: Configuration) -> Detected | str | None:
    """What the server in force speaks, or why that is not known; None where it is set, or where no server is."""
    if "baseUrl" not in configuration.resolved.values:
        return None
    from partstream.upstream.detection import detect  # noqa: PLC0415
    from partstream.upstream.http import Connections  # noqa: PLC0415 - with httpx2, which takes 0.1 s

    try:
        gateway = configuration.gateway()
        if not gateway.is_detected:
            return None
        async with asyncio.timeout(_SECONDS), aclosing(Connections(gateway)) as connections:
            return await detect(gateway, connections)
    except TimeoutError:
        return f"The server's protocol is unknown: no response within {_SECONDS:g} s."
    except (LanguageModelError, CallerError) as error:
        return f"The server's protocol is unknown: {error}"


def _rows(configuration: Configuration) -> list[dict[str, Any]]:
    values = configuration.resolved.values
    return [
        {
            "name": name,
            "value": values[name].shown if name in values else None,
            "place": values[name].place if name in values else SettingSource.DEFAULT,
            "where": values[name].where if name in values else None,
            # A default that is a sentence and no value is in parentheses.
            "default": ("({})" if row.otherwise else "{}").format(row.shown_default.replace("`", "")),
        }
        for name, row in SETTINGS.items()
        if row.places & {SettingSource.FILE, SettingSource.ENVIRONMENT}
    ]
