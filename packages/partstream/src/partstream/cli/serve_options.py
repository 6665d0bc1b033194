"""The names and variables of the options of `partstream serve`, and those options that are numbers of tables."""

from __future__ import annotations
from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import click

from partstream.server.listening import CONNECTION_NUMBERS
from partstream.server.settings import SERVING_NUMBERS

SERVE_PREFIX: Final = "PARTSTREAM_SERVE_"

AnyCommand = TypeVar("AnyCommand", bound="Callable[..., Any]")


def option_of(name: str) -> str:
    """The option of a setting of a server."""
    return "--" + name.replace("_", "-")


def variable_of(name: str) -> str:
    """The environment variable of a setting of a server."""
    return SERVE_PREFIX + name.upper()


def all_options(*options: Callable[[Any], Any]) -> Callable[[AnyCommand], AnyCommand]:
    """A decorator that adds several options to a command, in the order of its help."""

    def with_options(function: AnyCommand) -> AnyCommand:
        decorated: Any = function
        for option in reversed(options):
            decorated = option(decorated)
        return cast("AnyCommand", decorated)

    return with_options


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
