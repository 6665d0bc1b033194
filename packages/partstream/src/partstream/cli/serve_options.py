"""The names and variables of the options of `partstream serve`, and those options that are numbers of tables."""

from __future__ import annotations
from typing import Final

import click

from partstream.cli.terminal import all_options
from partstream.server.listening import CONNECTION_NUMBERS
from partstream.server.settings import SERVING_NUMBERS

SERVE_PREFIX: Final = "PARTSTREAM_SERVE_"


def option_of(name: str) -> str:
    """The option of a setting of a server."""
    return "--" + name.replace("_", "-")


def variable_of(name: str) -> str:
    """The environment variable of a setting of a server."""
    return SERVE_PREFIX + name.upper()


number_options: Final = all_options(
    *(
        click.option(
            option_of(number.name),
            number.name,
            type=click.IntRange(int(number.least), int(number.most))
            if number.is_whole
            else click.FloatRange(number.least, number.most),
            metavar=number.unit.upper() if number.unit in ("seconds", "bytes") else "N",
            envvar=variable_of(number.name),
            help=f"{number.says}. Default: {number.default:,.10g}.",
        )
        for number in (*SERVING_NUMBERS, *CONNECTION_NUMBERS)
    )
)
"""Adds to a command an option for each number of a server; one that is not given is None."""
