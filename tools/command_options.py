"""The options of a command as a table in Markdown, from the command itself."""

from __future__ import annotations
import re
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["OPTIONS_HEAD", "bounds", "options_as_code", "options_table"]

OPTIONS_HEAD: Final = "| option | what it does |\n|---|---|"

_CODE: Final = re.compile(r"(`[^`]*`)")
_OPTION: Final = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def options_as_code(text: str) -> str:
    """A text with the options that it names as code: a page would make a dash of two hyphens."""
    pieces = _CODE.split(text)
    return "".join(one if place % 2 else _OPTION.sub(r"`\g<0>`", one) for place, one in enumerate(pieces))


def options_table(command: click.Command, context: click.Context) -> Iterator[str]:
    """The lines of the table; nothing for a command without options but `--help`."""
    options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    if options:
        yield OPTIONS_HEAD
    for option in options:
        names = ", ".join(f"`{one}`" for one in (*option.opts, *option.secondary_opts))
        yield f"| {f'{names} {_value(option, context)}'.rstrip()} | {_says(option, context)} |"


def bounds(kind: click.ParamType) -> str:
    """What a number has to be, in words; empty for what has no bounds."""
    if not isinstance(kind, click.IntRange | click.FloatRange):
        return ""
    least, most = kind.min, kind.max
    if least is not None and most is not None:
        return f"{least:,g} to {most:,.15g}"
    if least is not None:
        return f"{'more than' if kind.min_open else 'at least'} {least:,g}"
    return "" if most is None else f"at most {most:,.15g}"


def _value(option: click.Option, context: click.Context) -> str:
    if option.is_flag:
        return ""
    if isinstance(option.type, click.Choice):
        return ", ".join(f"`{getattr(one, 'value', one)}`" for one in option.type.choices)
    shown = ", ".join(f"`{one}`" for one in option.make_metavar(context).removesuffix(" RANGE").split("|"))
    within = bounds(option.type)
    return f"{shown}: {within}" if within else shown


def _says(option: click.Option, context: click.Context) -> str:
    extra = option.get_help_extra(context)
    default = f" Default: {extra['default']}." if "default" in extra else ""
    required = " Required." if "required" in extra else ""
    variable = f" Variable: `{option.envvar}`." if option.envvar else ""
    return options_as_code(f"{option.help}{default}{required}{variable}").replace("|", "\\|")
