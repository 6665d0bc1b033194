"""The options of `partstream serve` for the responses that clients ask to store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar, cast

import click

from partstream.cli.serve_options import variable_of
from partstream.codec.system import DATA

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.server.stored_answers import SQLiteAnswers

__all__ = ["opened_store", "store_options"]

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

_FILE_NAME: Final = "serve-responses.sqlite"
_DAYS: Final = 30.0


def store_options(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Adds the options to a command, as `store_file`, `no_store` and `store_days`."""
    with_options: Any = function
    for option in reversed(_OPTIONS):
        with_options = option(with_options)
    return cast("Callable[_Parameters, _Result]", with_options)


_OPTIONS: Final = (
    click.option(
        "--store-file",
        type=click.Path(path_type=Path),
        envvar=variable_of("store_file"),
        help="SQLite file for the responses that clients ask to store. Default: one in the data folder.",
    ),
    click.option(
        "--no-store",
        is_flag=True,
        envvar=variable_of("no_store"),
        help="Store no response, whatever clients ask for: previous_response_id works on a WebSocket alone.",
    ),
    click.option(
        "--store-days",
        type=click.FloatRange(0.001, 3650),
        default=_DAYS,
        show_default=True,
        metavar="DAYS",
        envvar=variable_of("store_days"),
        help="How long a stored response is kept after the last one that continues it.",
    ),
)


def opened_store(options: Mapping[str, Any]) -> SQLiteAnswers | None:
    """The store that the options choose.

    Raises:
        StoreUnusableError: The file cannot be used.
    """
    from partstream.server.stored_answers import SQLiteAnswers  # noqa: PLC0415 - SQLite is needed only here

    if options["no_store"]:
        return None
    return SQLiteAnswers(options["store_file"] or DATA.path() / _FILE_NAME, options["store_days"])
