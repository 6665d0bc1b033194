"""The options of `partstream conformance` for a parser under test."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from partstream.devtools.conformance.parsing import Takes
from partstream.devtools.conformance.targets import ParserTarget, parser_from

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["names_parser", "parser_of", "parser_options"]

_OPTIONS: Final = (
    click.option("--parser", "is_parser", is_flag=True, help="TARGET is a parser of the streams of --protocol."),
    click.option(
        "--takes",
        type=click.Choice([one.value for one in Takes]),
        help="What the parser is given. Default: what its first parameter says, else all bytes.",
    ),
    click.option(
        "--recordings",
        type=click.Path(path_type=Path, exists=True, file_okay=False),
        metavar="FOLDER",
        help="Judge the parser by the recorded streams of this folder too, each with its NAME.expected.json.",
    ),
)


def parser_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def names_parser(options: Mapping[str, Any]) -> bool:
    """Whether the options say that the target is a parser."""
    return bool(options["is_parser"] or options["takes"] or options["recordings"])


def parser_of(options: Mapping[str, Any]) -> ParserTarget:
    """The parser that the options name.

    Raises:
        CallerError: There is none, it fails when its file runs, or the protocol is none that can be tested.
    """
    return parser_from(options["target"], options["protocol"], takes=options["takes"], recordings=options["recordings"])
