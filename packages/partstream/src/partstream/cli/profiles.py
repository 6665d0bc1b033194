"""`partstream profiles`: lists the profiles of the user's file, and removes one with the key that was kept for it."""

from __future__ import annotations
import asyncio
import json
import os
import sys
from typing import Any, NoReturn

import click
from rich.text import Text

from partstream.cli.console import make_console, print_hanging
from partstream.cli.options import UnusableConfigurationError
from partstream.cli.terminal import ExitCode
from partstream.codec.text import visible
from partstream.config import table
from partstream.config.editing import KeyNotKeptError, read_user_file, remove
from partstream.settings.kinds import ConfigurationError, closest_name, shown_name


@click.group("profiles", invoke_without_command=True, short_help="List the profiles of your file, or remove one.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
@click.pass_context
def command(context: click.Context, *, as_json: bool) -> None:
    """List the profiles of your file: the servers that `partstream add` has written into it.

    Shows the base URL of each and where its key is, never the key. The exit code is 0, or 2 if the file cannot be read.
    """
    if context.invoked_subcommand is not None:
        return
    try:
        path = table.configuration_file(os.environ)
        document = table.read_document(path, must_exist=False)
        default = document.get(table.DEFAULT_PROFILE)
        rows = [_row(name, layer, default) for name, layer in table.read_profiles(path, document).items()]
    except ConfigurationError as error:
        raise UnusableConfigurationError(str(error)) from None
    if as_json:
        click.echo(json.dumps(rows, ensure_ascii=False))
        return
    console = make_console()
    if not rows:
        console.print(Text(visible(f"{path} has no profiles; `partstream add` makes one.")))
    width = max((len(visible(row["name"])) for row in rows), default=0)
    for row in rows:
        key = row["key"]
        place = "no key" if key is None else f"key: {key['setting']} {json.dumps(key['value'], ensure_ascii=False)}"
        says = row["fault"] or f"{row['baseUrl'] or 'no base URL'}, {place}"
        says += ", used where no profile is named" if row["isDefault"] else ""
        print_hanging(console, Text(f"{visible(row['name']):<{width}}  ", "bold"), visible(says))


@command.command("remove", short_help="Remove a profile, and the key that was kept for it.")
@click.argument("name")
def remove_profile(name: str) -> None:
    """Remove the profile NAME from your file, and its key where `partstream add` has kept it.

    A key in an environment variable, or in a place that you named, is kept. The exit code is 0,
    1 if the file or the place of the key cannot be changed, and 2 if there is no such profile.
    """
    try:
        file = read_user_file(table.configuration_file(os.environ))
        if name not in file.profiles:
            close = closest_name(name, file.profiles)
            names = ", ".join(map(shown_name, file.profiles)) or "none"
            hint = f"; did you mean {shown_name(close)}?" if close else ""
            said = f"{file.path} has no profile {shown_name(name)!r}, its profiles: {names}{hint}"
            raise click.UsageError(f"NAME: {said}")
        entry = asyncio.run(remove(name, file))
    except ConfigurationError as error:
        raise UnusableConfigurationError(str(error)) from None
    except KeyNotKeptError as error:
        _fail(f"The profile {shown_name(name)} is removed; its key stays in {error.entry}: {error.got}.")
    except OSError as error:
        _fail(str(error))
    console = make_console()
    console.print(Text(visible(f"The profile {shown_name(name)} is removed from {file.path}.")))
    if entry is not None:
        console.print(Text(visible(f"Its key is removed too: it was in {entry.shown}.")))


def _fail(said: str) -> NoReturn:
    make_console(stderr=True).print(Text(visible(said), "red"))
    sys.exit(ExitCode.FOUND)


def _row(name: str, layer: table.Layer, default: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"name": shown_name(name), "isDefault": name == default, "baseUrl": None, "key": None}
    try:
        values = table.resolve((layer,)).values
    except ConfigurationError as error:
        return {**row, "fault": str(error)}
    key = next((one for one in table.KEY_SETTINGS if one in values), None)
    return {
        **row,
        "baseUrl": values["baseUrl"].shown if "baseUrl" in values else None,
        "key": None if key is None else {"setting": key, "value": values[key].shown},
        "fault": None,
    }
