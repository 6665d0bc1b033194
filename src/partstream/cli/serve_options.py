"""The options of `partstream serve` that are numbers of tables, each with its environment variable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar, cast

import click

from partstream.server.listening import CONNECTION_NUMBERS
from partstream.server.settings import SERVING_NUMBERS

if TYPE_CHECKING:
    from collections.abc import Callable


SERVE_PREFIX: Final = "PARTSTREAM_SERVE_"

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def option_of(name: str) -> str:
    """The option of a setting of a server."""
    return "--" + name.replace("_", "-")


def variable_of(name: str) -> str:
    """The environment variable of a setting of a server."""
    return SERVE_PREFIX + name.upper()


def number_options(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Adds to a command an option for each number of a server; those that nobody gives are None."""
    with_options: Any = function
    for number in reversed((*SERVING_NUMBERS, *CONNECTION_NUMBERS)):
        kind = (
            click.IntRange(int(number.least), int(number.most))
            if number.is_whole
            else click.FloatRange(number.least, number.most)
        )
        with_options = click.option(
            option_of(number.name),
            number.name,
            type=kind,
            metavar=number.unit.upper() if number.unit in ("seconds", "bytes") else "N",
            envvar=variable_of(number.name),
            help=f"{number.says}. Default: {number.default:,.10g}.",
        )(with_options)
    return cast("Callable[_Parameters, _Result]", with_options)
